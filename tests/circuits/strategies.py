"""Hypothesis strategies for heads, and one comparison for all tests of the room."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray

from numerics.circuits.factors import Factors

Float = NDArray[np.float64]

EXACT = 1e-10
"""Between two exact paths on numbers of size 1 to 100 with sums of at most a few hundred terms: 300·100·eps = 7e-12."""


def close(actual: ArrayLike, expected: ArrayLike, tolerance: float = EXACT) -> bool:
    """Same shape, both finite, and `|actual − expected| ≤ tolerance·max(1, |expected|)`."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    if actual.shape != expected.shape or not (np.isfinite(actual).all() and np.isfinite(expected).all()):
        return False
    return bool(np.all(np.abs(actual - expected) <= tolerance * np.maximum(1, np.abs(expected))))


def random_head(rng: np.random.Generator, n: int, n_v: int, width: int) -> Factors:
    q, k = rng.standard_normal((2, n, width))
    return Factors(q, k, rng.standard_normal((n_v, width)), rng.standard_normal((width, n_v)))


def orthonormal(rng: np.random.Generator, size: int) -> Float:
    return np.linalg.qr(rng.standard_normal((size, size)))[0]


def well_conditioned(rng: np.random.Generator, size: int) -> Float:
    """A change of basis of condition at most 4."""
    return orthonormal(rng, size) @ np.diag(rng.uniform(0.5, 2.0, size)) @ orthonormal(rng, size)


def rngs() -> st.SearchStrategy[np.random.Generator]:
    return st.integers(0, 2**32 - 1).map(np.random.default_rng)


@st.composite
def heads(draw: st.DrawFn, width: int | None = None) -> Factors:
    """A head of any shape: narrower, as wide as, or wider than the model; of full or lower rank."""
    rng = draw(rngs())
    width = width or draw(st.integers(1, 12))
    head = random_head(rng, draw(st.integers(1, 14)), draw(st.integers(1, 14)), width)
    if draw(st.booleans()):  # equal rows: rank one
        head = Factors(np.ones_like(head.query), head.key, np.ones_like(head.value), head.output)
    return head


@st.composite
def two_heads(draw: st.DrawFn) -> tuple[Factors, Factors]:
    width = draw(st.integers(1, 12))
    return draw(heads(width)), draw(heads(width))
