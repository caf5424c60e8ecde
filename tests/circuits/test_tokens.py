"""Drawn tokens and chosen heads."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numerics.circuits.chosen import chosen_heads, head_name
from numerics.circuits.tokens import most_frequent, ordinary_ids, repeated_tokens
from numerics.errors import InvalidArgument
from tests.circuits.strategies import rngs


@given(rngs(), st.integers(3, 20), st.integers(2, 4), st.sets(st.integers(0, 49)), st.lists(st.integers(0, 3)))
def test_copies_are_equal_distinct_ordinary_and_after_the_start(
    rng: np.random.Generator, period: int, copies: int, special: set[int], start: list[int]
) -> None:
    pool = ordinary_ids(50, special)
    assert set(pool.tolist()) == set(range(50)) - special
    if period > len(pool):
        with pytest.raises(InvalidArgument, match="ordinary"):
            repeated_tokens(rng, pool, period=period, copies=copies)
        return
    ids = repeated_tokens(rng, pool, period=period, copies=copies, start=tuple(start))
    assert ids[: len(start)].tolist() == start
    body = ids[len(start) :].reshape(copies, period)
    assert (body == body[0]).all()
    assert len(set(body[0].tolist())) == period
    assert not set(body[0].tolist()) & special


def test_seeds_draw_differently_and_again_the_same() -> None:
    def draw(seed: int) -> list[int]:
        rng = np.random.default_rng(seed)
        return repeated_tokens(rng, np.arange(1000), period=20, copies=2).tolist()

    assert draw(0) == draw(0)
    assert draw(0) != draw(1)


@pytest.mark.parametrize(("period", "copies", "said"), [(2, 2, "period ≥ 3"), (64, 1, "2 copies"), (64, 2, "≤ 60")])
def test_what_cannot_be_repeated_is_refused(period: int, copies: int, said: str) -> None:
    with pytest.raises(InvalidArgument, match=said):
        repeated_tokens(np.random.default_rng(0), np.arange(60), period=period, copies=copies)


@given(st.lists(st.integers(0, 9), min_size=1), st.sets(st.integers(0, 9)), st.integers(1, 10))
def test_most_frequent_tokens_of_a_text(text: list[int], special: set[int], at_most: int) -> None:
    found = most_frequent(np.bincount(text, minlength=10), ordinary_ids(10, special), at_most)
    counted = Counter(i for i in text if i not in special)
    assert found.tolist() == sorted(counted, key=lambda i: (-counted[i], i))[:at_most]


def test_heads_by_name() -> None:
    assert chosen_heads("5.1, 0.2,5.1", 6, 4) == ((0, 2), (5, 1))
    assert chosen_heads([(5, 1), (0, 2)], 6, 4) == ((0, 2), (5, 1))
    assert chosen_heads(None, 6, 4) == ()
    assert head_name((5, 1)) == "5.1"


@pytest.mark.parametrize("names", ["5", "5.1.2", "a.b", "", "5,1", "-1.0"])
def test_a_name_that_is_none_is_refused(names: str) -> None:
    with pytest.raises(InvalidArgument, match=r"write layer\.head"):
        chosen_heads(names, 6, 4)


@pytest.mark.parametrize("names", ["6.0", "0.4"])
def test_a_head_that_the_model_lacks_is_refused(names: str) -> None:
    with pytest.raises(InvalidArgument, match="layers are 0 to 5, heads 0 to 3"):
        chosen_heads(names, 6, 4)
