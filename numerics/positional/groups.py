"""Heads of one layer that share a kernel, and pairs that cannot.

Heads with one kernel may work together as one circuit; heads whose kernels are far apart cannot be in superposition
with each other.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from numerics.errors import InvalidArgument

Float = NDArray[np.float64]

SHARED_WITHIN = 0.1
"""Total variation up to which two mean kernels count as one. A choice: a tenth of the attention moved."""

UNLIKE_FROM = 0.5
"""Total variation from which two kernels rule superposition out. A choice: half of the attention moved."""


def pairwise_variation(kernels: Float) -> Float:
    """Symmetric (H, H): TV of the mean kernels of each pair of heads, averaged over queries; `kernels` (H, I, T)."""
    heads = len(kernels)
    variation = np.zeros((heads, heads))
    for head in range(heads - 1):
        gaps = np.abs(kernels[head + 1 :] - kernels[head]).sum(axis=-1).mean(axis=-1) / 2
        variation[head, head + 1 :] = variation[head + 1 :, head] = gaps
    return variation


def groups(variation: Float, within: float = SHARED_WITHIN) -> NDArray[np.int64]:
    """Group number (H,) of each head: in a group EVERY pair is within `within`.

    Complete linkage: from single heads, the two groups whose farthest pair is nearest are joined while that pair is
    within the bound. So groups are cliques, and disjoint; a head between two groups goes to the nearer one. Numbered
    from 0 by their first head. The order of the heads matters only among exactly equal distances.
    """
    if not within >= 0:
        raise InvalidArgument(f"groups within a total variation of {within}", "give a number from 0 to 1")
    heads = len(variation)
    if heads < 2:
        return np.zeros(heads, dtype=np.int64)
    labels = fcluster(linkage(squareform(variation, checks=False), "complete"), within, criterion="distance")
    numbers: dict[int, int] = {}
    return np.array([numbers.setdefault(int(label), len(numbers)) for label in labels], dtype=np.int64)


def ruled_out(variation: Float, unlike: float = UNLIKE_FROM) -> list[tuple[int, int]]:
    """Pairs of heads (h < h') whose kernels differ by at least `unlike`: no superposition between them."""
    first, second = np.nonzero(np.triu(variation >= unlike, k=1))
    return list(zip(first.tolist(), second.tolist(), strict=True))
