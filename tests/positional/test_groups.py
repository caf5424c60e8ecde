"""Groups of heads are cliques within ε, and unlike pairs are listed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numerics.errors import InvalidArgument
from numerics.positional.groups import groups, pairwise_variation, ruled_out
from numerics.positional.spread import total_variation
from tests.positional.strategies import Float, close


def drawn_kernels(seed: int, heads: int) -> Float:
    rng = np.random.default_rng(seed)
    centres = rng.dirichlet(np.full(8, 0.3), size=(3, 2))
    return 0.8 * centres[rng.integers(3, size=heads)] + 0.2 * rng.dirichlet(np.full(8, 0.3), size=(heads, 2))


@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.floats(0, 1))
def test_groups_are_cliques_that_cannot_be_joined(seed: int, heads: int, within: float) -> None:
    variation = pairwise_variation(drawn_kernels(seed, heads))
    labels = groups(variation, within)
    first_seen = list(dict.fromkeys(labels.tolist()))
    assert first_seen == list(range(len(first_seen)))
    members = [np.flatnonzero(labels == label) for label in first_seen]
    for a, group in enumerate(members):
        assert variation[np.ix_(group, group)].max() <= within
        for other in members[:a]:
            assert variation[np.ix_(group, other)].max() > within


@given(st.integers(0, 2**32 - 1), st.integers(2, 10))
def test_groups_do_not_know_the_order_of_heads(seed: int, heads: int) -> None:
    variation = pairwise_variation(drawn_kernels(seed, heads))
    order = np.random.default_rng(seed).permutation(heads)
    together = groups(variation, 0.3)[:, None] == groups(variation, 0.3)
    permuted = groups(variation[np.ix_(order, order)], 0.3)
    assert np.array_equal(permuted[:, None] == permuted, together[np.ix_(order, order)])


@given(st.integers(0, 2**32 - 1), st.integers(1, 6))
def test_variation_of_pairs(seed: int, heads: int) -> None:
    kernels = drawn_kernels(seed, heads)
    expected = [[total_variation(p, q).mean() for q in kernels] for p in kernels]
    assert close(pairwise_variation(kernels), expected)


def test_a_chain_is_no_group() -> None:
    """0–1 and 1–2 are near, 0–2 is not: only the nearer pair is one."""
    variation = np.array([[0, 0.09, 0.17], [0.09, 0, 0.08], [0.17, 0.08, 0]])
    assert groups(variation, 0.1).tolist() == [0, 1, 1]


def test_unlike_pairs() -> None:
    variation = np.array([[0, 0.5, 0.9], [0.5, 0, 0.49], [0.9, 0.49, 0]])
    assert ruled_out(variation) == [(0, 1), (0, 2)]
    assert ruled_out(variation, 0.95) == []


def test_a_bound_that_is_no_number_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="from 0 to 1"):
        groups(np.zeros((2, 2)), float("nan"))
