"""Attribution of one query's attention to keys × bands: its two identities, its definition, what must not matter."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from numerics.bands.attribution import PairAttribution, pair_attribution, products
from numerics.bands.attribution.products import BOUND
from numerics.bands.attribution.reference import pair_attribution_reference
from numerics.bands.entropy.quadrature import gauss_legendre, graded
from numerics.errors import InvalidArgument
from tests.bands.entropy.cases import EPS, Float, Heads, layers, random_heads


def arguments(heads: Heads) -> dict[str, Any]:
    return {name: value for name, value in heads.arguments.items() if name != "window"}


def attribute(heads: Heads) -> PairAttribution:
    """Of the last query of the first head, every key admissible."""
    return pair_attribution(heads.q[0, -1], heads.k[0], **arguments(heads))


def probability(heads: Heads) -> Float:
    """The attention (T,) of the last query, from the textbook softmax."""
    x = heads.capped(heads.parts(0)[-1].sum(axis=-1))
    p = np.exp(x - x.max())
    return np.asarray(p / p.sum())


def rounding(heads: Heads) -> float:
    """Of one attribution: scores err by n·eps·X, weights by that and 64·eps (see `Heads.rounding`), products by X."""
    return heads.rounding / heads.length


@settings(max_examples=60)
@given(layers(max_length=40))
def test_both_sums_are_complete(heads: Heads) -> None:
    found, p = attribute(heads), probability(heads)
    assert found.attribution.shape == (heads.length, heads.n_parts)
    # Softmax moves by at most half of what the scores do, n·eps·X.
    assert np.abs(found.probability - p).max() <= EPS * (2 + heads.q.shape[-1] * heads.largest)
    # 1e-9 of the largest probability is where the nodes stop; the sums are of `parts` and of T terms.
    rows = np.abs(found.attribution.sum(axis=1) - p).max()
    assert rows <= 1e-9 * p.max() + heads.n_parts * rounding(heads)
    columns = np.abs(found.attribution.sum(axis=0) - 1 / heads.n_parts).max()
    assert columns <= 1e-9 * p.max() + heads.length * rounding(heads)
    assert max(found.over_bands, found.over_keys) <= max(1e-9, heads.rounding / p.max())
    assert abs(found.over_bands - rows / p.max()) <= rounding(heads) / p.max()
    assert abs(found.over_keys - columns / p.max()) <= heads.length * EPS / p.max()


@settings(max_examples=60)
@given(layers(max_length=40))
def test_products_are_the_loop_over_nodes(heads: Heads) -> None:
    rule = graded(4 * heads.largest * max(1.0, 2 / (heads.softcap or 2.0)))
    loop = pair_attribution_reference(heads.q[0, -1], heads.k[0], rule, **arguments(heads))
    # A band's error is below that of the sum over bands (BANDS C), which is at most 1e-9; twice that for planning.
    assert np.abs(attribute(heads).attribution - loop).max() <= 2e-9 + rounding(heads)


# 64 nodes are exact to rounding for scores of these sizes.
TRUTHS = [
    random_heads(1, length=5, n_bands=3, spread=2.0),
    random_heads(2, length=5, n_bands=2, rest=3, spread=2.0, pairing="interleaved"),
    random_heads(3, length=4, n_bands=3, spread=2.0, softcap=5.0),
    random_heads(4, length=4, n_bands=2, rest=1, spread=2.0, softcap=2.0, pairing="interleaved"),
]


def attention(scales: torch.Tensor, heads: Heads) -> torch.Tensor:
    """Attention (T,) of the last query with its parts multiplied by `scales`."""
    x = torch.from_numpy(heads.parts(0)[-1]) @ scales
    if heads.softcap is not None:
        x = heads.softcap * torch.tanh(x / heads.softcap)
    return torch.softmax(x, dim=0)


@pytest.mark.parametrize("heads", TRUTHS)
def test_attributions_are_integrated_gradients_of_the_attention(heads: Heads) -> None:
    expected = np.full((heads.length, heads.n_parts), 1 / (heads.length * heads.n_parts))
    for s, omega in zip(*gauss_legendre(64), strict=True):
        for key in range(heads.length):
            scales = torch.full((heads.n_parts,), s, dtype=torch.float64, requires_grad=True)
            (gradient,) = torch.autograd.grad(attention(scales, heads)[key], scales)
            expected[key] += omega * gradient.numpy()
    assert np.abs(attribute(heads).attribution - expected).max() <= rounding(heads)


@pytest.mark.parametrize("heads", TRUTHS)
def test_attributions_are_finite_differences_along_the_path(heads: Heads) -> None:
    step = 1e-4  # fourth order: error step⁴·d⁵p ≈ 1e-16·X⁵/30 ≤ 1e-11, and rounding eps·X/step
    expected = np.full((heads.length, heads.n_parts), 1 / (heads.length * heads.n_parts))
    for s, omega in zip(*gauss_legendre(64), strict=True):
        for part in range(heads.n_parts):
            for moves, weight in ((1, 8), (-1, -8), (2, -1), (-2, 1)):
                scales = torch.full((heads.n_parts,), s, dtype=torch.float64)
                scales[part] += moves * step
                expected[:, part] += omega * weight * attention(scales, heads).numpy() / (12 * step)
    assert np.abs(attribute(heads).attribution - expected).max() <= EPS * heads.largest / step + 1e-11


@settings(max_examples=40)
@given(layers(max_length=40), st.randoms(use_true_random=False))
def test_keys_are_a_set(heads: Heads, random: Any) -> None:
    order = list(range(heads.length))
    random.shuffle(order)
    moved, found = attribute(replace(heads, k=heads.k[:, order])), attribute(heads)
    assert np.abs(moved.attribution - found.attribution[order]).max() <= 4e-9 + rounding(heads)
    assert np.abs(moved.probability - found.probability[order]).max() <= 4 * EPS


@settings(max_examples=40)
@given(layers(max_length=40), st.floats(-100, 100), st.integers(0, 2**32 - 1))
def test_a_vector_added_to_all_keys_changes_nothing_without_a_cap(heads: Heads, size: float, seed: int) -> None:
    heads = replace(heads, softcap=None)
    moved = replace(heads, k=heads.k + size * np.random.default_rng(seed).standard_normal(heads.k.shape[-1]))
    difference = np.abs(attribute(moved).attribution - attribute(heads).attribution).max()
    assert difference <= 4e-9 + rounding(heads) + rounding(moved)


@given(layers())
def test_a_lone_key_gets_everything_in_equal_shares(heads: Heads) -> None:
    found = attribute(heads.first(1))
    assert found.probability.tolist() == [1.0]
    assert np.abs(found.attribution - 1 / heads.n_parts).max() <= rounding(heads)


@given(layers())
def test_a_query_of_zero_attends_to_all_alike(heads: Heads) -> None:
    found = attribute(replace(heads, q=0 * heads.q))
    assert np.abs(found.attribution * heads.length * heads.n_parts - 1).max() <= 100 * EPS


def test_a_wide_cap_is_no_cap() -> None:
    heads = random_heads(7, length=40, rest=2)
    capped, free = (attribute(replace(heads, softcap=cap)).attribution for cap in (1e5, None))
    assert np.abs(capped - free).max() <= heads.largest**3 / 1e10


@pytest.mark.parametrize("softcap", [None, 40.0])
def test_many_keys_and_many_nodes(softcap: float | None) -> None:
    """More keys than one slice holds and more nodes than are taken together."""
    heads = random_heads(8, heads=1, length=2500, rest=1, spread=400.0, softcap=softcap)
    rule = graded(4 * heads.largest)
    assert len(rule.nodes) > products.TOGETHER
    loop = pair_attribution_reference(heads.q[0, -1], heads.k[0], rule, **arguments(heads))
    found = attribute(heads)
    assert np.abs(found.attribution - loop).max() <= 2e-9
    assert max(found.over_bands, found.over_keys) <= 1e-9
    assert np.abs(loop).max() > 1e-3


@pytest.mark.parametrize("softcap", [None, 50.0])
@pytest.mark.parametrize("size", [30.0, 1e4, 1e7])
def test_a_sink_stays_finite_and_complete(size: float, softcap: float | None) -> None:
    heads = random_heads(9, length=200, heads=1, spread=1.0, softcap=softcap)
    heads.q[0, -1, 0], heads.k[0, :, 0] = 1.0, 0.0
    heads.k[0, 0, 0] = size / heads.scale
    found = attribute(heads)
    assert np.isfinite(found.attribution).all()
    assert max(found.over_bands, found.over_keys) <= max(1e-9, 100 * EPS * size)
    assert found.attribution[0, 0] > 0.7  # the sink's own band holds what is not split equally


@pytest.mark.parametrize(("spread", "most"), [(1.0, 16), (15.0, 32), (90.0, 64), (1000.0, 300)])
def test_nodes_are_added_until_both_sums_are_complete(
    spread: float, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[int] = []
    original = products._attribution

    def spy(x: Float, x_parts: Float, softcap: float | None, rule: Any) -> Float:
        tried.append(len(rule.nodes))
        return original(x, x_parts, softcap, rule)

    monkeypatch.setattr(products, "_attribution", spy)
    heads = random_heads(10, heads=1, length=64, spread=spread)
    found = attribute(heads)
    assert tried == [16, 32, 64, tried[-1]][: len(tried)]
    assert most / 2 < tried[-1] <= most
    assert max(found.over_bands, found.over_keys) <= 1e-9


def test_what_is_lacking_is_told_as_a_share_of_the_largest_probability() -> None:
    heads = random_heads(10, heads=1, length=2000, spread=8.0)
    found = pair_attribution(heads.q[0, -1], heads.k[0], **arguments(heads), tolerance=BOUND)  # 16 nodes do
    p = found.probability
    rows = np.abs(found.attribution.sum(axis=1) - p).max()
    assert p.max() < 0.5
    assert 1e-12 < found.over_bands < BOUND
    assert abs(found.over_bands * p.max() / rows - 1) <= 1e-2  # rows is above 1e-13, known to 1e-15


def test_attributions_that_rounding_eats_are_refused() -> None:
    heads = random_heads(11, length=50, n_bands=2)
    opposed = replace(heads, q=np.concatenate((heads.q[..., :2], -heads.q[..., :2]), axis=-1), pairing="interleaved")
    keys = np.concatenate((heads.k[..., :2], heads.k[..., :2] + 1e-13 * heads.k[..., 2:]), axis=-1)
    with pytest.raises(InvalidArgument, match=r"attributions miss their sums by .* of the largest probability"):
        attribute(replace(opposed, k=1e13 * keys))


def test_memory_grows_with_the_keys() -> None:
    peaks = []
    for length in (2000, 4000):
        heads = random_heads(12, heads=1, length=length, n_bands=16)
        query, keys = heads.q[0, -1].copy(), heads.k[0]
        tracemalloc.start()
        pair_attribution(query, keys, **arguments(heads))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] <= 2.1 * peaks[0]
    assert peaks[1] <= 4 * 4000 * 32 * 8  # nodes × keys × bands would be 8 times that


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused(bad: float) -> None:
    heads = random_heads(13)
    heads.k[0, 7, 3] = bad
    with pytest.raises(InvalidArgument, match="a key at place 7 is NaN or infinite"):
        attribute(heads)
    heads.q[0, -1, 0] = bad
    with pytest.raises(InvalidArgument, match="the query is NaN or infinite"):
        attribute(heads)


def test_what_does_not_fit_is_refused() -> None:
    heads = random_heads(14)
    query, keys = heads.q[0, -1], heads.k[0]
    for q, k in ((heads.q[0], keys), (query, keys[0]), (query, keys[:, :-1]), (query, keys[:0])):
        with pytest.raises(InvalidArgument, match=r"are not \(n,\) and \(N, n\)"):
            pair_attribution(q, k, **arguments(heads))
    with pytest.raises(InvalidArgument, match="a score leaves float64"):
        pair_attribution(1e200 * query, 1e200 * keys, **arguments(heads))
    with pytest.raises(InvalidArgument, match="is not positive and finite"):
        pair_attribution(query, keys, **(arguments(heads) | {"softcap": 0.0}))
    with pytest.raises(InvalidArgument, match="5 bands do not fit"):
        pair_attribution(query, keys, **(arguments(heads) | {"n_bands": 5}))
