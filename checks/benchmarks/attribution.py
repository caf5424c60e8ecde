"""Attribution of one query's attention to keys × bands: all nodes in two products against node by node, float64.

`python -m checks.benchmarks.attribution --out DIR` writes `DIR/attribution.json`: the machine, and rows
`{op, path, T, bands, p20, p50, p80, bytes}` (seconds; T is the number of keys; `bytes` is the peak of what one call
allocates in numpy). Both paths take 16 nodes, where the product stops here; it checks both sums too. Exit status 1 if
the paths disagree by more than 1e-9 of the largest attribution.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from checks.benchmarks.timing import machine, row, timed
from numerics.bands.attribution import pair_attribution
from numerics.bands.attribution.reference import pair_attribution_reference
from numerics.bands.entropy.quadrature import gauss_legendre

Float = NDArray[np.float64]

BANDS, SPREAD, NODES = 32, 3.0, 16
KEYS = (2048, 32768, 131072)
GOAL = 2
AGREEMENT = 1e-9
SCALE = SPREAD / np.sqrt(2 * BANDS)


def by_products(q: Float, k: Float) -> Float:
    """Attributions (N, B) as the product computes them."""
    return pair_attribution(q, k, n_bands=BANDS, pairing="half", scale=SCALE).attribution


def node_by_node(q: Float, k: Float) -> Float:
    """The same, one softmax and one (N, B) update a node."""
    return pair_attribution_reference(q, k, gauss_legendre(NODES), n_bands=BANDS, pairing="half", scale=SCALE)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder for attribution.json")
    parser.add_argument("--repeats", type=int, default=15)
    chosen = parser.parse_args(arguments)

    rng, rows = np.random.default_rng(0), []
    with threadpool_limits(1):
        for n_keys in KEYS:
            q, k = rng.standard_normal(2 * BANDS), rng.standard_normal((n_keys, 2 * BANDS))
            slow = node_by_node(q, k)
            worst = float(np.abs(by_products(q, k) - slow).max() / np.abs(slow).max())
            print(f"N = {n_keys}: largest disagreement {worst:.1e} of the largest (allowed {AGREEMENT:.0e})")
            if not worst <= AGREEMENT:
                return 1
            paths: dict[str, Callable[[], object]] = {
                "node by node": lambda q=q, k=k: node_by_node(q, k),  # type: ignore[misc]
                "products": lambda q=q, k=k: by_products(q, k),  # type: ignore[misc]
            }
            seconds = timed(paths, chosen.repeats)
            for name, call in paths.items():
                line = row("attribution", name, call, seconds[name]) | {"T": n_keys, "bands": BANDS}
                print(f"{name:12} p50 {1e3 * line['p50']:8.2f} ms, {line['bytes'] / 2**20:6.1f} MiB")
                rows.append(line)
            faster = float(np.median(np.array(seconds["node by node"]) / np.array(seconds["products"])))
            print(f"products: {faster:.2f} x as fast (goal {GOAL} at 32768)")
    chosen.out.mkdir(parents=True, exist_ok=True)
    (chosen.out / "attribution.json").write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
