"""Rationals inside numpy stay rationals, and the same code run on them is the code that ships."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from checks.certified.exact import Exact, Root, exact, exactly, rational, squared
from numerics.bands.activation import loops
from numerics.forms.coordinates import profile_coordinates
from numerics.forms.spectrum import antisymmetric_energy
from numerics.models import rotary
from numerics.positional import denominators
from numerics.positional.spread import effective_token_count
from numerics.testing import orthogonal_matrices, rotary_tables, spectra, token_distributions

Float = NDArray[np.float64]

FRACTIONS = st.fractions(min_value=-9, max_value=9, max_denominator=9)
FLOATS = st.floats(-9, 9)


@given(FRACTIONS, st.one_of(FRACTIONS, FLOATS, st.integers(-9, 9)))
def test_arithmetic_with_anything_rational_is_exact_and_stays_exact(x: Fraction, other: object) -> None:
    y = rational(other)
    found = {
        Exact(x) + other: x + y,
        other + Exact(x): y + x,
        Exact(x) - other: x - y,
        other - Exact(x): y - x,
        Exact(x) * other: x * y,
        other * Exact(x): y * x,
        -Exact(x): -x,
        abs(Exact(x)): abs(x),
        Exact(x) ** 2: x * x,
    }
    if y:
        found[Exact(x) / other] = x / y
    if x:
        found[other / Exact(x)] = y / x
    for value, expected in found.items():
        assert type(value) is Exact
        assert value == expected


@given(FRACTIONS, st.floats(allow_nan=False, allow_infinity=False))
def test_comparison_with_a_float_is_exact(x: Fraction, y: float) -> None:
    assert (Exact(x) < y) == (x < Fraction(y))
    assert (Exact(x) == y) == (x == Fraction(y))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "1/2", None, Root(Fraction(2))])
def test_what_is_no_rational_number_is_refused(value: object) -> None:
    with pytest.raises((TypeError, ValueError, OverflowError)):
        rational(value)


def test_numpy_keeps_rationals_through_sums_products_choices_and_roots() -> None:
    x = exact([[Fraction(1, 3), 2], [0, Fraction(-5, 7)]])
    for found in (x @ x, x.sum(axis=0), np.where(x > 0, x, 0.0) * x, np.einsum("ij,ij->i", x, x), np.abs(x) / 3):
        assert all(type(value) is Exact for value in np.ravel(found))
    assert np.einsum("ij,ij->i", x, x).tolist() == [Fraction(37, 9), Fraction(25, 49)]
    assert squared(np.sqrt(x[0])[0]) == Fraction(1, 3)


def test_a_root_that_is_not_taken_cannot_pass_for_a_number() -> None:
    with pytest.raises(TypeError):
        Root(Fraction(2)) + 1  # type: ignore[operator]


def test_code_with_casts_to_float64_runs_on_rationals() -> None:
    table = rotary.RotaryTable(3, "half", np.zeros(1))
    cos, sin = exact([Fraction(3, 5)]), exact([Fraction(4, 5)])
    turned = exactly(rotary.turn)(table, exact([1, Fraction(1, 3), 2]), cos, sin)
    assert turned.tolist() == [Fraction(1, 3), 1, 2]
    assert rotary.turn(table, exact([1, Fraction(1, 3), 2]), cos, sin).dtype == np.float64  # as shipped it casts


def test_the_functions_that_a_function_calls_are_run_on_rationals_too() -> None:
    t = Fraction(1, 3)
    assert exactly(denominators.chebyshev_bound)(t, Fraction(1, 7), Fraction(1, 5)) == Fraction(9, 35)
    with pytest.raises(Exception, match="t ≤ 0"):
        exactly(denominators.chebyshev_bound)(Fraction(0), Fraction(1), Fraction(1))


def test_a_compiled_loop_is_run_as_the_python_it_was_written_in() -> None:
    q, k = exact([[[[1, 2], [Fraction(1, 3), 0]]]]), exact([[[1, Fraction(1, 2)], [0, 1]]])
    rows = np.empty((1, 1, 2), dtype=object)
    exactly(loops.direct)(q, k, 2, rows)
    assert rows.ravel().tolist() == [1, 3]


def test_the_function_itself_stays_as_it_is() -> None:
    before = dict(rotary.turn.__globals__)
    exactly(rotary.turn)
    assert rotary.turn.__globals__ == before
    assert rotary.turn.__globals__["np"] is np


# ---- on floats, taken for the rationals they are, the exact result is the float result to rounding


@given(token_distributions())
def test_effective_tokens_without_rounding(p: Float) -> None:
    # one sum of n ≤ 12 squares and one division, all terms positive: (n + 3) roundings of eps/2, relative
    assert effective_token_count(p) == pytest.approx(float(effective_token_count(exact(p))), rel=2e-15)


@given(spectra(), orthogonal_matrices(4))
def test_a_profile_without_rounding(eigenvalues: Float, Q: Float) -> None:
    energy = antisymmetric_energy(Q)
    found, expected = (
        profile_coordinates(eigenvalues, energy),
        profile_coordinates(exact(eigenvalues), rational(energy)),
    )
    # shares of sums of at most 12 squares of differences, each off by some eps of the largest square: absolute
    for value, share in zip(found, expected, strict=True):
        assert np.isnan(value) if not isinstance(share, Fraction) else abs(value - float(share)) <= 1e-14


@given(rotary_tables(), st.integers(0, 50))
def test_a_turn_without_rounding(table: rotary.RotaryTable, position: int) -> None:
    cos, sin = table.cos_sin(position)
    x = np.arange(1.0, table.head_dim + 1)
    expected = exactly(rotary.turn)(table, exact(x), exact(cos), exact(sin))
    # two products and a sum, of numbers up to 17 · 1.5
    assert np.abs(rotary.turn(table, x, cos, sin) - expected.astype(float)).max() <= 1e-13
