"""Quadrature over the path s ∈ [0, 1] from uniform attention to the head's own, and how it refines.

`p(s) = softmax(s·x)` is analytic up to the zeros of its denominator. With two levels of score, Δ apart, these lie at
`s = (log ratio + iπ)/Δ`: far from [0, 1] for scores of usual size, so Gauss–Legendre nodes converge fast; near 0 for a
sink, Δ ≫ log N, but never closer to the path than a fixed share (about π/log N) of their distance from 0. Panels that
halve towards 0 therefore converge whatever the scores.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float64]

NODES = (16, 32, 64)
ENOUGH = 32
"""Residuals of so many rows or keys are not all small by chance; one alone can vanish far from convergence."""

PANEL_NODES = 16
FLAT = 4.0
"""Range of scores that a panel covers to rounding: the pole iπ/4 is π/2 half-widths off: (1.57 + 1.86)^−32 = 7e-18."""
DEEPEST = 40


class Rule(NamedTuple):
    """Nodes in (0, 1) and their positive weights, which sum to 1."""

    nodes: Float
    weights: Float

    @property
    def paired(self) -> bool:
        """Whether the nodes are pairs s, 1 − s of equal weight, as Gauss–Legendre nodes of even number are."""
        nodes, weights = self
        if len(nodes) % 2 or np.abs(nodes + nodes[::-1] - 1).max() > 1e-15:
            return False
        return bool(np.abs(weights - weights[::-1]).max() <= 1e-15)


@cache
def gauss_legendre(n: int) -> Rule:
    """The n-point Gauss–Legendre rule on [0, 1]: exact for polynomials of degree 2n − 1."""
    nodes, weights = np.polynomial.legendre.leggauss(n)
    return Rule((nodes + 1) / 2, weights / 2)


def graded(spread: float) -> Rule:
    """16 nodes on each of the panels `[0, 2^−P], [2^−P, 2^(1−P)], …, [1/2, 1]`; the first spans scores of range ≤ 4.

    `spread` is the range of the scores; P is at most 40, where rounding rules.
    """
    depth = min(DEEPEST, math.ceil(math.log2(max(spread / FLAT, 1.0))))
    edges = np.concatenate(([0.0], 0.5 ** np.arange(depth, -1, -1)))
    base, widths = gauss_legendre(PANEL_NODES), np.diff(edges)
    nodes = edges[:-1, None] + widths[:, None] * base.nodes
    return Rule(nodes.ravel(), (widths[:, None] * base.weights).ravel())


def refinements(spread: float, residuals: int) -> Iterator[Rule]:
    """Rules to try in turn until a residual is small: 16, 32, 64 nodes, then graded panels.

    `residuals` is how many rows (or keys) the residual is the maximum of; below 32 it proves little, and only the
    graded rule, which needs no proof, is given.
    """
    if residuals >= ENOUGH:
        yield from (gauss_legendre(n) for n in NODES)
    yield graded(spread)
