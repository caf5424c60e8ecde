"""How much of a rotary head is position: the bias of its keys, and the dims that do not rotate."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float64]
Bool = NDArray[np.bool_]


def key_bias_share(mean_key: Float, mean_square: Float) -> Float:
    """`‖mean un-rotated key‖²/mean‖key‖²` (G,) on the rotating dims; 1 = a constant key, 0 = none (or no key at all).

    `mean_key` (G, r) over texts and positions ≥ k₀, `mean_square` (G,) the mean of ‖key‖² over the same. The mean of
    ROTATED keys would cancel over positions whatever the bias.
    """
    squared = np.sum(mean_key**2, axis=-1)
    share: Float = np.divide(squared, mean_square, out=np.zeros_like(squared), where=mean_square > 0)
    return share


def unrotated_score_share(unrotated: Float, score: Float, admissible: Bool) -> Float:
    """Share (…,) of the variance of scores over the keys of a query that the unrotated dims carry.

    `Σ Cov_j(s^u, s)/Σ Var_j(s)`, summed over queries: the shares of the two kinds of dims sum to 1 exactly, so either
    may leave [0, 1] where they oppose each other. `unrotated`, `score` (…, I, T) pre-softcap, without bias;
    `admissible` (I, T) without the skipped keys. 0 where no score varies.
    """
    u, s = _deviation(unrotated, admissible), _deviation(score, admissible)
    count = np.maximum(admissible.sum(axis=-1), 1)
    shared, whole = (np.sum((x * s).sum(axis=-1) / count, axis=-1) for x in (u, s))
    share: Float = np.divide(shared, whole, out=np.zeros_like(whole), where=whole > 0)
    return share


def _deviation(x: Float, admissible: Bool) -> Float:
    """x minus its mean over the admissible keys of the row, 0 elsewhere."""
    count = np.maximum(admissible.sum(axis=-1, keepdims=True), 1)
    mean = np.where(admissible, x, 0.0).sum(axis=-1, keepdims=True) / count
    return np.where(admissible, x - mean, 0.0)
