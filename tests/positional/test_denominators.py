"""Softmax denominators: moments by enumeration, and bounds that hold, and would not hold if they were any smaller."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from numerics.errors import InvalidArgument
from numerics.positional.denominators import (
    chebyshev_bound,
    concentration_weight,
    content_moments,
    denominator,
    exceedance,
    hoeffding_bound,
    is_contextual,
    predicted_mean,
    predicted_spread,
    relative_spread,
    shared_decay,
)
from tests.positional.strategies import Float, Rows, close, rows

SURE = 1 - 1e-9
"""A right bound is exceeded by more than the binomial quantile of this level once in 1e9 comparisons."""


def allowed(bound: Float, draws: int) -> Float:
    """Largest count of exceedances in `draws` draws that a probability of at most `bound` explains."""
    return np.asarray(binom.ppf(SURE, draws, bound))


@given(rows())
def test_weight_leaves_the_query_itself_out(drawn: Rows) -> None:
    kernel = drawn.kernel
    expected = [np.sum(np.delete(kernel[row], query) ** 2) for row, query in enumerate(drawn.queries)]
    assert close(concentration_weight(kernel, drawn.queries), expected)


@given(
    pool=st.lists(st.floats(0.1, 3), min_size=1, max_size=3),
    own=st.floats(0.1, 3),
    seed=st.integers(0, 2**32 - 1),
    keys=st.integers(1, 5),
)
def test_mean_and_spread_by_enumeration(pool: list[float], own: float, seed: int, keys: int) -> None:
    """All contents of the keys before the query, each equally likely; the query's own content stays."""
    kernel = np.random.default_rng(seed).dirichlet(np.ones(keys + 1))[None]
    factors = np.array([[*drawn, own] for drawn in product(pool, repeat=keys)])[:, None, :]
    Z = denominator(kernel, factors)[:, 0]
    assert close(predicted_mean(kernel, factors[0], np.array([np.mean(pool)]), [keys])[0], Z.mean())
    # A variance of up to 2 is a sum of 243 squares; its root turns 1e-15 into 3e-8 where nothing varies.
    assert close(predicted_spread(kernel, np.array([np.var(pool)]), [keys])[0], Z.std(), 1e-7)


@given(rows(), st.integers(0, 2**32 - 1))
def test_moments_of_content_are_those_of_the_listed_keys(drawn: Rows, seed: int) -> None:
    factor = np.random.default_rng(seed).lognormal(size=drawn.kernel.shape)
    mean, variance = content_moments(factor, drawn.kept)
    for row in range(len(factor)):
        assert close(mean[row], factor[row][drawn.kept[row]].mean())
        assert close(variance[row], factor[row][drawn.kept[row]].var())


@pytest.mark.parametrize("size", [0.0, 0.5, 5.0], ids=["uniform", "broad", "local"])
@pytest.mark.parametrize("own", [True, False], ids=["own-term", "no-own-term"])
def test_bounds_hold_for_contents_drawn_from_a_pool(size: float, own: bool) -> None:
    rng = np.random.default_rng(11)
    draws, keys = 20_000, 30
    weights = np.exp(size * rng.standard_normal((1, keys + 1)))
    weights[0, -1] *= own
    kernel = weights / weights.sum()
    pool = rng.lognormal(sigma=0.8, size=50)
    factor = rng.choice(pool, size=(draws, 1, keys + 1))
    factor[..., -1] = 1.7
    expected = predicted_mean(kernel, factor[0], pool.mean()[None], [keys])
    gap = np.abs(denominator(kernel, factor) - expected)[:, 0]
    weight = concentration_weight(kernel, [keys])
    t = predicted_spread(kernel, pool.var()[None], [keys]) * np.array([0.5, 1, 1.5, 2, 3, 4, 6])
    seen = (gap[:, None] >= t).sum(axis=0)
    chebyshev = chebyshev_bound(t, pool.var(), weight)
    hoeffding = hoeffding_bound(t, pool.min(), pool.max(), weight)
    assert (seen <= allowed(chebyshev, draws)).all()
    assert (seen <= allowed(hoeffding, draws)).all()
    assert chebyshev[-1] < 0.03, "the bound says nothing"


@pytest.mark.parametrize("p", [0.9, 0.5, 0.1])
def test_chebyshev_is_reached(p: float) -> None:
    """f = 2 ± 1 with probability p/2 each, else 2, all mass on one other key: P(|Z − 2| ≥ 1) = p = Var f."""
    kernel = np.array([[1.0, 0.0]])
    assert close(chebyshev_bound(1.0, p, concentration_weight(kernel, [1])), [p])


def test_hoeffding_cannot_be_halved() -> None:
    """One key, f = ±1: P(|Z| ≥ 1) = 1, the bound is 2e^(−1/2) = 1.21, cut to 1; without the 2, or with 4t², below 1."""
    kernel = np.array([[1.0, 0.0]])
    weight = concentration_weight(kernel, [1])
    assert hoeffding_bound(1.0, -1.0, 1.0, weight) == 1
    assert close(hoeffding_bound(2.0, -1.0, 1.0, weight), [2 * np.exp(-2)])
    assert close(hoeffding_bound(2.0, -1.0, 1.0, weight / 4), [2 * np.exp(-8)])


def test_hoeffding_where_nothing_is_random() -> None:
    assert hoeffding_bound([0.1, 1.0], 2.0, 2.0, 0.5).tolist() == [0, 0]
    assert hoeffding_bound(0.1, 0.0, 1.0, 0.0) == 0


def test_exceedance_counts_texts_and_queries_and_leaves_out_what_is_not_random() -> None:
    """Two texts, one head, three queries; the last query of the second text has no spread."""
    Z = np.array([[[1.0, 2.0, 3.0]], [[2.0, 2.5, 9.0]]])
    spread = np.array([[[1.0, 0.5, 1.0]], [[0.25, 0.25, 0.0]]])
    expected = np.array([[[0.0, 2.0, 1.0]], [[1.5, 2.5, 1.0]]])
    # |Z − E Z|/spread: 1, 0, 2, 2, 0, left out.
    assert close(exceedance(Z, expected, spread, [0.5, 1.0, 2.0, 3.0]), [[3 / 5, 3 / 5, 2 / 5, 0]])
    assert np.isnan(exceedance(Z, expected, 0 * spread, [1.0])).all()


def test_shared_decay_is_that_of_all_texts() -> None:
    """Z = c_text·n^(−1/2): slope −1/2, curve the geometric mean, and the relative spread is that of c_text."""
    queries = np.array([10, 40, 160])
    c = np.array([1.0, 2.0, 4.0])
    Z = c[:, None] * queries**-0.5
    curve, slope = shared_decay(Z, queries)
    assert close(slope, -0.5)
    assert close(curve, 2 * queries**-0.5)
    assert close(relative_spread(Z), np.full(3, c.std(ddof=1) / c.mean()))
    curves, slopes = shared_decay(np.stack([Z, 1 / Z], axis=1), queries)
    assert close(slopes, [-0.5, 0.5])
    assert curves.shape == (2, 3)


def test_contextual_heads_are_broad_and_stable() -> None:
    assert is_contextual([16.0, 17.0, 17.0, 17.0], [0.0, 0.25, 0.26, np.nan]).tolist() == [False, True, False, False]


def test_bad_questions_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="t ≤ 0"):
        chebyshev_bound(0.0, 1.0, 1.0)
    with pytest.raises(InvalidArgument, match="t ≤ 0"):
        hoeffding_bound(float("nan"), 0.0, 1.0, 1.0)
    with pytest.raises(InvalidArgument, match="cannot be fitted"):
        shared_decay(np.ones((2, 2)), [0, 3])
    with pytest.raises(InvalidArgument, match="two texts"):
        relative_spread(np.ones((1, 2)))
    with pytest.raises(InvalidArgument, match="no key but itself"):
        content_moments(np.ones((1, 2)), np.zeros((1, 2), dtype=bool))
