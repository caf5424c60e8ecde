"""How far a kernel reaches, where it peaks, and how little it depends on query and place.

Kernels are rows (…, I, T) of queries at `query_positions` (I,) over keys at positions 0…T−1, zero outside the
admissible keys, each row with sum 1. Source of ETC and of the three categories: the article on positional
kernels of attention heads.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from numerics.errors import InvalidArgument

Float = NDArray[np.float64]
Bool = NDArray[np.bool_]
Category = Literal["local", "slow decay", "uniform"]

LOCAL_UP_TO = 16.0
"""A kernel of at most this many effective tokens is local. A choice."""

UNIFORM_FROM = 0.7
"""A kernel of at least this share of the admissible keys is uniform. A choice."""

TIE = 1e-9
"""Relative: kernel values closer than this count as equal, so that a flat kernel's peak is not decided by rounding."""


def effective_token_count(kernel: Float) -> Float:
    """`ETC = 1/Σ_j pos_j²` (…, I): m for a uniform kernel on m keys, 1 for a one-hot. 1/max ≤ ETC ≤ e^entropy."""
    squares: Float = np.einsum("...j,...j->...", kernel, kernel)
    return 1 / squares


def category(etc: float, n_admissible: int) -> Category:
    """`local` if ETC ≤ 16, else `uniform` if ETC ≥ 0.7·m, else `slow decay`; m = `n_admissible` keys after skipping."""
    if etc <= LOCAL_UP_TO:
        return "local"
    return "uniform" if etc >= UNIFORM_FROM * n_admissible else "slow decay"


def peak_offset(kernel: Float, query_positions: ArrayLike) -> NDArray[np.int64]:
    """Offset key − query (…, I) of the largest value of each row; −1 is the previous token.

    Of equal values (within 1e-9) the key nearest to the query counts, of two equally near the earlier one.
    """
    offsets = _offsets(kernel, query_positions)
    order = np.argsort(2 * np.abs(offsets) + (offsets > 0), axis=-1, kind="stable")
    order = np.broadcast_to(order, kernel.shape)
    nearest_first = np.take_along_axis(kernel, order, axis=-1)
    highest = nearest_first >= nearest_first.max(axis=-1, keepdims=True) * (1 - TIE)
    key = np.take_along_axis(order, highest.argmax(axis=-1)[..., None], axis=-1)[..., 0]
    result: NDArray[np.int64] = key - np.asarray(query_positions, dtype=np.int64)
    return result


def distance_profile(kernel: Float, query_positions: ArrayLike, admissible: Bool, distances: ArrayLike) -> Float:
    """Mean (…, distances) of the kernel at distance query − key, over the queries that have an admissible key there.

    `admissible` (I, T) without the skipped keys. NaN where no query has one.
    """
    offsets = -_offsets(kernel, query_positions)
    profile = np.full((*kernel.shape[:-2], np.size(distances)), np.nan)
    for place, distance in enumerate(np.ravel(distances)):
        there = (offsets == distance) & admissible
        if there.any():
            profile[..., place] = np.sum(np.where(there, kernel, 0.0), axis=(-2, -1)) / there.sum()
    return profile


def total_variation(p: Float, q: Float) -> Float:
    """`½ Σ_j |p_j − q_j|` over the last axis: 0 for equal rows, 1 for rows without a common key."""
    distance: Float = np.abs(p - q).sum(axis=-1) / 2
    return distance


def uniform_kernel(admissible: Bool) -> Float:
    """Rows (I, T) with the same weight on each admissible key: what any kernel has to beat."""
    kernel: Float = admissible / admissible.sum(axis=-1, keepdims=True)
    return kernel


def translation_equivariance(kernel: Float, query_positions: ArrayLike, admissible: Bool) -> Float:
    """Mean TV (…,) over pairs of queries n < n' between their kernels as functions of the distance; 0 = equivariant.

    Both kernels are first conditioned on the distances at which both queries have an admissible key: without that a
    longer context alone, which thins out every kernel, would count as a change. A pair without a common distance says
    nothing and is left out; one whose kernel has no mass at the common distances counts 1. NaN if no pair is left.
    `admissible` (I, T) without the skipped keys.
    """
    positions = np.asarray(query_positions, dtype=np.int64)
    total, pairs = np.zeros(kernel.shape[:-2]), 0
    for first in range(len(positions)):
        for second in range(first + 1, len(positions)):
            step = int(positions[second] - positions[first])
            here, there = _equal_distances(kernel.shape[-1], step)
            common = admissible[first, here] & admissible[second, there]
            if common.any():
                p, q = kernel[..., first, here], kernel[..., second, there]
                total += _conditional_variation(p[..., common], q[..., common])
                pairs += 1
    return total / pairs if pairs else np.full(kernel.shape[:-2], np.nan)


def query_consistency(kernels: Float) -> Float:
    """Mean TV (…,) over pairs of query texts and over queries; `kernels` (X, …, I, T). 0 = the query does not matter.

    `Σ_{x<y}|p_x − p_y| = Σ_r (2r − X + 1)·p_(r)` with p_(0) ≤ p_(1) ≤ … the sorted values: no loop over pairs.
    """
    texts = len(kernels)
    if texts < 2:
        raise InvalidArgument("consistency compares query texts, and there is only one", "ask for two or more")
    ranks = 2.0 * np.arange(texts) - texts + 1
    gaps = np.tensordot(ranks, np.sort(kernels, axis=0), axes=(0, 0))
    consistency: Float = gaps.sum(axis=-1).mean(axis=-1) / (texts * (texts - 1))
    return consistency


def query_consistency_reference(kernels: Float) -> Float:
    """The same over all pairs of texts: the oracle, slow."""
    texts = len(kernels)
    pairs = [total_variation(kernels[x], kernels[y]).mean(axis=-1) for x in range(texts) for y in range(x)]
    return np.asarray(np.mean(pairs, axis=0), dtype=np.float64)


def _offsets(kernel: Float, query_positions: ArrayLike) -> NDArray[np.int64]:
    """key − query, (I, T)."""
    offsets: NDArray[np.int64] = np.arange(kernel.shape[-1])[None, :] - np.asarray(query_positions)[:, None]
    return offsets


def _equal_distances(length: int, step: int) -> tuple[slice, slice]:
    """Where two rows of `length` keys have equal distances, the second's query being `step` positions further on."""
    if step < 0:
        second, first = _equal_distances(length, -step)
        return first, second
    return slice(0, max(length - step, 0)), slice(min(step, length), length)


def _conditional_variation(p: Float, q: Float) -> Float:
    """TV (…,) of two rows after each is divided by its own mass; 1 where one of them has none."""
    mass_p, mass_q = p.sum(axis=-1, keepdims=True), q.sum(axis=-1, keepdims=True)
    both = (mass_p > 0) & (mass_q > 0)
    variation = total_variation(p / np.where(both, mass_p, 1.0), q / np.where(both, mass_q, 1.0))
    return np.where(both[..., 0], variation, 1.0)
