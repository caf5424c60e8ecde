"""Positional kernels: all heads of a layer in one product against head by head, and one walk against one per layer.

`python -m checks.benchmarks.kernels --out DIR` writes `DIR/kernels.json`: the machine, and rows
`{op, path, T, bands, p20, p50, p80, bytes}` (seconds; `bytes` is the peak of what one call allocates in numpy). Walks
are over MiniLM. Exit status 1 if the paths disagree by more than 1e-12.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from checks.benchmarks.timing import machine, row, timed
from numerics.models import Model, load_model
from numerics.models.rotary import RotaryTable
from numerics.positional.kernel import admissible_keys, exponents_of_positions, positional_kernel
from numerics.positional.measure import _Layer, _run

Float = NDArray[np.float64]

HEADS, GROUPS, HEAD_DIM, LENGTH, SKIP = 32, 8, 128, 256, 5
QUERIES = np.arange(15, LENGTH, 16)
AGREEMENT = 1e-12


def batched(q: Float, keys: Float, rotary: RotaryTable) -> Float:
    """Kernels (H, I, T) of all heads of a layer as the product computes them."""
    exponents = exponents_of_positions(q, keys, query_positions=QUERIES, scale=0.1, rotate=rotary.rotate)
    return positional_kernel(exponents, admissible_keys(QUERIES, LENGTH, causal=True), SKIP)


def by_pair(q: Float, keys: Float, rotary: RotaryTable) -> Float:
    """The same head by head and query by query, the query turned to each distance: the definition."""
    kernels = np.zeros((HEADS, len(QUERIES), LENGTH))
    for head in range(HEADS):
        for place, n in enumerate(QUERIES):
            seen = np.arange(SKIP, n + 1)
            turned = rotary.relative(np.broadcast_to(q[head, place], (len(seen), HEAD_DIM)), n - seen)
            exponents = 0.1 * np.einsum("jn,jn->j", turned, keys[head * GROUPS // HEADS, seen])
            weights = np.exp(exponents - exponents.max())
            kernels[head, place, seen] = weights / weights.sum()
    return kernels


def walk(model: Model, ids: NDArray[np.int64], layers: list[int]) -> list[_Layer]:
    """Means of the given layers over texts (N, T), in batches of 8."""
    found = {layer: _Layer(model, layer, QUERIES[:4], ids.shape[1], SKIP) for layer in layers}

    def estimate(call: object) -> None:
        layer = found.get(call.layer)  # type: ignore[attr-defined]
        if layer is not None:
            layer.estimate(call)  # type: ignore[arg-type]

    for start in range(0, len(ids), 8):
        _run(model, ids[start : start + 8], estimate)
    return list(found.values())


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder for kernels.json")
    parser.add_argument("--repeats", type=int, default=20)
    chosen = parser.parse_args(arguments)

    rng = np.random.default_rng(0)
    q, keys = rng.standard_normal((HEADS, len(QUERIES), HEAD_DIM)), rng.standard_normal((GROUPS, LENGTH, HEAD_DIM))
    rotary = RotaryTable(HEAD_DIM, "half", 1e4 ** (-np.arange(HEAD_DIM // 2) / (HEAD_DIM // 2)))
    worst = float(np.abs(batched(q, keys, rotary) - by_pair(q, keys, rotary)).max())
    print(f"largest disagreement of the paths: {worst:.1e} (allowed {AGREEMENT:.0e})")
    if not worst <= AGREEMENT:
        return 1
    model = load_model("minilm")
    texts = rng.integers(1000, 30000, (32, 64))
    everything = list(range(model.n_layers))
    layer = f"kernels of one layer, {HEADS} heads"
    comparisons: dict[str, dict[str, Callable[[], object]]] = {
        layer: {"by pair": lambda: by_pair(q, keys, rotary), "batched": lambda: batched(q, keys, rotary)},
        "means of 6 layers, 32 texts": {
            "a walk each": lambda: [walk(model, texts, [layer]) for layer in everything],
            "one walk": lambda: walk(model, texts, everything),
        },
    }
    rows = []
    for op, paths in comparisons.items():
        repeats = chosen.repeats if op == layer else max(1, chosen.repeats // 5)
        with threadpool_limits(1, user_api="blas"):
            seconds = timed(paths, repeats)
            rows += [row(op, name, call, seconds[name]) for name, call in paths.items()]
        slow, fast = (np.array(seconds[name]) for name in paths)
        print(f"{op}: {' / '.join(paths)} = {float(np.median(slow / fast)):.1f}")
    few, many = (
        row("", "", partial(walk, model, texts[:count], everything), [0.0])["bytes"] for count in (8, len(texts))
    )
    print(f"peak of 32 texts over peak of 8: {many / few:.3f}")
    for line in rows:
        print(f"{line['op']:34} {line['path']:12} p50 {1e3 * line['p50']:8.1f} ms, {line['bytes'] / 2**20:6.1f} MiB")
    chosen.out.mkdir(parents=True, exist_ok=True)
    (chosen.out / "kernels.json").write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
