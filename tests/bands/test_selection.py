"""Which bands go: counts, order, ties, bands that are not there."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numerics.bands.ablation.select import SELECTIONS, count_removed, lowest
from numerics.errors import InvalidArgument

SHARES = st.integers(0, 100).map(lambda percent: percent / 100)


@given(st.integers(0, 10_000), st.integers(0, 100))
def test_counts_are_rounded_as_the_decimal_digits_say(bands: int, percent: int) -> None:
    exact = Fraction(percent, 100) * bands
    assert count_removed(bands, percent / 100) == int(exact + Fraction(1, 2))


def test_a_half_is_rounded_up_though_the_float_lies_below() -> None:
    assert count_removed(5, 0.3) == 2
    assert Fraction(0.3) < Fraction(3, 10)
    assert [count_removed(9216, share) for share in (0, 0.4, 1)] == [0, 3686, 9216]
    for share in (-0.1, 1.1, float("nan")):
        with pytest.raises(InvalidArgument, match="from 0 to 1"):
            count_removed(5, share)


@given(st.integers(0, 2**32 - 1), SHARES, st.sampled_from(SELECTIONS), st.booleans())
def test_what_is_removed_is_the_lowest_and_as_many_as_asked(seed: int, share: float, select: str, ties: bool) -> None:
    rng = np.random.default_rng(seed)
    ranks = rng.integers(0, 3, (2, 3, 5)).astype(float) if ties else rng.standard_normal((2, 3, 5))
    ranks[1, :, 3:] = np.nan  # a layer of three bands
    removed = lowest(ranks, share, select)
    assert not removed[np.isnan(ranks)].any()
    parts = [ranks.ravel()] if select == "global" else list(ranks.reshape(-1, 5))
    gone = [removed.ravel()] if select == "global" else list(removed.reshape(-1, 5))
    for part, out in zip(parts, gone, strict=True):
        there = ~np.isnan(part)
        assert out.sum() == count_removed(int(there.sum()), share)
        if out.any() and (there & ~out).any():
            assert part[out].max() <= part[there & ~out].min()
        # Of equals the first go.
        for value in np.unique(part[there]):
            of_value = out[there & (part == value)].tolist()
            assert of_value == sorted(of_value, reverse=True)


@given(st.integers(0, 2**32 - 1), SHARES, SHARES, st.sampled_from(SELECTIONS))
def test_more_removes_all_that_less_does(seed: int, one: float, other: float, select: str) -> None:
    ranks = np.random.default_rng(seed).integers(0, 4, (2, 2, 6)).astype(float)
    less, more = (lowest(ranks, share, select) for share in sorted((one, other)))
    assert (less <= more).all()


def test_global_ranks_across_heads_and_head_within_each() -> None:
    ranks = np.array([[[0.1, 0.2, 0.3, 0.4], [0.5, 0.6, 0.7, 0.8]]])
    assert lowest(ranks, 0.5, "global")[0].tolist() == [[True] * 4, [False] * 4]
    assert lowest(ranks, 0.5, "head")[0].tolist() == [[True, True, False, False]] * 2
    with pytest.raises(InvalidArgument, match="global or head"):
        lowest(ranks, 0.5, "layer")
