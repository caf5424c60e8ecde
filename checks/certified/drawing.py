"""Hypothesis draws what is certified: the same seed, the same numbers, for one version of it and of the code."""

from __future__ import annotations

import random
from collections.abc import Iterable
from itertools import zip_longest

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded

from checks.certified.statements import Number, Subject

EXAMPLES_PER_NUMBER = 3
"""An input gives one number or more, but some inputs repeat."""


def inputs(subject: Subject, count: int, seed: int) -> list[list[Number]]:
    """The numbers of each of at most `count` drawn inputs, in the order they are drawn in."""
    found: list[list[Number]] = []

    @seeded(random.Random(f"{seed} {subject.name}").getrandbits(64))
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        derandomize=False,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(subject.draw)
    def collect(numbers: list[Number]) -> None:
        found.append(numbers)

    collect()
    return found


def numbers_of(subject: Subject, count: int, seed: int) -> list[Number]:
    """`count` different numbers, of each place in what an input gives as many as can be: so every kind is among them.

    Picked among those of all drawn inputs, since the first ones are all zero.
    """
    kinds = zip_longest(*inputs(subject, EXAMPLES_PER_NUMBER * count, seed))
    rng = random.Random(seed)
    picked = zip_longest(*(rng.sample(same, len(same)) for same in map(_different, kinds)))
    return _different(found for turn in picked for found in turn)[:count]


def _different(numbers: Iterable[Number | None]) -> list[Number]:
    return [found for found in dict.fromkeys(numbers) if found is not None]
