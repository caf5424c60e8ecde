"""Total activation of one band of one head: the half-plane sweep against direct loops, torch and the definition.

`tiled` is the best direct loop known here, four queries at a time, without the product's copying and checking; up to a
few thousand keys the product's simpler `direct` is as fast.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from checks.benchmarks.case import Calls, Case
from numerics.bands.activation import direct, levels, total_activation
from numerics.bands.activation.bounds import error_factor

Float = NDArray[np.float64]

LOOPS = ("tiled", "direct", "halfplane")
IN_TORCH = {"torch, chunked": direct.rows_by_strips, "torch, sorted levels": levels.rows}
TORCH_UP_TO, REFERENCE_UP_TO = 2**14, 2**11
"""Lengths up to which the slow paths are timed too."""
LONG = 2**20


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


def paths(length: int) -> tuple[str, ...]:
    return (
        *(LOOPS if length < LONG else ("halfplane",)),
        *(IN_TORCH if length <= TORCH_UP_TO else ()),
        *(("reference",) if length <= REFERENCE_UP_TO else ()),
    )


def inputs(length: int) -> Float:
    found: Float = np.random.default_rng(length).standard_normal((2, 1, length, 2))
    return found


def calls(length: int) -> Calls:
    q, k = inputs(length)
    all_of_them: dict[str, Callable[[], Any]] = {"tiled": partial(tiled, q, k)}
    for path in ("direct", "halfplane", "reference"):
        all_of_them[path] = partial(total_activation, q, k, n_bands=1, path=path)
    for name, rows in IN_TORCH.items():
        all_of_them[name] = partial(in_torch, rows, q, k)
    return {name: all_of_them[name] for name in paths(length)}


def share_of_bound(length: int, of: Calls) -> float:
    """The largest difference from the first path, in units of what the two bounds allow: 2·c·Σ_{j ≤ i} |q_i||k_j|."""
    q_size, k_size = np.linalg.norm(inputs(length)[:, 0], axis=-1)
    size = float(q_size @ np.cumsum(k_size))
    first, *others = (float(np.sum(call())) for call in of.values())
    allowed = 2 * error_factor("direct", length) * size
    return max((abs(other - first) / allowed for other in others), default=0.0)


CASES = tuple(
    Case(
        "total activation", paths(length), partial(calls, length), partial(share_of_bound, length), T=length, bands=1,
        turns=9, rounds=10 if length < 2**14 else 1,
    )
    for length in (*(2**power for power in range(7, 18)), LONG)
)  # fmt: skip
