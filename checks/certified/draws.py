"""Small inputs, so that the kernel evaluates a definition fast; hard zeros, ties and equal rows are common."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from checks.certified.exact import Array, exact

Float = NDArray[np.float64]

PYTHAGOREAN = ((3, 4, 5), (4, 3, 5), (-3, 4, 5), (5, -12, 13), (8, 15, 17), (0, 1, 1), (1, 0, 1))
"""(x, y, r) with x² + y² = r²: turns with rational cosine and sine."""


def fractions() -> st.SearchStrategy[Fraction]:
    """n/d, |n| ≤ 6, d from 1 to 4."""
    return st.builds(Fraction, st.integers(-6, 6), st.integers(1, 4))


def dyadics() -> st.SearchStrategy[float]:
    """n/4, |n| ≤ 12: a few products and sums of them are exact in float64, in any order."""
    return st.integers(-12, 12).map(lambda n: n / 4)


@st.composite
def rational_arrays(draw: st.DrawFn, *shape: int) -> Array:
    """Object array of small fractions."""
    size = int(np.prod(shape))
    return exact(draw(st.lists(fractions(), min_size=size, max_size=size))).reshape(shape)


@st.composite
def dyadic_arrays(draw: st.DrawFn, *shape: int) -> Float:
    """float64 array of small dyadic numbers."""
    size = int(np.prod(shape))
    return np.array(draw(st.lists(dyadics(), min_size=size, max_size=size)), dtype=np.float64).reshape(shape)


@st.composite
def plane_vectors(draw: st.DrawFn, length: int) -> Array:
    """Vectors (2, length); those along the axes, where folding and angles have their edges, are as common as others."""
    axes = st.sampled_from(((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)))
    return exact(draw(st.lists(axes | st.tuples(fractions(), fractions()), min_size=length, max_size=length))).T


@st.composite
def distributions(draw: st.DrawFn, length: int) -> Array:
    """Rational weights (length,) ≥ 0 with sum 1, some of them zero."""
    counts = draw(st.lists(st.integers(0, 5), min_size=length, max_size=length).filter(any))
    return exact([Fraction(count, sum(counts)) for count in counts])


@st.composite
def patterns(draw: st.DrawFn, rows: int) -> Array:
    """Causal attention pattern (rows, rows): row i is a distribution over the keys up to i."""
    found = exact(np.zeros((rows, rows), dtype=int))
    for i in range(rows):
        found[i, : i + 1] = draw(distributions(i + 1))
    return found
