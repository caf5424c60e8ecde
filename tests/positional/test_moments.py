"""Moments over texts: any split of the samples gives the same numbers, and noise is no share."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numerics.errors import InvalidArgument
from numerics.positional.moments import Moments, positional_share
from tests.positional.strategies import Float, close

# Deviations of size 1 on a mean of size 1e6: rounding of a deviation is 1e6·eps = 2e-10, of sums of 40·3 squares 3e-8.
# From raw squares it would be 1e12·eps·120 = 0.03.
FAR_FROM_ZERO = 1e-7


@given(
    seed=st.integers(0, 2**32 - 1),
    sizes=st.lists(st.integers(0, 7), min_size=2, max_size=6).filter(lambda sizes: sum(sizes) >= 2),
    offset=st.sampled_from([0.0, 1e6]),
    cut=st.integers(0, 6),
)
def test_any_split_of_the_samples_gives_the_same_moments(seed: int, sizes: list[int], offset: float, cut: int) -> None:
    samples = offset + np.random.default_rng(seed).standard_normal((sum(sizes), 2, 4, 3))
    batches = np.split(samples, np.cumsum(sizes)[:-1])
    left, right = Moments.empty((2, 4, 3)), Moments.empty((2, 4, 3))
    for place, batch in enumerate(batches):
        (left if place < cut else right).add(batch)
    left.merge(right)
    assert left.count == len(samples)
    assert close(left.mean, samples.mean(axis=0), FAR_FROM_ZERO / 100)
    variance = samples.var(axis=0, ddof=1).sum(axis=-1)
    assert close(left.variance, variance, FAR_FROM_ZERO)
    assert close(left.standard_error, np.sqrt(variance / len(samples)), FAR_FROM_ZERO)


def noisy(rng: np.random.Generator, P: Float, texts: int) -> Moments:
    moments = Moments.empty(P.shape)
    for _ in range(texts):
        moments.add((P + rng.standard_normal(P.shape))[None])
    return moments


@pytest.mark.parametrize(("positions", "width", "texts"), [(64, 32, 24), (3, 2000, 4)])
def test_noise_alone_gives_no_positional_share(positions: int, width: int, texts: int) -> None:
    """Without the floor the share of pure noise is 1/N; with it, 0 ± 1/N·√(2/((T − 1)·D)): 0.0013 and 0.006.

    Few positions: `Var P` with divisor T instead of T − 1 would be short by 1/(N·T) = 0.08.
    """
    share = positional_share(noisy(np.random.default_rng(3), np.zeros((positions, width)), texts))
    assert abs(float(share)) < 5 / texts * np.sqrt(2 / ((positions - 1) * width))


def test_positional_share_is_the_known_one() -> None:
    """`Var P` = ½·32 of a wave in every dim, s² = 32: share 1/3. Its error: √(2/(24·64·32)) and less, 0.006."""
    wave = np.sin(2 * np.pi * np.arange(64) / 64)[:, None] * np.ones(32)
    P = np.concatenate([np.full((5, 32), 100.0), wave * np.sqrt(63 / 64)])
    share = positional_share(noisy(np.random.default_rng(4), P, 24), skip=5)
    assert abs(float(share) - 1 / 3) < 0.025


def test_layers_at_once_are_layers_one_by_one() -> None:
    rng = np.random.default_rng(5)
    samples = rng.standard_normal((6, 3, 8, 4)) + rng.standard_normal((3, 8, 4))
    together = Moments.empty((3, 8, 4))
    together.add(samples)
    for layer in range(3):
        alone = Moments.empty((8, 4))
        alone.add(samples[:, layer])
        assert close(positional_share(together, skip=2)[layer], positional_share(alone, skip=2))


def test_constant_input_has_no_share() -> None:
    moments = Moments.empty((4, 2))
    moments.add(np.ones((3, 4, 2)))
    assert positional_share(moments) == 0.0


def test_bad_samples_are_refused() -> None:
    moments = Moments.empty((4, 2))
    with pytest.raises(InvalidArgument, match="do not fit"):
        moments.add(np.zeros((1, 5, 2)))
    with pytest.raises(InvalidArgument, match="NaN"):
        moments.add(np.full((1, 4, 2), np.nan))
    with pytest.raises(InvalidArgument, match="cannot be merged"):
        moments.merge(Moments.empty((4, 3)))
    moments.add(np.zeros((1, 4, 2)))
    with pytest.raises(InvalidArgument, match="two texts, 1 seen"):
        _ = moments.variance
    moments.add(np.zeros((1, 4, 2)))
    with pytest.raises(InvalidArgument, match="leave 1 positions"):
        positional_share(moments, skip=3)
