"""Exact activation in O(T log T) time and O(T) memory, compiled.

Keys are folded to the half plane of angles [0, π) (`Formal.fold_keeps_activation`) and sorted by angle. For a query q
let t be its normal, folded: keys of smaller angle have one sign of q·k, the others the other
(`Formal.row_activation_by_angle`), so with P the sum of the former and C of all, `Σ_j |q·k_j| = |q·(2P − C)|`. One
sweep over keys and normals by angle, with a tree of sums over positions, answers every causal row
(`Formal.sweep_is_double_sum`, for ties in any order; `Formal.fast_steps` counts its steps). A tree leaf holds a block
of positions, and the pairs inside a block are taken one by one. All query heads of a kv head are in one list of events
with its keys, which are sorted once.

Error of a row over n admissible keys, u = eps/2 and S = Σ_j |q||k_j|: P and C are sums of n terms in some order, each
off by at most n·u·Σ|k_j| in each component; with 2P − C, two products and their sum this is 3(n + 3)u·S, by
|q_x k_x| + |q_y k_y| ≤ |q||k|. The angles are off by 2u each, so a key on the wrong side of t has |q·k| ≤ 8u|q||k| and
counts twice: 16u·S. Together below `c·eps·S` with c = 2(n + 16) (`bounds.py`), as for a plain loop: relative to S, not
to A, which is smaller where the keys are perpendicular to the query.
"""

from __future__ import annotations

import numpy as np

from numerics.bands.activation.staging import Float
from numerics.bands.activation.triangles import by_triangles


def rows(q: Float, k: Float, window: int) -> Float:
    """Rows (N, R, T) over the keys i − W < j ≤ i of queries (N, R, 2, T) and keys (N, 2, T)."""
    return by_triangles(_causal, q, k, window)


def _causal(q: Float, k: Float, strict: bool) -> Float:
    from numerics.bands.activation import loops

    N, R, _, T = q.shape
    found = np.empty((N, R, T))
    loops.own_blocks(q, k, strict, found)
    if T > loops.BLOCK:
        folded, angles = np.empty_like(k), np.empty((N, (R + 1) * T))
        loops.events(q, k, folded, angles)
        loops.sweep(np.argsort(angles, axis=-1), q, folded, found)
    return found
