"""What entropy shares must keep under changes that change nothing, and at the edges."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numerics.bands.entropy import EntropyAttribution, entropy_attribution
from numerics.errors import InvalidArgument
from tests.bands.entropy.cases import EPS, Heads, layers, random_heads


def shares(heads: Heads, **options: float) -> EntropyAttribution:
    return entropy_attribution(heads.q, heads.k, **heads.arguments, **options)


def apart(one: EntropyAttribution, other: EntropyAttribution) -> float:
    """The largest difference in anything that is a sum of shares."""
    return max(
        float(np.abs(getattr(one, name) - getattr(other, name)).max()) for name in ("bands", "unrotated", "entropy")
    )


@settings(max_examples=30)
@given(layers(), st.floats(-100, 100), st.integers(0, 2**32 - 1))
def test_a_vector_added_to_all_keys_changes_nothing_without_a_cap(heads: Heads, size: float, seed: int) -> None:
    heads = replace(heads, softcap=None)
    offset = size * np.random.default_rng(seed).standard_normal(heads.k.shape[-1])
    moved = replace(heads, k=heads.k + offset)
    # `rounding` of the moved layer: its scores are the larger ones, and their error is what remains.
    assert apart(shares(moved), shares(heads)) <= moved.rounding + heads.rounding


@settings(max_examples=30)
@given(layers(), st.permutations(range(4)))
def test_bands_are_alike(heads: Heads, order: list[int]) -> None:
    """Permuting the bands, and laying them out the other way, permutes the shares."""
    order = [band for band in order if band < heads.n_bands]
    there = [dim for band in order for dim in heads.dims(band)] + list(range(2 * heads.n_bands, heads.q.shape[-1]))
    moved = replace(heads, q=heads.q[..., there], k=heads.k[..., there], pairing="interleaved")
    found, expected = shares(moved), shares(heads)
    assert np.abs(found.bands - expected.bands[:, order]).max() <= 2 * heads.rounding
    assert np.abs(found.unrotated - expected.unrotated).max() <= 2 * heads.rounding


@settings(max_examples=30)
@given(layers())
def test_only_scores_count(heads: Heads) -> None:
    """The scale may sit in q; a shared key head is one that is repeated; a window of all keys is none."""
    expected = shares(heads)
    assert apart(shares(replace(heads, q=2 * heads.q, scale=heads.scale / 2)), expected) == 0
    repeated = np.repeat(heads.k, len(heads.q) // len(heads.k), axis=0)
    assert apart(shares(replace(heads, k=repeated)), expected) == 0
    if heads.window is None:
        assert apart(shares(replace(heads, window=heads.length)), expected) == 0


@settings(max_examples=30)
@given(layers(max_length=40), st.sampled_from([1, 3, 17, 64]))
def test_blocks_change_nothing(heads: Heads, block: int) -> None:
    # A tolerance at rounding, so that no block stops earlier than another.
    expected = shares(heads, block=64, tolerance=1e-14)
    assert apart(shares(heads, block=block, tolerance=1e-14), expected) <= 2 * heads.rounding


@settings(max_examples=30)
@given(layers())
def test_one_key_has_no_entropy_to_share(heads: Heads) -> None:
    for lone in (replace(heads, window=1), heads.first(1)):
        assert np.abs(shares(lone).bands).max() <= lone.rounding
        assert shares(lone).entropy.tolist() == [0.0] * len(lone.q)


@pytest.mark.parametrize("softcap", [None, 5.0])
def test_future_keys_of_any_size_change_nothing(softcap: float | None) -> None:
    heads = random_heads(5, length=70, rest=2, softcap=softcap)
    heads.q[:, -1] = 0  # the one query that sees the last key has no preference
    poisoned = replace(heads, k=heads.k.copy())
    poisoned.k[:, -1] = 1e30
    assert apart(shares(poisoned), shares(heads)) == 0


def test_shares_keep_their_sign() -> None:
    """A band that prefers what the head prefers sharpens; one that opposes it flattens, by as much as it opposes."""
    heads = random_heads(6, heads=1, length=40, n_bands=1)
    doubled = replace(
        heads,
        q=np.concatenate((heads.q, -0.5 * heads.q), axis=-1),
        k=np.concatenate((heads.k, heads.k), axis=-1),
        n_bands=2,
        pairing="interleaved",
    )
    sharpens, flattens = shares(doubled).bands[0]
    assert sharpens < -1
    assert abs(flattens + sharpens / 2) <= doubled.rounding


def test_a_wide_cap_is_no_cap() -> None:
    heads = random_heads(7, length=40, rest=2)
    # cap·tanh(x/cap) = x − x³/3cap² + …: with |x| ≤ 15 and cap 1e5 that is 1e-7 in the score, and in 40 rows of it.
    assert apart(shares(replace(heads, softcap=1e5)), shares(heads)) <= 40 * heads.largest**3 / 1e10


@pytest.mark.parametrize("softcap", [None, 50.0])
@pytest.mark.parametrize("size", [30.0, 1e4, 1e8])
def test_a_sink_stays_finite_and_complete(size: float, softcap: float | None) -> None:
    """Score +`size` on key 0 for every query: attention is one-hot to hard zeros, H − log N = −log N."""
    heads = random_heads(8, length=200, heads=1, spread=1.0, softcap=softcap)
    heads.q[..., 0], heads.k[..., 0] = 1.0, 0.0
    heads.k[:, 0, 0] = size / heads.scale
    found = shares(heads)
    assert np.isfinite([*found.bands.ravel(), *found.residual, *found.entropy]).all()
    assert found.residual.max() <= max(1e-6, 100 * EPS * size)
    if size > 1000:
        # What is left of the other 199 weights: e^−(1e4 − a few), or e^−(50 − a few), times the score.
        least = -np.log(np.arange(1, 201)).sum()
        assert abs(found.entropy[0] - least) <= (1e-9 if softcap is None else 200 * 200 * 50 * np.exp(-40))


def test_queries_of_zero_share_nothing() -> None:
    heads = random_heads(9, spread=0.0)
    assert apart(shares(heads), shares(replace(heads, q=0 * heads.q, scale=1.0))) == 0
    assert not shares(heads).bands.any()
    assert np.abs(shares(heads).entropy).max() <= heads.rounding


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["q", "k"])
def test_what_is_not_finite_is_refused(name: str, bad: float) -> None:
    heads = random_heads(10, heads=2, kv_heads=2)
    getattr(heads, name)[1, 7, 3] = bad
    with pytest.raises(InvalidArgument, match=f"{name} of head 1 is NaN or infinite at position 7"):
        shares(heads)


def test_a_score_beyond_float64_is_refused() -> None:
    heads = random_heads(11)
    with pytest.raises(InvalidArgument, match="a score leaves float64"):
        shares(replace(heads, q=1e200 * heads.q, k=1e200 * heads.k))


def test_shapes_and_options_that_do_not_fit_are_refused() -> None:
    heads = random_heads(12, heads=3, kv_heads=1)
    for wrong in (
        replace(heads, q=heads.q[0]),
        replace(heads, k=heads.k[:, :-1]),
        replace(heads, k=np.repeat(heads.k, 2, axis=0)),
        replace(heads, q=heads.q[:, :0], k=heads.k[:, :0]),
    ):
        with pytest.raises(InvalidArgument, match=r"are not \(H, T, n\) and \(G, T, n\) of one layer"):
            shares(wrong)
    with pytest.raises(InvalidArgument, match="5 bands do not fit"):
        shares(replace(heads, n_bands=5))
    with pytest.raises(InvalidArgument, match="a window of 0 keys sees nothing"):
        shares(replace(heads, window=0))
    for softcap in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(InvalidArgument, match="is not positive and finite"):
            shares(replace(heads, softcap=softcap))
    with pytest.raises(InvalidArgument, match="a block of 0 rows is empty"):
        shares(heads, block=0)
