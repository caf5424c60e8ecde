"""Importance within a head, and the fit of one metric's importance on another's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from numerics.bands.importance import fit, importance, r_squared, random_importance

VALUES = arrays(np.float64, (2, 3, 4), elements=st.floats(-1e6, 1e6).map(lambda x: round(x, 6)))


@given(VALUES)
def test_importance_is_relative_to_the_heads_largest(values: np.ndarray) -> None:
    entropy, signed = importance("entropy", values), importance("entropy-signed", values)
    activation = importance("activation", np.abs(values))
    assert np.array_equal(entropy, activation)
    for head in range(3):
        largest = np.abs(values[0, head]).max()
        if largest == 0:
            assert not entropy[0, head].any()
        else:
            np.testing.assert_allclose(entropy[0, head] * largest, np.abs(values[0, head]), rtol=1e-15)
            assert entropy[0, head].max() == 1
    assert np.array_equal(np.abs(signed), entropy)
    # The band that opposes the head (h > 0: it flattens the attention) comes first, the sharpest last.
    assert ((signed > 0) <= (values < 0)).all()
    assert ((signed < 0) <= (values > 0)).all()


@given(VALUES, st.floats(1e-3, 1e3), st.sampled_from(["activation", "entropy", "entropy-signed", "fisher"]))
def test_importance_does_not_see_the_unit(values: np.ndarray, unit: float, metric: str) -> None:
    np.testing.assert_allclose(importance(metric, unit * values), importance(metric, values), rtol=1e-14, atol=0)


def test_bands_that_are_not_there_stay_away() -> None:
    values = np.array([[[1.0, 4.0, np.nan], [0.0, 0.0, np.nan]]])
    for metric, row in (("activation", [0.25, 1]), ("entropy-signed", [-0.25, -1])):
        found = importance(metric, values)
        assert found[0, 0, :2].tolist() == row
        assert found[0, 1, :2].tolist() == [0, 0]
        assert np.isnan(found[0, :, 2]).all()
    drawn = random_importance(values, 7)
    assert np.array_equal(np.isnan(drawn), np.isnan(values))
    assert np.array_equal(drawn, random_importance(values, 7), equal_nan=True)
    assert not np.array_equal(drawn, random_importance(values, 8), equal_nan=True)


@given(st.integers(3, 40), st.integers(0, 2**32 - 1))
def test_r_squared_is_the_explained_share_of_the_least_squares_line(count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(count)
    y = 3 * x + 5 + rng.standard_normal(count)
    design = np.stack([np.ones(count), x], axis=1)
    left = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    explained = 1 - float(left @ left) / float(((y - y.mean()) ** 2).sum())
    assert r_squared(x, y) == pytest.approx(explained, abs=1e-12)
    assert r_squared(y, x) == pytest.approx(explained, abs=1e-12)
    assert r_squared(x, -2 * x + 1) == pytest.approx(1, abs=1e-12)


def test_fit_in_logarithms_leaves_out_what_has_none_and_says_how_many() -> None:
    x = np.array([1.0, 2.0, 4.0, 0.0, 8.0, np.nan])
    y = np.array([1.0, 8.0, 64.0, 5.0, 512.0, np.nan])
    plain, log_log, dropped = fit(x, y)
    assert log_log == pytest.approx(1)
    assert dropped == 1
    assert plain == pytest.approx(r_squared(x[:5], y[:5]))
    assert plain < 0.95
    assert np.isnan(r_squared(np.ones(3), np.arange(3.0)))
