"""What a subject states of one drawn input, and how it is written in Lean."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis.strategies import SearchStrategy

from checks.certified.exact import rational


@dataclass(frozen=True)
class Number:
    """`formal`, a closed term over the definitions of `Formal/`, is said to have the value that the code gave."""

    formal: str
    value: Fraction

    def off_by_one(self) -> Number:
        """The same with one more in the numerator: a wrong number."""
        return replace(self, value=self.value + Fraction(1, self.value.denominator))


@dataclass(frozen=True)
class Subject:
    """A part of the code whose numbers are certified.

    `draw` gives the numbers of one drawn input; `code` names the functions that made them, and `way` how they were run
    (`exact.py`); `definitions` are the names of `Formal/` that the numbers speak of. `at_most`: of long
    statements a few will do.
    """

    name: str
    imports: tuple[str, ...]
    definitions: tuple[str, ...]
    code: tuple[str, ...]
    way: str
    draw: SearchStrategy[list[Number]]
    at_most: int | None = None


def number(formal: str, value: Any) -> Number:
    """A statement about what a function returned."""
    return Number(formal, rational(value))


def fraction(value: Any) -> str:
    """`-3/4`, `2`: parsed by Lean as the rational it is."""
    found = rational(value)
    return str(found.numerator) if found.denominator == 1 else f"{found.numerator}/{found.denominator}"


def entry(value: Any) -> str:
    """`(-3, 4)`: an entry of the lists of a module (`modules.py`)."""
    found = rational(value)
    return f"({found.numerator}, {found.denominator})"


def listed(items: Iterable[str]) -> str:
    return f"[{', '.join(items)}]"


def vector(values: Iterable[Any]) -> str:
    """`(vec [(1, 2), (-3, 1)])`, a function on `Fin n`."""
    return f"(vec {listed(entry(value) for value in values)})"


def matrix(rows: Iterable[Iterable[Any]]) -> str:
    """`(mat [[(1, 1), (2, 1)], [(1, 3), (0, 1)]])`."""
    return f"(mat {listed(listed(entry(value) for value in row) for row in rows)})"


def sized(term: str, rows: int, columns: int) -> str:
    """A matrix whose shape cannot be found by unification."""
    return f"({term} : Mat Rat {rows} {columns})"


def pair(values: Any) -> str:
    """`(1/2, -3)`."""
    first, second = values
    return f"({fraction(first)}, {fraction(second)})"


def pairs(values: Iterable[Any]) -> str:
    """A function on `Fin n` whose values are pairs: the entries of all of them, one after the other."""
    return f"(duo {listed(entry(value) for both in values for value in both)})"


def truths(values: Iterable[Any]) -> str:
    """`(truth [true, false])`."""
    return f"(truth {listed('true' if value else 'false' for value in np.asarray(values, dtype=bool))})"
