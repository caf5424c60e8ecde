"""Entropy shares of the bands of one head: by parts in blocks of rows against every score materialised, float64.

`python -m checks.benchmarks.entropy --out DIR` writes `DIR/entropy.json`: the machine, and rows
`{op, path, T, bands, p20, p50, p80, bytes}` (seconds; `bytes` is the peak of what one call allocates in numpy, which
owns all arrays that grow with T). Both paths integrate with the nodes that the fast one ends on, which also pays for
finding them. Exit status 1 if the paths disagree by more than 1e-6 nats per query.
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
from numerics.bands.entropy import entropy_attribution
from numerics.bands.entropy.quadrature import gauss_legendre
from numerics.bands.entropy.reference import entropy_attribution_reference
from numerics.models.rotary import RotaryTable

Float = NDArray[np.float64]

BANDS, SPREAD, NODES = 32, 3.0, 16
GOALS = (20, 100)
AGREEMENT = 1e-6


def by_parts(q: Float, k: Float) -> Float:
    """Shares (1, B) as the product computes them."""
    return entropy_attribution(q, k, n_bands=BANDS, pairing="half", scale=1.0).bands


def materialised(q: Float, k: Float) -> Float:
    """The same from the covariances of all scores of all bands (T, T, B)."""
    rule = gauss_legendre(NODES)
    rows = entropy_attribution_reference(q, k, rule, n_bands=BANDS, pairing="half", scale=1.0)
    total: Float = rows.sum(axis=1)
    return total


def head(length: int) -> tuple[Float, Float]:
    """Rotated Gaussian queries and keys (1, T, n) whose scores have standard deviation 3."""
    rng = np.random.default_rng(0)
    rotary = RotaryTable(2 * BANDS, "half", 1e4 ** (-np.arange(BANDS) / BANDS))
    q, k = (rotary.rotate(rng.standard_normal((1, length, 2 * BANDS)), np.arange(length)) for _ in range(2))
    return SPREAD / np.sqrt(2 * BANDS) * q, k


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder for entropy.json")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--length", type=int, default=2048)
    chosen = parser.parse_args(arguments)

    rows = []
    with threadpool_limits(1):
        for length in (chosen.length // 4, chosen.length):
            q, k = head(length)
            worst = float(np.abs(by_parts(q, k) - materialised(q, k)).max()) / length
            print(f"T = {length}: largest disagreement {worst:.1e} nats per query (allowed {AGREEMENT:.0e})")
            if not worst <= AGREEMENT:
                return 1
            paths: dict[str, Callable[[], object]] = {
                "materialised": lambda q=q, k=k: materialised(q, k),  # type: ignore[misc]
                "by parts": lambda q=q, k=k: by_parts(q, k),  # type: ignore[misc]
            }
            seconds = timed(paths, chosen.repeats)
            lines = [
                row("entropy", name, call, seconds[name]) | {"T": length, "bands": BANDS}
                for name, call in paths.items()
            ]
            faster = float(np.median(np.array(seconds["materialised"]) / np.array(seconds["by parts"])))
            smaller = lines[0]["bytes"] / lines[1]["bytes"]
            for line in lines:
                print(f"{line['path']:12} p50 {1e3 * line['p50']:8.1f} ms, {line['bytes'] / 2**20:7.1f} MiB")
            print(f"by parts: {faster:.1f} x in time, {smaller:.0f} x in memory (goals {GOALS[0]}, {GOALS[1]} at 2048)")
            rows += lines
    chosen.out.mkdir(parents=True, exist_ok=True)
    (chosen.out / "entropy.json").write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
