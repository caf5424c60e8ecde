"""Hypothesis strategies for heads and forms."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

Float = NDArray[np.float64]


@st.composite
def integer_heads(draw: st.DrawFn) -> tuple[Float, Float]:
    """`W_K`, `W_Q` (n, D) with small whole entries: forms are exact in float64, and ties, zero, equal and low-rank
    matrices are common."""
    n, width = draw(st.integers(1, 5)), draw(st.integers(1, 14))
    entries = st.integers(-3, 3)
    W_K = draw(hnp.arrays(np.int64, (n, width), elements=entries)).astype(np.float64)
    W_Q = draw(st.one_of(st.just(W_K), hnp.arrays(np.int64, (n, width), elements=entries))).astype(np.float64)
    return W_K, W_Q


@st.composite
def normal_heads(draw: st.DrawFn) -> tuple[Float, Float]:
    """`W_K`, `W_Q` (n, D) with normal entries, of any shape, tall (Gram path) as well as short."""
    n, width = draw(st.integers(1, 9)), draw(st.integers(1, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    W_K, W_Q = rng.standard_normal((2, n, width))
    return W_K, W_Q


heads = st.one_of(integer_heads(), normal_heads())


@st.composite
def square_forms(draw: st.DrawFn) -> Float:
    """Square forms with small whole entries, and normal ones."""
    size = draw(st.integers(1, 7))
    whole = hnp.arrays(np.int64, (size, size), elements=st.integers(-3, 3)).map(lambda L: L.astype(np.float64))
    normal = st.integers(0, 2**32 - 1).map(lambda seed: np.random.default_rng(seed).standard_normal((size, size)))
    return draw(st.one_of(whole, normal))


def orthogonal(rng: np.random.Generator, size: int) -> Float:
    """A random orthogonal matrix."""
    q, _ = np.linalg.qr(rng.standard_normal((size, size)))
    return q
