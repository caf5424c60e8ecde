"""The softmax denominator of a query, and how stable a broad kernel makes it.

`Z_n = Σ_j pos_{n,j} f_j`: what normalises kernel × content. The query fixes its own key, so the term j = n is not
random. For contents drawn independently and alike, `Var Z = Var f·Σ_{j≠n} pos_j²`: broad kernels average it away.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from numerics.errors import InvalidArgument
from numerics.positional.spread import LOCAL_UP_TO

Float = NDArray[np.float64]
Bool = NDArray[np.bool_]

STABLE_UP_TO = 0.25
"""Relative spread of Z up to which a head counts as contextual: the error that the article finds tolerable."""


def denominator(kernel: Float, factor: Float) -> Float:
    """`Z = Σ_j pos_j f_j` (…, I) of kernels and content factors (…, I, T)."""
    Z: Float = np.einsum("...j,...j->...", kernel, factor)
    return Z


def concentration_weight(kernel: Float, query_positions: ArrayLike) -> Float:
    """`Σ_{j≠n} pos_j²` (…, I) of kernels (…, I, T): 1/m for a uniform kernel on m other keys."""
    others = kernel.copy()  # not the whole sum minus the own term: that cancels where the kernel sits on the query
    rows = np.asarray(query_positions, dtype=np.int64)
    others[..., np.arange(len(rows)), rows] = 0.0
    weight: Float = np.einsum("...j,...j->...", others, others)
    return weight


def content_moments(factor: Float, others: Bool) -> tuple[Float, Float]:
    """Mean and variance (…, I) of the content factor (…, I, T) over the keys `others` (I, T) of each query.

    `others`: admissible, not skipped, and not the query itself. The variance is that of the finite set (divisor m), as
    drawing contents from it has. Raises InvalidArgument for a query without such a key.
    """
    count = others.sum(axis=-1)
    if not (count > 0).all():
        raise InvalidArgument("a query sees no key but itself and the skipped ones", "ask for later queries")
    mean = np.where(others, factor, 0.0).sum(axis=-1) / count
    variance = np.where(others, (factor - mean[..., None]) ** 2, 0.0).sum(axis=-1) / count
    return np.asarray(mean), np.asarray(variance)


def predicted_mean(kernel: Float, factor: Float, mean: Float, query_positions: ArrayLike) -> Float:
    """`E Z = mean f·Σ_{j≠n} pos_j + pos_n f_n` (…, I)."""
    own = _own(kernel, query_positions)
    expected: Float = mean * (kernel.sum(axis=-1) - own) + own * _own(factor, query_positions)
    return expected


def predicted_spread(kernel: Float, variance: Float, query_positions: ArrayLike) -> Float:
    """`√(Var f·Σ_{j≠n} pos_j²)` (…, I): the standard deviation of Z for independent contents."""
    return np.sqrt(variance * concentration_weight(kernel, query_positions))


def chebyshev_bound(t: ArrayLike, variance: ArrayLike, weight: ArrayLike) -> Float:
    """Bound on `P(|Z − E Z| ≥ t)`, t > 0: `Var f·weight/t²`, at most 1; `weight` from `concentration_weight`."""
    bound = np.asarray(variance, dtype=np.float64) * np.asarray(weight, dtype=np.float64) / _positive(t) ** 2
    return np.minimum(bound, 1.0)


def hoeffding_bound(t: ArrayLike, low: ArrayLike, high: ArrayLike, weight: ArrayLike) -> Float:
    """Bound on `P(|Z − E Z| ≥ t)`, t > 0, for f ∈ [low, high]: `2·exp(−2t²/((high − low)²·weight))`, at most 1.

    Two-sided, with the best constant in the exponent. 0 where nothing is random (weight 0 or low = high).
    """
    width = np.asarray(high, dtype=np.float64) - np.asarray(low, dtype=np.float64)
    deviation, square = np.broadcast_arrays(_positive(t), width**2 * np.asarray(weight, dtype=np.float64))
    exponent = np.divide(2 * deviation**2, square, out=np.full(square.shape, np.inf), where=square > 0)
    bound: Float = np.minimum(2 * np.exp(-exponent), 1.0)
    return bound


def exceedance(Z: Float, expected: Float, spread: Float, deviations: ArrayLike) -> Float:
    """Share (…, K) of the denominators `Z` (X, …, I) with `|Z − E Z| ≥ k·spread`, over texts and queries, for each k.

    `expected`, `spread` (X, …, I): `predicted_mean` and `predicted_spread` of the same text and query. Where the spread
    is zero nothing is random and the row is left out; NaN where none is left.
    """
    steps = np.asarray(deviations, dtype=np.float64)
    random = spread > 0
    beyond = random[..., None] & (np.abs(Z - expected)[..., None] >= _positive(steps) * spread[..., None])
    return mean_over_rows(beyond, random)


def mean_over_rows(values: NDArray[np.generic], counted: Bool) -> Float:
    """Mean (…, K) of `values` (X, …, I, K) over texts and queries, of the rows `counted` (X, …, I); NaN without any."""
    rows = counted.sum(axis=(0, -1))[..., None]
    total = np.where(counted[..., None], values, 0.0).sum(axis=(0, -2))
    mean: Float = np.divide(total, rows, out=np.full(total.shape, np.nan), where=rows > 0)
    return mean


def shared_decay(Z: Float, query_positions: ArrayLike) -> tuple[Float, Float]:
    """What Z does with n whatever the text: its geometric mean over texts (…, I), and the slope (…,) of that.

    `Z` (X, …, I). The slope is that of log Z on log n by least squares: −0.5 means that Z falls like 1/√n.
    Raises InvalidArgument for fewer than two queries or a query at position 0.
    """
    positions = np.asarray(query_positions, dtype=np.float64)
    if len(positions) < 2 or positions.min() < 1:
        raise InvalidArgument(
            f"the decay of denominators cannot be fitted to queries at {positions.astype(int).tolist()}",
            "give two or more queries at positions from 1 on",
        )
    logs = np.log(Z).mean(axis=0)
    x = np.log(positions) - np.log(positions).mean()
    slope: Float = (logs * x).sum(axis=-1) / np.sum(x**2)
    return np.exp(logs), slope


def relative_spread(Z: Float) -> Float:
    """Standard deviation over texts (divisor X − 1) by mean, (…, I), of Z (X, …, I): measured, decay with n apart."""
    if len(Z) < 2:
        raise InvalidArgument("the spread of denominators over texts needs two texts", "ask for more query texts")
    spread: Float = Z.std(axis=0, ddof=1) / Z.mean(axis=0)
    return spread


def is_contextual(etc: ArrayLike, spread: ArrayLike, limit: float = STABLE_UP_TO) -> Bool:
    """Broad kernel (ETC > 16) and a denominator whose relative spread is at most `limit`.

    Two criteria from one rule: with the spread predicted for independent contents (`predicted_spread` by mean), and
    with the measured one (`relative_spread`), which also sees that real texts differ from each other.
    """
    contextual: Bool = (np.asarray(etc) > LOCAL_UP_TO) & (np.asarray(spread) <= limit)
    return contextual


def _own(values: Float, query_positions: ArrayLike) -> Float:
    """The entry (…, I) of each row (…, I, T) at the query's own position."""
    rows = np.asarray(query_positions, dtype=np.int64)
    return values[..., np.arange(len(rows)), rows]


def _positive(t: ArrayLike) -> Float:
    deviation = np.asarray(t, dtype=np.float64)
    if not (deviation > 0).all():
        raise InvalidArgument("a deviation bound is asked for at t ≤ 0", "give positive deviations")
    return deviation
