"""Extras of a form, and the defined answers of degenerate ones."""

import math

import numpy as np
from hypothesis import given

from numerics.forms.description import describe
from numerics.forms.reference import extras_by_definition
from tests.forms.agreement import AGREEMENT, agree
from tests.forms.strategies import Float, square_forms


@given(square_forms())
def test_extras_equal_their_definitions(L: Float) -> None:
    if not (L + L.T).any():
        return
    numbers = describe(L)
    for name, expected in extras_by_definition(L).items():
        # The square root of pairing turns an error ε near λ₊ = λ₋ into √ε.
        tolerance = AGREEMENT**0.5 if name == "pairing" else AGREEMENT
        assert agree(getattr(numbers, name), expected, tolerance), name
    assert agree(numbers.spectrum, np.linalg.eigvalsh(L + L.T)[::-1] / 2 / np.linalg.norm(L), AGREEMENT)


def test_pairing_keeps_its_digits_where_eigenvalues_do_not_pair() -> None:
    L = np.diag([3.0, 2.0, -1.0])
    assert agree(describe(L).pairing, 1 - math.sqrt(8 / 14), AGREEMENT)


def test_zero_form_is_four_nan_of_type_zero() -> None:
    numbers = describe(np.zeros((3, 5)))
    assert numbers.type == "zero"
    assert np.isnan(numbers.profile).all()
    assert (numbers.n_positive, numbers.n_negative) == (0, 0)
    assert not numbers.spectrum.any()
    for name in ("symmetric_energy", "pairing", "balance", "participation_ratio", "stable_rank", "trace_ratio"):
        assert math.isnan(getattr(numbers, name)), name


def test_antisymmetric_form_has_no_symmetric_numbers() -> None:
    numbers = describe(np.array([[0.0, 2.0], [-2.0, 0.0]]))
    assert numbers.type == "antisymmetric"
    assert agree(numbers.profile, [1, 0, 0, 0], 0.0)
    assert math.isnan(numbers.pairing)
    assert math.isnan(numbers.balance)
    assert numbers.symmetric_energy == 0
    assert numbers.trace_ratio == 0
    assert agree([numbers.participation_ratio, numbers.stable_rank], [2, 2], AGREEMENT)
    assert (numbers.n_positive, numbers.n_negative) == (0, 0)


def test_rank_one_symmetric_forms_are_the_vertices_c_and_d() -> None:
    u = np.arange(1.0, 5.0)
    for sign, vertex, kind in ((1, [0, 0, 1, 0], "I+"), (-1, [0, 0, 0, 1], "I-")):
        numbers = describe(sign * np.outer(u, u))
        assert agree(numbers.profile, vertex, AGREEMENT)
        assert numbers.type == kind
        assert (numbers.n_positive, numbers.n_negative) == ((1, 0) if sign > 0 else (0, 1))
        assert agree([numbers.participation_ratio, numbers.stable_rank], [1, 1], AGREEMENT)
        assert agree(numbers.trace_ratio, sign, AGREEMENT)
        assert agree([numbers.pairing, numbers.balance], [0, 0], 1e-7)


def test_orthogonal_key_and_query_of_rank_one_are_half_a_half_b() -> None:
    numbers = describe(np.outer([1.0, 0.0], [0.0, 1.0]))
    assert agree(numbers.profile, [0.5, 0.5, 0, 0], AGREEMENT)
    assert numbers.type == "II"
    assert (numbers.n_positive, numbers.n_negative, numbers.balance) == (1, 1, 1)
    assert agree(numbers.pairing, 1, 1e-7)


def test_identity_counts_every_eigenvalue() -> None:
    numbers = describe(np.eye(7))
    assert (numbers.n_positive, numbers.n_negative, numbers.balance) == (7, 0, 0)
    assert agree([numbers.participation_ratio, numbers.stable_rank, numbers.trace_ratio], [7, 7, 7**0.5], AGREEMENT)


def test_eigenvalues_below_a_billionth_of_the_largest_are_not_counted() -> None:
    numbers = describe(np.diag([1.0, 2e-9, 0.5e-9, -2e-9, -0.5e-9]))
    assert (numbers.n_positive, numbers.n_negative) == (2, 1)


def test_what_is_within_the_noise_counts_as_zero() -> None:
    turned = np.array([[1e-13, 1.0], [-1.0, 0.0]])
    assert describe(turned, noise=1e-12).type == "antisymmetric"
    assert describe(turned).type == "I+"
    assert describe(1e-13 * turned, noise=1e-12).type == "zero"
    nearly = np.diag([1e-5, 1e-13]) + 5 * turned  # the smaller eigenvalue of S is noise, though 1e-8 of the larger
    assert describe(nearly, noise=1e-12).n_positive == 1
