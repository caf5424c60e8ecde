"""What a head attends to on repeated random tokens: the previous one, the earlier copy, the token after it, the first.

With period r and query i in the second or a later copy: previous token `A[i, i−1]`, duplicate `A[i, i−r]`, induction
(prefix matching: the token that followed this one last time) `A[i, i−r+1]`, first token `A[i, 0]`.
A bidirectional head has the same four numbers; its keys after the query are in none of them, and what it shows of
induction foretells nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float64]
Bool = NDArray[np.bool_]
Ints = NDArray[np.int64]

ATTENDED = ("previous_token", "duplicate_token", "induction", "first_token")
"""The behaviours that a pattern shows, in the order of `attended`."""


class Repetition(NamedTuple):
    """`copies` copies of `period` tokens after `start` others."""

    start: int
    period: int
    copies: int

    @property
    def length(self) -> int:
        return self.start + self.copies * self.period

    @property
    def queries(self) -> Ints:
        """Positions of the second and later copies."""
        return np.arange(self.start + self.period, self.length)

    @property
    def keys(self) -> Ints:
        """(4, I): the key of each behaviour for each query."""
        i = self.queries
        return np.stack([i - 1, i - self.period, i - self.period + 1, np.zeros_like(i)])


def attended(pattern: Float, seen: Bool, repetition: Repetition) -> Float:
    """Mean over queries of the attention to each behaviour's key: `pattern` (…, T, T) to (…, 4).

    `seen` (T, T) says which keys a query may attend to. Queries that may not see the key are left out; NaN where none
    may (a window shorter than the period hides the earlier copy). Each is in [0, 1], being a mean of probabilities.
    """
    queries, keys = repetition.queries, repetition.keys
    attention = pattern[..., queries, keys]
    visible = seen[queries, keys]
    count = visible.sum(axis=-1)
    total = attention.sum(axis=-1)  # a pattern is zero where the key is not seen
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)
