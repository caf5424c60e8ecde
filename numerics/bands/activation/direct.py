"""All pairs, never more than a strip of them at once: a compiled loop, or products of strips in torch."""

from __future__ import annotations

import numpy as np
import torch

from numerics.bands.activation.staging import Float

STRIP = 1 << 17
"""Products held at once by the torch form (1 MiB). Strips of 4M were up to 9 times slower: new pages for each."""


def rows(q: Float, k: Float, window: int) -> Float:
    """Rows (N, R, T) over the keys i − W < j ≤ i of queries (N, R, 2, T) and keys (N, 2, T): the compiled loop.

    Error at most (n + 2)·u·Σ|q||k| over n keys, u = eps/2, in any order of summation.
    """
    from numerics.bands.activation import loops

    N, R, _, T = q.shape
    found = np.empty((N, R, T))
    loops.direct(q, k, window, found)
    return found


def rows_by_strips(q: Float, k: Float, window: int) -> Float:
    """The same with torch alone."""
    N, R, _, T = q.shape
    found = np.empty((N, R, T))
    target = torch.from_numpy(found)
    queries, keys = torch.from_numpy(q).transpose(-1, -2), torch.from_numpy(k)
    step = max(8, min(512, STRIP // (R * window)))
    for n in range(N):
        for start in range(0, T, step):
            stop = min(T, start + step)
            first = max(0, start - window + 1)
            products = (queries[n, :, start:stop] @ keys[n, :, first:stop]).abs_()
            products.tril_(start - first)
            if window < T:
                products.triu_(start - window + 1 - first)
            target[n, :, start:stop] = products.sum(-1)
    return found
