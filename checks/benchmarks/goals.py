"""What each comparison is meant to reach, and what the rows of a run say about it."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Goal:
    """`slow` over `fast` of one operation at one length, in median time or in peak bytes, is to be at least `times`."""

    op: str
    slow: str
    fast: str
    times: float
    T: int | None = None
    of: Literal["p50", "bytes"] = "p50"


@dataclass(frozen=True)
class Verdict:
    """A goal and what was measured; None where the run has no such rows."""

    goal: Goal
    ratio: float | None

    @property
    def met(self) -> bool | None:
        return None if self.ratio is None else self.ratio >= self.goal.times


def verdict(goal: Goal, rows: Sequence[Row]) -> Verdict:
    found = {row["path"]: row for row in rows if (row["op"], row["T"]) == (goal.op, goal.T)}
    if goal.slow not in found or goal.fast not in found:
        return Verdict(goal, None)
    slow, fast = found[goal.slow][goal.of], found[goal.fast][goal.of]
    return Verdict(goal, slow / fast if slow is not None and fast else None)


def exponents(rows: Sequence[Row]) -> dict[tuple[str, str], float]:
    """(operation, path) → slope of log p50 on log T by least squares, over the longer half of at least four lengths.

    The shorter half is mostly the cost of calling. Three lengths at least: the slope between two is that of chance.
    """
    points: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    for row in rows:
        if row["T"] is not None and row["p50"] > 0:
            points[row["op"], row["path"]].append((math.log(row["T"]), math.log(row["p50"])))
    slopes = {}
    for name, of_path in points.items():
        upper = sorted(of_path)[-max(3, -(-len(of_path) // 2)) :]
        if len(of_path) < 4:
            continue
        x, y = ([point[axis] for point in upper] for axis in (0, 1))
        centre = sum(x) / len(x)
        spread = sum((value - centre) ** 2 for value in x)
        slopes[name] = sum((a - centre) * b for a, b in zip(x, y, strict=True)) / spread
    return slopes
