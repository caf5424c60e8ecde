"""Hypothesis strategies for what attention heads are made of, with the edges that break code.

For tests of numerics and of code that builds on it. Each strategy draws float64 and shrinks towards plain cases::

    from hypothesis import given
    from numerics.testing import score_rows

    @given(score_rows())
    def test_softmax(scores): ...

Needs the extra `test`: without Hypothesis the import of this module is a MissingExtra.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from numerics.errors import MissingExtra
from numerics.models.rotary import Pairing, RotaryTable, rotary_table

try:
    from hypothesis import strategies as st
except ModuleNotFoundError as error:
    if error.name != "hypothesis":
        raise
    raise MissingExtra("numerics.testing", "test") from error

Float = NDArray[np.float64]

__all__ = ["orthogonal_matrices", "rotary_tables", "score_rows", "spectra", "token_distributions"]

PAIRINGS: tuple[Pairing, ...] = ("half", "interleaved")
LARGEST_SCORE = 1e300
"""Scores reach ±1e300: exp of one overflows, and a mask of −1e5, or of the lowest float32, lies above some of them."""


@st.composite
def orthogonal_matrices(draw: st.DrawFn, max_size: int = 8) -> Float:
    """Orthogonal Q (n, n), 1 ≤ n ≤ `max_size`: `QᵀQ = 1` to n·8·eps in every entry.

    The identity, signed permutations (exact), reflections at small whole vectors, and dense ones drawn uniformly; of
    both determinants. Harder to satisfy than dense ones alone: entries that are exactly 0 or ±1, repeated eigenvalues.
    """
    size = draw(st.integers(1, max_size))
    kind = draw(st.sampled_from(("signed permutation", "reflection", "dense")))
    if kind == "signed permutation":
        order = draw(st.permutations(range(size)))
        signs = draw(st.lists(st.sampled_from((1.0, -1.0)), min_size=size, max_size=size))
        Q: Float = np.eye(size)[order] * np.array(signs)
        return Q
    if kind == "reflection":
        v = np.array(draw(st.lists(st.integers(-3, 3), min_size=size, max_size=size).filter(any)), dtype=np.float64)
        return np.asarray(np.eye(size) - 2 * np.outer(v, v) / (v @ v))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    Q, R = np.linalg.qr(rng.standard_normal((size, size)))
    return np.asarray(Q * np.where(np.diag(R) < 0, -1.0, 1.0))  # without the signs QR would not be uniform


@st.composite
def spectra(draw: st.DrawFn, max_size: int = 12) -> Float:
    """Eigenvalues (r,), 1 ≤ r ≤ `max_size`, in any order, with ties: few different values, many times each.

    Zeros, all zero, one sign only, values paired with their opposites (the two lobes of a form of type II), and values
    from 1e-8 to 1e8 side by side all occur.
    """
    sizes = st.one_of(
        st.integers(0, 3).map(float),
        st.floats(-8, 8).map(lambda exponent: 10.0**exponent),
    )
    values = draw(st.lists(st.builds(math.copysign, sizes, st.sampled_from((1.0, -1.0))), min_size=1, max_size=4))
    if draw(st.booleans()):
        values += [-value for value in values]
    repeats = draw(st.lists(st.sampled_from(values), min_size=1, max_size=max_size))
    return np.array(repeats) + 0.0  # no negative zero


@st.composite
def score_rows(draw: st.DrawFn, max_rows: int = 4, max_keys: int = 9) -> Float:
    """Pre-softmax scores (R, N): in each row some key is seen; those that are not have the score −∞, a hard zero.

    Scores are of usual size, equal, or huge (to ±1e300), and one row may mix them; or all that are seen lie far below
    any finite mask. A row may have a single key.
    """
    rows, keys = draw(st.integers(1, max_rows)), draw(st.integers(1, max_keys))
    usual, unseen = st.floats(-30, 30), st.just(-math.inf)
    low = st.sampled_from((-1e5, -3.5e38, -LARGEST_SCORE))
    high = st.sampled_from((0.0, 1.0, 1e5, 3.5e38, LARGEST_SCORE))
    found = np.empty((rows, keys))
    for row in range(rows):
        kinds = draw(st.sampled_from(((usual,), (usual, unseen), (low, unseen), (usual, low, high, unseen))))
        found[row] = draw(st.lists(st.one_of(kinds), min_size=keys, max_size=keys))
        if np.isneginf(found[row]).all():
            found[row, draw(st.integers(0, keys - 1))] = draw(kinds[0])
    return found


@st.composite
def rotary_tables(draw: st.DrawFn, max_bands: int = 6) -> RotaryTable:
    """Rotary configurations: both layouts, all and a part of the dims rotating, the types that configs name.

    Wavelengths run from a few tokens to millions; a default table's bands have all different ones, some tables turn
    two bands alike or one not at all (frequency 0). `attention_scaling` differs from 1 for YaRN and LongRoPE.
    """
    bands, rest = draw(st.integers(1, max_bands)), draw(st.sampled_from((0, 0, 1, 2, 5)))
    pairing: Pairing = draw(st.sampled_from(PAIRINGS))
    kind = draw(st.sampled_from(("default", "linear", "llama3", "yarn", "longrope", "given")))
    head_dim, original = 2 * bands + rest, draw(st.sampled_from((32, 512, 8192)))
    if kind == "given":
        frequencies = draw(st.lists(st.sampled_from((0.0, 1e-6, 0.25, 1.0, 3.0)), min_size=bands, max_size=bands))
        return RotaryTable(head_dim, pairing, np.array(frequencies), draw(st.sampled_from((1.0, 0.5, 1.25))))
    factor = draw(st.sampled_from((1.0, 2.0, 8.0)))
    parameters = {
        "rope_type": kind,
        "rope_theta": draw(st.sampled_from((100.0, 1e4, 5e5))),
        "factor": factor,
        "original_max_position_embeddings": original,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "short_factor": [1.0 + place / 2 for place in range(bands)],
    }
    return rotary_table(
        parameters,
        head_dim=head_dim,
        pairing=pairing,
        max_positions=int(original * factor),
        model="a drawn table",
        rotary_dim=2 * bands,
    )


@st.composite
def token_distributions(draw: st.DrawFn, max_tokens: int = 12) -> Float:
    """Probabilities (V,) over tokens: ≥ 0, sum 1 to V·eps.

    Uniform on a part of the tokens, one-hot (entropy exactly 0), by Zipf's law in any order, and any proportions of
    small counts; zeros are hard, and some masses are as small as 1e-300.
    """
    tokens = draw(st.integers(1, max_tokens))
    kind = draw(st.sampled_from(("uniform", "counts", "zipf", "tiny")))
    if kind == "zipf":
        mass = 1.0 / np.arange(1, tokens + 1)[draw(st.permutations(range(tokens)))]
    else:
        highest = {"uniform": 1, "counts": 5, "tiny": 2}[kind]
        mass = np.array(draw(st.lists(st.integers(0, highest), min_size=tokens, max_size=tokens).filter(any)), float)
        if kind == "tiny" and (mass > 1).any():
            mass[mass == 1] = 1e-300
    return np.asarray(mass / mass.sum())
