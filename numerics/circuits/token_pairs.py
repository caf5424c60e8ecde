"""The largest entries of a matrix of token pairs, `left rightᵀ`, without ever holding the matrix.

QK: query token on key token, `left` = W_Q x, `right` = W_K x. OV: source token on output token, `left` = W_V x,
`right` = W_U W_O. By Cauchy–Schwarz no entry of a block exceeds the product of its largest norms, so with both sides in
order of their norms whole blocks, and then all that follow, are left out once the best so far are larger. The norms are
those in the basis of the n dims that balances both sides, which changes no entry (`Formal.qk_change_of_basis`) and
leaves far less to multiply. The result is exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float64]
Ints = NDArray[np.int64]

BLOCK = 2048
"""Rows of each side of a block: 32 MB of products."""

ROUNDING = 1e-12
"""Margin on the bound, of the product of the largest norms: n ≤ 1024 products are summed with an error below n·eps."""


class Pairs(NamedTuple):
    """The pairs with the largest values, largest first: `value`, `left` and `right` (k,); `blocks` were multiplied."""

    value: Float
    left: Ints
    right: Ints
    blocks: int


def top_pairs(left: Float, right: Float, k: int, block: int = BLOCK) -> Pairs:
    """The `k` largest entries of `left rightᵀ`, `left` (N, n), `right` (M, n); fewer where N·M is smaller.

    Equal values are in order of the left row, then the right one. Memory: a block, and two more copies of each side.
    """
    left_norms, right_norms = balanced_norms(left, right)
    margin = ROUNDING * float(np.linalg.norm(left, axis=1).max() * np.linalg.norm(right, axis=1).max())
    rows, columns = np.argsort(-left_norms, kind="stable"), np.argsort(-right_norms, kind="stable")
    best = Pairs(np.empty(0), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), 0)
    multiplied = 0
    for i, j in _by_bound(left_norms[rows[::block]], right_norms[columns[::block]]):
        bound = left_norms[rows[i * block]] * right_norms[columns[j * block]]
        if len(best.value) == k and bound + margin < best.value[-1]:
            break
        a, b = rows[i * block : (i + 1) * block], columns[j * block : (j + 1) * block]
        best = _joined(best, left[a] @ right[b].T, a, b, k)
        multiplied += 1
    return best._replace(blocks=multiplied)


def balanced_norms(left: Float, right: Float) -> tuple[Float, Float]:
    """Norms of the rows of `left T` and `right T⁻ᵀ`, which have the same products, with `T` such that both sides spread
    alike: their Gram matrices are the singular values of `left rightᵀ`."""
    (Q_left, R_left), (Q_right, R_right) = np.linalg.qr(left), np.linalg.qr(right)
    U, size, Vt = np.linalg.svd(R_left @ R_right.T, full_matrices=False)
    root = np.sqrt(size)
    return np.linalg.norm(Q_left @ (U * root), axis=1), np.linalg.norm(Q_right @ (Vt.T * root), axis=1)


def _by_bound(left_largest: Float, right_largest: Float) -> Iterator[tuple[int, int]]:
    """Blocks in decreasing order of the bound on their entries."""
    bounds = left_largest[:, None] * right_largest[None, :]
    for flat in np.argsort(-bounds, axis=None, kind="stable"):
        i, j = np.unravel_index(flat, bounds.shape)
        yield int(i), int(j)


def _joined(best: Pairs, products: Float, rows: Ints, columns: Ints, k: int) -> Pairs:
    """The best `k` of those so far and of a block of products."""
    enough = best.value[-1] if len(best.value) == k else -np.inf
    if products.size > k:
        enough = max(enough, float(np.partition(products, -k, axis=None)[-k]))
    a, b = np.nonzero(products >= enough)
    value = np.concatenate([best.value, products[a, b]])
    left, right = np.concatenate([best.left, rows[a]]), np.concatenate([best.right, columns[b]])
    order = np.lexsort((right, left, -value))[:k]
    return Pairs(value[order], left[order], right[order], 0)
