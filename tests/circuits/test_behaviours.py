"""Behaviours on a repeated text, against sums written out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numerics.circuits.behaviours import ATTENDED, Repetition, attended
from tests.circuits.strategies import close, rngs

repetitions = st.builds(Repetition, st.integers(0, 2), st.integers(3, 8), st.integers(2, 4))


def causal(length: int, window: int | None = None) -> np.ndarray:
    distance = np.arange(length)[:, None] - np.arange(length)
    return (distance >= 0) & (distance < (window or length))


def random_pattern(rng: np.random.Generator, seen: np.ndarray, heads: int = 3) -> np.ndarray:
    weights = np.where(seen, rng.random((heads, *seen.shape)) ** 4, 0.0)
    return weights / weights.sum(axis=-1, keepdims=True)


@given(rngs(), repetitions, st.none() | st.integers(2, 12), st.booleans())
def test_mean_attention_written_out(
    rng: np.random.Generator, text: Repetition, window: int | None, bidirectional: bool
) -> None:
    seen = np.ones((text.length,) * 2, dtype=bool) if bidirectional else causal(text.length, window)
    pattern = random_pattern(rng, seen)
    found = attended(pattern, seen, text)
    for head in range(len(pattern)):
        for place, kind in enumerate(ATTENDED):
            values = []
            for i in range(text.start + text.period, text.length):
                key = {
                    "previous_token": i - 1,
                    "duplicate_token": i - text.period,
                    "induction": i - text.period + 1,
                    "first_token": 0,
                }[kind]
                if seen[i, key]:
                    values.append(pattern[head, i, key])
            if values:
                assert close(found[head, place], np.mean(values))
                assert 0 <= found[head, place] <= 1 + 1e-12
            else:
                assert np.isnan(found[head, place])


@pytest.mark.parametrize("kind", ATTENDED)
@pytest.mark.parametrize("copies", [2, 3])
def test_a_head_that_does_one_thing_scores_one(kind: str, copies: int) -> None:
    text = Repetition(1, 7, copies)
    offset = {"previous_token": 1, "duplicate_token": 7, "induction": 6, "first_token": 10**6}[kind]
    keys = np.maximum(np.arange(text.length) - offset, 0)
    pattern = np.eye(text.length)[keys]
    found = attended(pattern, causal(text.length), text)
    assert found.tolist() == [float(kind == other) for other in ATTENDED]


def test_a_window_shorter_than_the_period_hides_the_earlier_copy() -> None:
    text = Repetition(0, 8, 2)
    for window, hidden in [(7, [1, 2, 3]), (8, [1, 3]), (9, [])]:
        found = attended(random_pattern(np.random.default_rng(0), causal(16, window), 1), causal(16, window), text)[0]
        assert np.flatnonzero(np.isnan(found)).tolist() == hidden
