"""The compiled loops. Importing this module needs numba; each function is compiled at its first call.

Arrays are float64 and contiguous: queries (N, R, 2, T), keys (N, 2, T), rows (N, R, T). The compiled code is not kept
on disk: all of it compiles in about two seconds, and numba's cache is made of pickles.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numpy as np
from numba import njit
from numpy.typing import NDArray

Float = NDArray[np.float64]

BLOCK = 32
"""Keys of a leaf of the tree. Twice as many were 9 to 16 % slower, 512 two to three times."""

Loop = TypeVar("Loop", bound=Callable[..., object])


def _reordered(loop: Loop) -> Loop:
    """Compiled with its sums in any order, so that the processor adds several numbers at once."""
    return cast(Loop, njit(fastmath={"reassoc", "contract", "nsz"})(loop))


def _exact(loop: Loop) -> Loop:
    """Compiled with every operation as written."""
    return cast(Loop, njit(error_model="numpy")(loop))


@_reordered
def _row(qx: float, qy: float, kx: Float, ky: Float) -> float:
    """`Σ_j |q·k_j|`. The keys are counted from 0: a first key that might be negative would keep the loop scalar."""
    row = 0.0
    for j in range(kx.size):
        row += abs(qx * kx[j] + qy * ky[j])
    return row


@_reordered
def direct(q: Float, k: Float, window: int, rows: Float) -> None:
    """All pairs."""
    N, R, _, T = q.shape
    for n in range(N):
        for r in range(R):
            for i in range(T):
                first = max(0, i + 1 - window)
                rows[n, r, i] = _row(q[n, r, 0, i], q[n, r, 1, i], k[n, 0, first : i + 1], k[n, 1, first : i + 1])


@_reordered
def own_blocks(q: Float, k: Float, strict: bool, rows: Float) -> None:
    """The pairs inside each block of `BLOCK` positions: j ≤ i, or j < i if `strict`."""
    N, R, _, T = q.shape
    for n in range(N):
        for r in range(R):
            for i in range(T):
                first, stop = i // BLOCK * BLOCK, i if strict else i + 1
                rows[n, r, i] = _row(q[n, r, 0, i], q[n, r, 1, i], k[n, 0, first:stop], k[n, 1, first:stop])


@_exact
def _fold(x: float, y: float) -> tuple[float, float]:
    """The vector or its opposite, whichever has its angle in [0, π)."""
    return (-x, -y) if y < 0 or (y == 0 and x < 0) else (x, y)


@_exact
def _angle(x: float, y: float) -> float:
    """Of a folded vector: `−x/(|x| + y)`, −1 for zero. Ordered as the true angles: `Formal.angle_le_iff_before`."""
    size = abs(x) + y
    return -x / size if size > 0 else -1.0


@_exact
def events(q: Float, k: Float, folded: Float, angles: Float) -> None:
    """Folded keys (N, 2, T), and the angles (N, (R + 1)·T) of the keys and of each query's normal."""
    N, R, _, T = q.shape
    for n in range(N):
        for j in range(T):
            folded[n, 0, j], folded[n, 1, j] = _fold(k[n, 0, j], k[n, 1, j])
            angles[n, j] = _angle(folded[n, 0, j], folded[n, 1, j])
        for r in range(R):
            for i in range(T):
                x, y = _fold(-q[n, r, 1, i], q[n, r, 0, i])
                angles[n, (r + 1) * T + i] = _angle(x, y)


@_exact
def sweep(order: NDArray[np.int64], q: Float, folded: Float, rows: Float) -> None:
    """Add the keys of all blocks before the query's own: one pass over the events by angle, a Fenwick tree over blocks.

    The tree holds the keys seen so far, those of smaller angle; `whole` the sums of all keys before a block.
    """
    N, T = q.shape[0], q.shape[3]
    blocks = (T - 1) // BLOCK + 1
    for n in range(N):
        tree = np.zeros((blocks + 1, 2))
        whole = np.zeros((blocks + 1, 2))
        for j in range(T):
            whole[j // BLOCK + 1, 0] += folded[n, 0, j]
            whole[j // BLOCK + 1, 1] += folded[n, 1, j]
        for block in range(1, blocks + 1):
            whole[block, 0] += whole[block - 1, 0]
            whole[block, 1] += whole[block - 1, 1]
        for event in order[n]:
            if event < T:
                x, y = folded[n, 0, event], folded[n, 1, event]
                block = event // BLOCK + 1
                while block <= blocks:
                    tree[block, 0] += x
                    tree[block, 1] += y
                    block += block & -block
            else:
                r, i = 0, event - T
                while i >= T:
                    r, i = r + 1, i - T
                own = i // BLOCK
                x, y = 0.0, 0.0
                block = own
                while block > 0:
                    x += tree[block, 0]
                    y += tree[block, 1]
                    block -= block & -block
                difference = q[n, r, 0, i] * (2 * x - whole[own, 0]) + q[n, r, 1, i] * (2 * y - whole[own, 1])
                rows[n, r, i] += abs(difference)
