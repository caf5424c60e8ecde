"""Loss of a model's own predictions: on each copy of a repeated text, and late in a text against early in it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from numerics.circuits.behaviours import Repetition

Float = NDArray[np.float64]
Ints = NDArray[np.int64]

EARLY, LATE = 50, 500
"""Positions whose losses the in-context-learning score compares (Olsson et al., arXiv 2209.11895)."""

AROUND = 10
"""Tokens on each side of them that the smoothed score takes in."""

ROWS = 32
"""Rows of logits that are held in float64 at a time."""


NEEDED = np.concatenate([np.arange(place - AROUND, place + AROUND + 1) for place in (EARLY, LATE)])
"""Positions whose losses either score reads."""


def surprisals(logits: ArrayLike, ids: Ints) -> Float:
    """`−log softmax(logits)[id]` (K,) in nats of tokens `ids` (K,) under `logits` (K, V)."""
    logits = np.asarray(logits)
    found = np.empty(len(ids))
    for first in range(0, len(ids), ROWS):
        rows = slice(first, first + ROWS)
        block = logits[rows].astype(np.float64)
        top = block.max(axis=-1)
        own = block[np.arange(len(block)), ids[rows]]
        found[rows] = top - own + np.log(np.exp(block - top[:, None]).sum(axis=-1))
    return found


def token_losses(logits: ArrayLike, ids: Ints) -> Float:
    """`−log softmax(logits_{i−1})[id_i]` (T,) in nats for i ≥ 1, NaN for token 0: `logits` (T, V), `ids` (T,)."""
    return np.concatenate([[np.nan], surprisals(np.asarray(logits)[:-1], ids[1:])])


def needed_losses(logits: ArrayLike, ids: Ints) -> Float:
    """The same, NaN but for the `NEEDED` tokens, from the logits (K, V) of the places before these."""
    found = np.full(len(ids), np.nan)
    found[NEEDED] = surprisals(logits, ids[NEEDED])
    return found


def copy_losses(losses: Float, repetition: Repetition) -> Float:
    """Mean loss of each copy (copies,), without its first token, which no repetition foretells in the second copy."""
    by_copy = losses[repetition.start :].reshape(repetition.copies, repetition.period)
    mean: Float = by_copy[:, 1:].mean(axis=1)
    return mean


def in_context_learning(losses: Float) -> float:
    """Loss of token 500 minus that of token 50 of one text (≥ 501 tokens): negative where context helps."""
    return float(losses[LATE] - losses[EARLY])


def smoothed_in_context_learning(losses: Float) -> float:
    """The same with the mean loss of the 21 tokens around each: far less noise (text of ≥ 511 tokens)."""
    late, early = (losses[place - AROUND : place + AROUND + 1].mean() for place in (LATE, EARLY))
    return float(late - early)
