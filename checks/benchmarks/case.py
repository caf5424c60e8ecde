"""What one benchmark is: paths of one operation at one size, held to one another before any of them is timed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Calls = Mapping[str, Callable[[], Any]]


@dataclass(frozen=True)
class Case:
    """`build` makes the inputs and gives a call per path; `error` is their largest disagreement over what is allowed.

    `T` tokens and `bands` as they stand in the rows. Every path is called `rounds` times in each of `turns` turns.
    `threads` are those that BLAS and OpenMP may use, None for as many as they like. `peak` is the memory in bytes that
    a call holds at most, where that is not the process's own (a GPU's).
    """

    op: str
    paths: tuple[str, ...]
    build: Callable[[], Calls]
    error: Callable[[Calls], float]
    T: int | None = None
    bands: int | None = None
    turns: int = 5
    rounds: int = 1
    threads: int | None = 1
    peak: Callable[[Callable[[], Any]], int] | None = None

    @property
    def key(self) -> str:
        return self.op if self.T is None else f"{self.op}, T={self.T}"


def apart(allowed: float, relative: bool = False) -> Callable[[Calls], float]:
    """Largest difference of any path's numbers from the first path's, in units of `allowed`.

    `relative`: in units of `allowed` times the largest number of the first path.
    """

    def error(calls: Calls) -> float:
        first, *others = (np.asarray(call()) for call in calls.values())
        unit = allowed * (float(np.abs(first).max()) if relative else 1.0)
        return max((float(np.abs(other - first).max()) / unit for other in others), default=0.0)

    return error
