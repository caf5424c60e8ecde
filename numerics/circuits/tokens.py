"""Which tokens a measurement is made on: repeated random ones, and the most frequent of a text."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from numerics.errors import InvalidArgument

Ints = NDArray[np.int64]

MIN_PERIOD = 3
"""Below it two behaviours are one: at period 2 the token after the earlier copy is the previous token."""


def ordinary_ids(vocabulary: int, special: Iterable[int]) -> Ints:
    """Ids 0…`vocabulary`−1 without the special ones, in order."""
    return np.setdiff1d(np.arange(vocabulary), np.fromiter(special, dtype=np.int64))


def repeated_tokens(
    rng: np.random.Generator, pool: Ints, *, period: int, copies: int, start: tuple[int, ...] = ()
) -> Ints:
    """`start`, then `copies` copies of one draw of `period` distinct ids of `pool`: (len(start) + copies·period,).

    The ids of a copy are distinct, so a token has one earlier place in each copy and none in its own.
    Raises InvalidArgument for a period or a number of copies that cannot be used, or too small a pool.
    """
    if period < MIN_PERIOD:
        raise InvalidArgument(
            f"at period {period} the previous token and the earlier copy are one", f"use a period ≥ {MIN_PERIOD}"
        )
    if copies < 2:
        raise InvalidArgument(f"with {copies} copies nothing is repeated", "ask for 2 copies or more")
    if period > len(pool):
        raise InvalidArgument(
            f"{period} distinct tokens are asked for, the vocabulary has {len(pool)} ordinary ones",
            f"use a period ≤ {len(pool)}",
        )
    copy = rng.choice(pool, size=period, replace=False)
    return np.concatenate([np.array(start, dtype=np.int64), np.tile(copy, copies)])


def most_frequent(counts: Ints, pool: Ints, at_most: int) -> Ints:
    """`at_most` ids of `pool` that occur in a text (`counts` (V,)), the most frequent first, equal ones by id."""
    seen = pool[counts[pool] > 0]
    return seen[np.argsort(-counts[seen], kind="stable")][:at_most]
