"""Virtual heads: two heads in a row, run one after the other."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from numerics.circuits.factors import Factors
from numerics.circuits.virtual import virtual_output, virtual_pattern, virtual_seen
from tests.circuits.strategies import close, rngs, two_heads
from tests.circuits.test_behaviours import causal, random_pattern


@given(two_heads(), rngs(), st.integers(1, 9))
def test_two_heads_in_a_row_are_the_virtual_head(
    pair: tuple[Factors, Factors], rng: np.random.Generator, length: int
) -> None:
    """`Formal.virtual_head`: A₂ (A₁ X OV₁ᵀ) OV₂ᵀ = (A₂A₁) X (OV₂OV₁)ᵀ."""
    earlier, later = pair
    first, second = random_pattern(rng, causal(length), 2)
    x = rng.standard_normal((length, earlier.value.shape[1]))
    in_a_row = second @ (first @ x @ earlier.value.T @ earlier.output.T) @ later.value.T @ later.output.T
    joined = virtual_output(earlier, later)
    at_once = virtual_pattern(second, first) @ x @ joined.value.T @ joined.output.T
    assert close(at_once, in_a_row)
    assert joined.value.shape == (len(later.value), earlier.value.shape[1])


@given(rngs(), st.integers(1, 9), st.none() | st.integers(1, 4), st.none() | st.integers(1, 4))
def test_the_pattern_of_a_virtual_head_is_a_causal_pattern(
    rng: np.random.Generator, length: int, window_1: int | None, window_2: int | None
) -> None:
    """`Formal.virtual_pattern_is_pattern`, `Formal.virtual_pattern_causal`; it reaches as far as both windows."""
    seen_1, seen_2 = causal(length, window_1), causal(length, window_2)
    pattern = virtual_pattern(random_pattern(rng, seen_2), random_pattern(rng, seen_1))
    assert close(pattern.sum(axis=-1), np.ones(pattern.shape[:-1]))
    seen = virtual_seen(seen_2, seen_1)
    assert np.array_equal(seen, causal(length, (window_1 or length) + (window_2 or length) - 1))
    assert not pattern[:, ~seen].any()
    assert (pattern[:, seen] > 0).all()
