"""Hypothesis strategies for kernels, and one comparison for all tests of the room."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray

from numerics.positional.kernel import admissible_keys, positional_kernel

Float = NDArray[np.float64]

EXACT = 1e-10
"""Between two exact paths on numbers of size 1 to 100 with sums of at most 200 terms: 200·100·eps = 5e-12."""


def close(actual: ArrayLike, expected: ArrayLike, tolerance: float = EXACT) -> bool:
    """Same shape, both finite, and `|actual − expected| ≤ tolerance·max(1, |expected|)`."""
    actual, expected = np.asarray(actual, dtype=np.float64), np.asarray(expected, dtype=np.float64)
    if actual.shape != expected.shape or not (np.isfinite(actual).all() and np.isfinite(expected).all()):
        return False
    return bool(np.all(np.abs(actual - expected) <= tolerance * np.maximum(1, np.abs(expected))))


class Rows(NamedTuple):
    """Exponents (I, T) of some queries, and what belongs to them."""

    exponents: Float
    queries: NDArray[np.int64]
    admissible: NDArray[np.bool_]
    skip: int

    @property
    def kernel(self) -> Float:
        return positional_kernel(self.exponents, self.admissible, self.skip)

    @property
    def kept(self) -> NDArray[np.bool_]:
        """Admissible keys without the skipped ones."""
        return self.admissible & (np.arange(self.admissible.shape[-1]) >= self.skip)


@st.composite
def rows(draw: st.DrawFn) -> Rows:
    """Rows of exponents from flat to one-hot (in float64), causal or not, with or without window and skip."""
    length = draw(st.integers(2, 30))
    skip = draw(st.integers(0, min(5, length - 1)))
    queries = np.array(sorted(draw(st.sets(st.integers(skip, length - 1), min_size=1, max_size=6))), dtype=np.int64)
    causal = draw(st.booleans())
    # A window lets every query see itself, so no row is empty.
    window = draw(st.none() | st.integers(1, length))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    size = draw(st.sampled_from([0.0, 0.3, 3.0, 900.0]))
    exponents = size * rng.standard_normal((len(queries), length))
    return Rows(exponents, queries, admissible_keys(queries, length, causal=causal, window=window), skip)
