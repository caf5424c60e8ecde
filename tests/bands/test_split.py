"""Bands: the pairs that rotate together, each dim once, and products that sum to the score."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numerics.bands.split import band_pairs, band_scores, band_sums
from numerics.errors import InvalidArgument
from numerics.models.rotary import Pairing, RotaryTable

EPS = float(np.finfo(np.float64).eps)
PAIRINGS = st.sampled_from(["half", "interleaved"])


@given(st.integers(1, 20), st.integers(0, 5), PAIRINGS, st.integers(0, 2))
def test_bands_are_the_pairs_that_the_model_turns(n_bands: int, rest: int, pairing: Pairing, leading: int) -> None:
    x = np.random.default_rng(n_bands).standard_normal((*(3, 2)[:leading], 2 * n_bands + rest))
    pairs, unrotated = band_pairs(x, n_bands=n_bands, pairing=pairing)
    first, second = RotaryTable(x.shape[-1], pairing, np.ones(n_bands)).pairs(x)
    assert (pairs[..., 0] == first).all()
    assert (pairs[..., 1] == second).all()
    assert (unrotated == x[..., 2 * n_bands :]).all()
    assert sorted([*pairs.ravel(), *unrotated.ravel()]) == sorted(x.ravel())
    assert np.shares_memory(pairs, x)
    strided = np.stack((x, -x), axis=-1)[..., 1]
    assert (band_pairs(strided, n_bands=n_bands, pairing=pairing)[0] == -pairs).all()


@given(st.integers(1, 20), st.integers(0, 5), PAIRINGS, st.integers(0, 1000), st.integers(0, 2**32 - 1))
def test_bands_sum_to_the_score_and_see_only_the_distance(
    n_bands: int, rest: int, pairing: Pairing, shift: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    q, k = rng.standard_normal((2, 4, 2 * n_bands + rest))
    scores = band_scores(q, k, scale=0.3, n_bands=n_bands, pairing=pairing)
    assert scores.shape == (4, n_bands + (rest > 0))
    size = 0.3 * np.abs(q * k).sum(axis=-1)  # no sum of n terms, in any order, errs by more than n·eps·Σ|terms|
    assert (np.abs(scores.sum(axis=-1) - 0.3 * np.einsum("ic,ic->i", q, k)) <= q.shape[-1] * EPS * size).all()
    assert (np.abs(scores.sum(axis=-1)) <= np.abs(scores).sum(axis=-1) * (1 + n_bands * EPS)).all()
    # Turning q and k alike keeps every band: cos² + sin² = 1 to a few eps of |q||k| ≤ 36.
    table = RotaryTable(q.shape[-1], pairing, 0.7 ** np.arange(n_bands))
    turned = band_scores(table.rotate(q, shift), table.rotate(k, shift), scale=0.3, n_bands=n_bands, pairing=pairing)
    assert np.abs(turned - scores).max() <= 10 * EPS * 36


def test_bands_by_hand() -> None:
    q, k = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), np.ones(6)
    arguments: dict[str, Any] = {"scale": 10.0, "n_bands": 2}
    assert band_scores(q, k, pairing="half", **arguments).tolist() == [40.0, 60.0, 110.0]
    assert band_scores(q, k, pairing="interleaved", **arguments).tolist() == [30.0, 70.0, 110.0]
    assert band_sums(q, n_bands=3, pairing="half").tolist() == [5.0, 7.0, 9.0]
    pairs = band_scores(q, np.stack((k, 2 * k)), pairing="half", **arguments)
    assert pairs.tolist() == [[40.0, 60.0, 110.0], [80.0, 120.0, 220.0]]


@pytest.mark.parametrize("n_bands", [0, -1, 4])
def test_a_band_count_that_does_not_fit_is_refused(n_bands: int) -> None:
    with pytest.raises(InvalidArgument, match=f"{n_bands} bands do not fit vectors of shape"):
        band_pairs(np.ones((2, 7)), n_bands=n_bands, pairing="half")


def test_an_unknown_pairing_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="pairing 'neox' is not known; use 'half' or 'interleaved'"):
        band_pairs(np.ones(4), n_bands=1, pairing="neox")  # type: ignore[arg-type]
