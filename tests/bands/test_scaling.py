"""Bands of the queries scaled: what is scaled, what is left, and what the scores become."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from numerics.bands.scaling import scale_bands
from numerics.bands.split import band_pairs, band_scores
from numerics.models.rotary import Pairing

PAIRINGS = st.sampled_from(["half", "interleaved"])


@given(st.integers(1, 6), st.integers(0, 4), PAIRINGS, st.integers(0, 2**32 - 1))
def test_a_factor_multiplies_its_band_of_the_score_and_no_other(
    n_bands: int, rest: int, pairing: Pairing, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    q = rng.standard_normal((2, 3, 5, 2 * n_bands + rest))  # batch, heads, tokens, dims
    k, theta = rng.standard_normal(q.shape), rng.standard_normal((3, n_bands))
    scaled = scale_bands(torch.as_tensor(q), torch.as_tensor(theta), pairing).numpy()
    before = band_scores(q, k, scale=0.7, n_bands=n_bands, pairing=pairing)
    after = band_scores(scaled, k, scale=0.7, n_bands=n_bands, pairing=pairing)
    factors = np.concatenate([theta, np.ones((3, 1))], axis=1)[:, None, : before.shape[-1]]
    # One rounding more per product of sizes below 6² · 3: 1e-13 is a hundred times that.
    np.testing.assert_allclose(after, factors * before, rtol=0, atol=1e-13)


@given(st.integers(1, 6), st.integers(0, 4), PAIRINGS, st.integers(0, 2**32 - 1))
def test_a_factor_of_one_keeps_the_bits_and_of_zero_leaves_nothing(
    n_bands: int, rest: int, pairing: Pairing, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    q = torch.as_tensor(rng.standard_normal((1, 2, 4, 2 * n_bands + rest)).astype(np.float32))
    kept = rng.random((2, n_bands)) < 0.5
    scaled = scale_bands(q, torch.as_tensor(kept), pairing)
    assert scaled.dtype == q.dtype
    pairs, left = band_pairs(scaled.numpy(), n_bands=n_bands, pairing=pairing)
    own, own_left = band_pairs(q.numpy(), n_bands=n_bands, pairing=pairing)
    for head in range(2):
        assert not pairs[0, head][:, ~kept[head]].any()
        assert np.array_equal(pairs[0, head][:, kept[head]], own[0, head][:, kept[head]])
    assert np.array_equal(left, own_left)


@pytest.mark.parametrize("pairing", ["half", "interleaved"])
def test_gradient_of_a_factor_is_its_bands_share_of_the_score(pairing: Pairing) -> None:
    rng = np.random.default_rng(3)
    q, k = rng.standard_normal((2, 2, 4, 10))
    theta = torch.ones(2, 4, dtype=torch.float64, requires_grad=True)
    (scale_bands(torch.as_tensor(q), theta, pairing) * torch.as_tensor(k)).sum().backward()
    assert theta.grad is not None
    shares = band_scores(q, k, scale=1.0, n_bands=4, pairing=pairing).sum(axis=1)[:, :4]
    np.testing.assert_allclose(theta.grad.numpy(), shares, rtol=0, atol=1e-12)
