"""The profile of a form: simplex, invariances, faces, vertices, types."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numerics.forms.coordinates import accumulating_curve, head_type, profile_coordinates, split_signs
from numerics.forms.description import describe
from numerics.forms.reference import profile_by_definition
from numerics.forms.spectrum import antisymmetric_energy, symmetric_part, symmetric_spectrum
from tests.forms.agreement import AGREEMENT, agree, on_simplex
from tests.forms.strategies import Float, orthogonal, square_forms

seeds = st.integers(0, 2**32 - 1)


def profile(L: Float) -> Float:
    return describe(L).profile


@given(square_forms())
def test_equals_the_definition_and_lies_on_the_simplex(L: Float) -> None:
    if not L.any():
        assert np.isnan(profile(L)).all()
        return
    assert on_simplex(profile(L))
    assert agree(profile(L), profile_by_definition(L), AGREEMENT)


@given(square_forms(), st.floats(1e-6, 1e6), seeds)
def test_scale_transpose_and_change_of_basis_leave_it(L: Float, factor: float, seed: int) -> None:
    U = orthogonal(np.random.default_rng(seed), len(L))
    assert agree(profile(factor * L), profile(L), AGREEMENT)
    assert agree(profile(L.T), profile(L), AGREEMENT)
    assert agree(profile(U.T @ L @ U), profile(L), AGREEMENT)


@given(square_forms())
def test_negation_swaps_c_and_d(L: Float) -> None:
    assert agree(profile(-L), profile(L)[[0, 1, 3, 2]], AGREEMENT)


@given(square_forms(), st.integers(1, 5))
def test_padding_with_zeros_leaves_it(L: Float, more: int) -> None:
    padded = np.zeros((len(L) + more, len(L) + more))
    padded[: len(L), : len(L)] = L
    assert agree(profile(padded), profile(L), AGREEMENT)
    assert agree(profile(padded[: len(L)]), profile(L), AGREEMENT)  # the zero rows left away


@given(square_forms())
def test_energy_splits(L: Float) -> None:
    whole, trace = float(np.sum(L**2)), float(np.trace(L @ L))
    symmetric = float(np.sum(symmetric_spectrum(L) ** 2))
    assert agree(symmetric + antisymmetric_energy(L), whole, AGREEMENT)
    assert agree(symmetric, (whole + trace) / 2, AGREEMENT)
    assert agree(antisymmetric_energy(L), (whole - trace) / 2, AGREEMENT)
    assert agree(np.sum(np.linalg.svd(L, compute_uv=False) ** 2), whole, AGREEMENT)


@given(square_forms(), st.integers(0, 6))
def test_rows_alone_stand_for_the_square_form(L: Float, rows: int) -> None:
    rows = min(rows, len(L) - 1) + 1
    square = L.copy()
    square[rows:] = 0
    assert agree(symmetric_part(L[:rows]), (square + square.T) / 2, 0.0)
    assert agree(antisymmetric_energy(L[:rows]), np.sum(((square - square.T) / 2) ** 2), AGREEMENT)


@given(square_forms())
def test_faces(L: Float) -> None:
    S, T = (L + L.T) / 2, (L - L.T) / 2
    if S.any():
        assert profile(S)[0] == 0
    if T.any():
        # A numerically antisymmetric form has eigenvalues of S that are exactly zero: S itself is.
        assert agree(profile(T), [1, 0, 0, 0], 0.0)
    if L.any():
        assert agree(profile(L @ L.T), [0, 0, 1, 0], AGREEMENT)
        assert agree(profile(-L @ L.T), [0, 0, 0, 1], AGREEMENT)


@given(square_forms())
def test_symmetric_spectrum_about_zero_is_the_vertex_b(L: Float) -> None:
    zero = np.zeros_like(L)
    if L.any():
        assert agree(profile(np.block([[zero, L], [L.T, zero]])), [0, 1, 0, 0], AGREEMENT)


def test_dominated_spectra_lie_on_the_faces_c_and_d() -> None:
    above = np.diag([3.0, 2.0, -2.0, -1.0])
    assert agree(profile(above), np.array([0, 2 * (6 + 2), 1 + 1, 0]) / 18, AGREEMENT)
    assert agree(profile(-above), np.array([0, 16, 0, 2]) / 18, AGREEMENT)
    mixed = np.diag([3.0, 0.5, -2.0, -1.0])  # λ₊ − λ₋ = (1, −½)
    assert agree(profile(mixed), np.array([0, 13, 1, 0.25]) / 14.25, AGREEMENT)


def test_pairs_are_formed_in_decreasing_order_whatever_the_input_order() -> None:
    positive, negative = split_signs(np.array([-1.0, 2.0, 0.0, -3.0, 5.0]))
    assert agree(positive, [5, 2, 0, 0, 0], 0.0)
    assert agree(negative, [3, 1, 0, 0, 0], 0.0)
    assert agree(profile_coordinates(np.array([-1.0, 2.0, -3.0, 5.0]), 1.0), np.array([1, 34, 5, 0]) / 40, AGREEMENT)


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        ([0.5, 0.5, 0.0, 0.0], "II"),
        ([0.5, 0.49, 0.01, 0.0], "II"),  # c' + d' = 0.02, the edge itself
        ([0.5, 0.48, 0.02, 0.0], "I+"),
        ([0.5, 0.48, 0.0, 0.02], "I-"),
        ([0.0, 0.0, 1.0, 0.0], "I+"),
        ([0.0, 0.0, 0.0, 1.0], "I-"),
        ([0.0, 0.5, 0.25, 0.25], "I-"),  # a tie is not c' > d'
        ([0.999, 0.0, 0.001, 0.0], "I+"),  # shares are of the symmetric part, however small
        ([1.0, 0.0, 0.0, 0.0], "antisymmetric"),
        ([np.nan] * 4, "zero"),
    ],
)
def test_type(profile: list[float], expected: str) -> None:
    assert head_type(np.array(profile)) == expected


def test_accumulating_curve_runs_where_a_is_b_and_c_or_d_is_zero() -> None:
    corners = accumulating_curve()
    for share in np.linspace(0, 1, 7):
        for start, end in pairwise(corners):
            a, b, c, d = (1 - share) * start + share * end
            assert a == b
            assert c * d == 0
            assert agree(a + b + c + d, 1, 1e-15)
    assert agree(corners[[0, -1]], [[0, 0, 1, 0], [0, 0, 0, 1]], 0.0)
