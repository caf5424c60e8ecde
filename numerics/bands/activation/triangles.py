"""A window as causal triangles, so that a causal algorithm answers it without subtracting one prefix from another."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from numerics.bands.activation.staging import Float

Causal = Callable[[Float, Float, bool], Float]
"""Rows (N, R, T) over the keys j ≤ i, or j < i if the last argument (`strict`) is true."""


def by_triangles(causal: Causal, q: Float, k: Float, window: int) -> Float:
    """Rows (N, R, T) over the keys i − W < j ≤ i of queries (N, R, 2, T) and keys (N, 2, T).

    Positions are cut into spans of W. Query i, at offset r of its span, sees the offsets ≤ r of its own span and the
    offsets > r of the span before: with both reversed, that is a strict causal triangle. The difference of two causal
    prefixes would give the same in exact arithmetic (`Formal.fast_windowed_activation_is_double_sum`), but its rounding
    grows with all keys before the query, not with those in its window.
    """
    N, R, _, T = q.shape
    if window >= T:
        return causal(q, k, False)
    spans = -(-T // window)
    missing = spans * window - T
    q = np.pad(q, ((0, 0), (0, 0), (0, 0), (0, missing))).reshape(N, R, 2, spans, window)
    k = np.pad(k, ((0, 0), (0, 0), (0, missing))).reshape(N, 2, spans, window)
    q, k = q.transpose(0, 3, 1, 2, 4), k.transpose(0, 2, 1, 3)
    rows = causal(_merged(q), _merged(k), False).reshape(N, spans, R, window)
    before = causal(_merged(q[:, 1:, ..., ::-1]), _merged(k[:, :-1, ..., ::-1]), True)
    rows[:, 1:] += before.reshape(N, spans - 1, R, window)[..., ::-1]
    return rows.transpose(0, 2, 1, 3).reshape(N, R, spans * window)[..., :T]


def _merged(x: Float) -> Float:
    """The first two axes as one, contiguous."""
    return np.ascontiguousarray(x).reshape(-1, *x.shape[2:])
