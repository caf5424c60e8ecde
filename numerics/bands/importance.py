"""Importance of a band within its head, and how well one metric's importance predicts another's."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float64]

METRICS = ("activation", "entropy", "entropy-signed", "fisher", "random")
"""What bands can be ranked by. `random` has one ranking per seed and stands for knowing nothing."""

MEASURED = ("activation", "entropy", "fisher")
"""What is measured on text; the two entropy rankings read one measurement."""


def importance(metric: str, values: Float) -> Float:
    """Values (..., B) of a measured metric over the largest of the head's bands; NaN (a band that is not there) stays.

    `activation`, `fisher`: `x/max x`. `entropy`: `|h|/max|h|`, h summed over queries and texts with its sign.
    `entropy-signed`: `−h/max|h|`, in [−1, 1]: positive where the band sharpens the attention (h < 0), lowest where it
    opposes what the head attends to (chosen: the divisor of `entropy`, so that the two differ in sign alone). A head
    whose values are all zero has importance 0.
    """
    sizes = np.abs(values)
    present = np.where(np.isnan(sizes), 0.0, sizes)
    largest = present.max(axis=-1, keepdims=True)
    signed = -values if metric == "entropy-signed" else sizes
    return np.asarray(signed / np.where(largest > 0, largest, 1.0))


def random_importance(values: Float, seed: int) -> Float:
    """Independent uniform numbers in [0, 1) where `values` (layer, head, band) has bands, NaN where it has none."""
    drawn = np.random.default_rng(seed).random(values.shape)
    return np.where(np.isnan(values), np.nan, drawn)


def r_squared(x: Float, y: Float) -> float:
    """Share of the variance of `y` that a least-squares line with intercept on `x` explains; NaN if either is constant.

    Of one predictor it is the squared correlation, so `x` and `y` may be exchanged.
    """
    x, y = x - x.mean(), y - y.mean()
    spread = float(x @ x) * float(y @ y)
    return float(x @ y) ** 2 / spread if spread > 0 else float("nan")


def fit(x: Float, y: Float) -> tuple[float, float, int]:
    """`r_squared` of `y` on `x` over all bands, of `log y` on `log x` over those where both are positive, and how many
    are not and are left out of the latter. Arrays of one shape, NaN where there is no band."""
    there = ~np.isnan(x) & ~np.isnan(y)
    x, y = x[there], y[there]
    positive = (x > 0) & (y > 0)
    dropped = int((~positive).sum())
    log_log = r_squared(np.log(x[positive]), np.log(y[positive])) if positive.sum() > 1 else float("nan")
    return r_squared(x, y), log_log, dropped
