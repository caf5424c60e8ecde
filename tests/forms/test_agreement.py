"""The helpers of these tests refuse planted wrong answers."""

import numpy as np
import pytest

from numerics.forms.description import describe
from numerics.forms.reference import profile_by_definition
from tests.forms.agreement import AGREEMENT, PUBLISHED, SIMPLEX, agree, on_simplex

RIGHT = np.array([0.4, 0.3, 0.2, 0.1])


@pytest.mark.parametrize("tolerance", [AGREEMENT, PUBLISHED, SIMPLEX])
def test_one_percent_is_refused(tolerance: float) -> None:
    assert agree(RIGHT, RIGHT, tolerance)
    for index in range(4):
        wrong = RIGHT.copy()
        wrong[index] *= 1.01
        assert not agree(wrong, RIGHT, tolerance)
        assert not agree(RIGHT, wrong, tolerance)


def test_shape_and_missing_numbers_are_compared() -> None:
    assert not agree(RIGHT[:3], RIGHT, 1.0)
    assert not agree([np.nan, 0.3, 0.2, 0.1], RIGHT, 1.0)
    assert not agree(RIGHT, [np.nan, 0.3, 0.2, 0.1], 1.0)
    assert agree([np.nan, 1.0], [np.nan, 1.0], 0.0)


@pytest.mark.parametrize("wrong", [RIGHT * 1.01, [1.1, -0.1, 0, 0], [np.nan] * 4, [0.5, 0.5], [1.0, 0.0, 0.0]])
def test_points_off_the_simplex_are_refused(wrong: object) -> None:
    assert on_simplex(RIGHT)
    assert not on_simplex(wrong)


def _faulty_profiles(L: np.ndarray) -> dict[str, np.ndarray]:
    """Profiles with one mistake each."""
    S, T = (L + L.T) / 2, (L - L.T) / 2
    eigenvalues = np.linalg.eigvalsh(S)
    plus, minus = np.maximum(eigenvalues, 0), np.maximum(-eigenvalues, 0)
    right = profile_by_definition(L)

    def normed(a: float, p: np.ndarray, m: np.ndarray, factor: float = 2.0) -> np.ndarray:
        parts = np.array([a, factor * p @ m, np.sum(np.maximum(p - m, 0) ** 2), np.sum(np.maximum(m - p, 0) ** 2)])
        return parts / parts.sum()

    a = float(np.sum(T**2))
    down = np.sort(plus)[::-1], np.sort(minus)[::-1]
    return {
        "unsorted pairs": normed(a, plus, minus),
        "opposite order": normed(a, down[0], down[1][::-1]),
        "b without its factor 2": normed(a, *down, factor=1.0),
        "c and d swapped": right[[0, 1, 3, 2]],
        "a and b swapped": right[[1, 0, 2, 3]],
        "norm instead of its square": normed(a**0.5, *down),
    }


def test_faulty_profiles_are_refused() -> None:
    L = np.random.default_rng(1).standard_normal((6, 6)) + np.eye(6)
    expected = profile_by_definition(L)
    assert agree(describe(L).profile, expected, AGREEMENT)
    for fault, profile in _faulty_profiles(L).items():
        assert not agree(profile, expected, AGREEMENT), fault
