"""The definition, one query at a time: what the other paths are tested against."""

from __future__ import annotations

import numpy as np

from numerics.bands.activation.staging import Float


def rows(q: Float, k: Float, window: int) -> Float:
    """`Σ_{j=max(0, i−W+1)}^{i} |q_i·k_j|` (N, R, T) of queries (N, R, 2, T) and keys (N, 2, T)."""
    N, R, _, T = q.shape
    found = np.zeros((N, R, T))
    for n in range(N):
        for r in range(R):
            for i in range(T):
                first = max(0, i - window + 1)
                products = q[n, r, 0, i] * k[n, 0, first : i + 1] + q[n, r, 1, i] * k[n, 1, first : i + 1]
                found[n, r, i] = np.abs(products).sum()
    return found
