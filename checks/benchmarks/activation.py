"""Total activation of one band: the half-plane sweep against direct loops, the chooser against both, a million tokens.

`python -m checks.benchmarks.activation --out DIR` writes `DIR/activation.json`: the machine, and rows
`{op, path, T, bands, p20, p50, p80, bytes}` (seconds; `bytes` is the peak of what one call allocates in numpy). `tiled`
is the best direct loop known here, four queries at a time, without the product's copying and checking; up to a few
thousand keys the product's simpler `direct` is as fast. Exit status 1 if a path leaves its error bound.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from checks.benchmarks.timing import machine, row, timed
from numerics.bands.activation import choose, direct, levels, total_activation
from numerics.bands.activation.bounds import error_factor

Float = NDArray[np.float64]

LENGTHS = [2**power for power in range(7, 18)]
GOALS = {2**15: 10.0, 2**17: 25.0}
"""Times the best direct loop, by number of tokens."""
CHOICE = 1.5
"""What the chosen path may take, in times of the best one."""
TORCH_UP_TO, REFERENCE_UP_TO = 2**14, 2**11
"""Lengths up to which the slow paths are timed too."""
LONG = 2**20

LONG_TEXT = """
import sys, time
import numpy as np
from numerics.bands.activation import total_activation

def status(key):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(key))

q, k = np.random.default_rng(0).standard_normal((2, 1, int(sys.argv[1]), 2))
total_activation(q[:, :100], k[:, :100], n_bands=1, path="halfplane")  # compiles
with open("/proc/self/clear_refs", "w") as reset:
    reset.write("5")  # sets the peak back to the present value
before = status("VmRSS")
start = time.perf_counter()
total_activation(q, k, n_bands=1)
print(time.perf_counter() - start, status("VmHWM") - before)
"""


def _loop(function: Any) -> Any:
    return njit(fastmath={"reassoc", "contract", "nsz"})(function)


@_loop
def _tiled(qx: Float, qy: Float, kx: Float, ky: Float) -> float:
    """Four queries share each key that is loaded; the corner of a tile is done one by one."""
    length = kx.size
    total = 0.0
    whole = length // 4 * 4
    for i in range(0, whole, 4):
        x0, x1, x2, x3 = qx[i], qx[i + 1], qx[i + 2], qx[i + 3]
        y0, y1, y2, y3 = qy[i], qy[i + 1], qy[i + 2], qy[i + 3]
        r0, r1, r2, r3 = 0.0, 0.0, 0.0, 0.0
        for j in range(i + 1):
            x, y = kx[j], ky[j]
            r0 += abs(x0 * x + y0 * y)
            r1 += abs(x1 * x + y1 * y)
            r2 += abs(x2 * x + y2 * y)
            r3 += abs(x3 * x + y3 * y)
        total += r0 + r1 + r2 + r3
        for step in range(1, 4):
            for j in range(i + 1, i + step + 1):
                total += abs(qx[i + step] * kx[j] + qy[i + step] * ky[j])
    for i in range(whole, length):
        for j in range(i + 1):
            total += abs(qx[i] * kx[j] + qy[i] * ky[j])
    return total


def tiled(q: Float, k: Float) -> float:
    """Activation of one band of one head by the best direct loop."""
    columns = [np.ascontiguousarray(x[0, :, dim]) for x in (q, k) for dim in (0, 1)]
    return float(_tiled(*columns))


def in_torch(rows: Callable[[Float, Float, int], Float], q: Float, k: Float) -> float:
    """Activation of one band of one head by a path that takes the place of a compiled one where numba is missing."""
    query = np.ascontiguousarray(q[None].swapaxes(-1, -2))
    return float(rows(query, np.ascontiguousarray(k.swapaxes(-1, -2)), q.shape[1]).sum())


def share_of_bound() -> float:
    """The largest error of a path against the definition, as a share of what its bound and the definition's allow."""
    worst = 0.0
    rng = np.random.default_rng(1)
    for length, window in ((1, None), (65, None), (1537, None), (1537, 70), (700, 300)):
        q, k = rng.standard_normal((4, length, 4)), rng.standard_normal((2, length, 4))
        right = total_activation(q, k, n_bands=2, window=window, path="reference")
        i = np.arange(length)
        seen = (i[:, None] >= i) & (i[:, None] - i < (window or length))
        sizes = [np.hypot(x[..., :2], x[..., 2:]) for x in (q, np.repeat(k, 2, axis=0))]
        size = np.einsum("hib,ij,hjb->hb", sizes[0], seen.astype(float), sizes[1])
        for path in ("direct", "halfplane"):
            found = total_activation(q, k, n_bands=2, window=window, path=path)
            allowed = 2 * error_factor(path, min(length, window or length)) * size
            worst = max(worst, float((np.abs(found - right) / allowed).max()))
        if window is None:
            loop = tiled(q[:1, :, 0::2], k[:1, :, 0::2])
            others = [in_torch(rows, q[:1, :, 0::2], k[:1, :, 0::2]) for rows in (direct.rows_by_strips, levels.rows)]
            for found_0 in (loop, *others):
                worst = max(worst, abs(found_0 - right[0, 0]) / (2 * error_factor("direct", length) * size[0, 0]))
    return worst


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder for activation.json")
    parser.add_argument("--repeats", type=int, default=9)
    chosen = parser.parse_args(arguments)

    worst = share_of_bound()
    print(f"largest error: {worst:.1e} of its bound")
    if not worst <= 1:
        return 1
    rng = np.random.default_rng(0)
    rows: list[dict[str, Any]] = []
    with threadpool_limits(1, user_api="blas"):
        for length in LENGTHS:
            q, k = rng.standard_normal((2, 1, length, 2))
            paths: dict[str, Callable[[], object]] = {
                "tiled": lambda q=q, k=k: tiled(q, k),  # type: ignore[misc]
                "direct": lambda q=q, k=k: total_activation(q, k, n_bands=1, path="direct"),  # type: ignore[misc]
                "halfplane": lambda q=q, k=k: total_activation(q, k, n_bands=1, path="halfplane"),  # type: ignore[misc]
            }
            if length <= TORCH_UP_TO:
                paths |= {
                    "torch, chunked": lambda q=q, k=k: in_torch(direct.rows_by_strips, q, k),  # type: ignore[misc]
                    "torch, sorted levels": lambda q=q, k=k: in_torch(levels.rows, q, k),  # type: ignore[misc]
                }
            if length <= REFERENCE_UP_TO:
                paths["reference"] = lambda q=q, k=k: total_activation(q, k, n_bands=1, path="reference")  # type: ignore[misc]
            samples = timed(paths, chosen.repeats if length >= 2**14 else 10 * chosen.repeats)
            op = "total activation"
            lines = [{**row(op, name, call, samples[name]), "T": length, "bands": 1} for name, call in paths.items()]
            rows += lines
            p50 = {line["path"]: line["p50"] for line in lines}
            taken = choose(length)
            loops, fast = np.minimum(samples["tiled"], samples["direct"]), np.array(samples["halfplane"])
            goal = f" (goal {GOALS[length]:.0f})" if length in GOALS else ""
            print(
                f"T {length:7}: direct loop / halfplane {float(np.median(loops / fast)):6.2f}{goal}; chosen: {taken}, "
                f"{p50[taken] / min(p50['direct'], p50['halfplane']):.2f} of the best path (goal {CHOICE}); "
                + ", ".join(f"{name} {1e3 * value:.3f} ms" for name, value in p50.items()),
                flush=True,
            )
    command = [sys.executable, "-c", LONG_TEXT, str(LONG)]
    seconds, peak = map(float, subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
    rows.append(
        {"op": "total activation, process", "path": "halfplane", "T": LONG, "bands": 1}
        | dict.fromkeys(("p20", "p50", "p80"), seconds)
        | {"bytes": peak}
    )
    print(f"T {LONG}: {seconds:.2f} s, {peak / 2**20:.0f} MiB above q and k: {peak / LONG:.0f} bytes a token")
    chosen.out.mkdir(parents=True, exist_ok=True)
    (chosen.out / "activation.json").write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
