"""Losses against scipy, and the scores made of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import log_softmax

from numerics.circuits.behaviours import Repetition
from numerics.circuits.losses import (
    NEEDED,
    copy_losses,
    in_context_learning,
    needed_losses,
    smoothed_in_context_learning,
    token_losses,
)
from tests.circuits.strategies import close, rngs


@given(rngs(), st.integers(2, 70), st.integers(2, 9), st.sampled_from([1.0, 1e3]))
def test_token_losses_are_those_of_scipy(rng: np.random.Generator, length: int, size: int, scale: float) -> None:
    logits, ids = scale * rng.standard_normal((length, size)), rng.integers(0, size, length)
    found = token_losses(logits, ids)
    expected = -log_softmax(logits[:-1], axis=1)[np.arange(length - 1), ids[1:]]
    assert np.isnan(found[0])
    assert close(found[1:], expected)


def test_float32_logits_lose_nothing_more() -> None:
    logits = np.random.default_rng(0).standard_normal((5, 300)).astype(np.float32)
    ids = np.arange(5)
    assert np.array_equal(token_losses(logits, ids)[1:], token_losses(logits.astype(np.float64), ids)[1:])


def test_the_first_token_of_each_copy_is_left_out() -> None:
    text = Repetition(1, 3, 2)
    losses = np.array([np.nan, 100.0, 4.0, 6.0, 100.0, 1.0, 2.0])
    assert copy_losses(losses, text).tolist() == [5.0, 1.5]


def test_the_needed_losses_give_both_scores_from_42_rows() -> None:
    rng = np.random.default_rng(0)
    logits, ids = rng.standard_normal((512, 9)), rng.integers(0, 9, 512)
    every, some = token_losses(logits, ids), needed_losses(logits[NEEDED - 1], ids)
    assert len(NEEDED) == 42
    assert np.array_equal(np.flatnonzero(~np.isnan(some)), NEEDED)
    for score in (in_context_learning, smoothed_in_context_learning):
        assert score(some) == pytest.approx(score(every), rel=1e-12)


@pytest.mark.parametrize("place", [50, 500])
def test_in_context_learning_looks_at_tokens_50_and_500(place: int) -> None:
    losses = np.zeros(512)
    losses[place] = 21.0
    sign = 1 if place == 500 else -1
    assert in_context_learning(losses) == sign * 21.0
    assert smoothed_in_context_learning(losses) == pytest.approx(sign * 1.0)
    losses[place - 11] = losses[place + 11] = 7.0
    assert smoothed_in_context_learning(losses) == pytest.approx(sign * 1.0)
