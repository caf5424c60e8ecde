"""How the tests of forms compare numbers, and how far two exact paths may differ.

Helpers return a bool and the test asserts it; `test_agreement.py` shows each of them planted wrong answers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

AGREEMENT = 1e-10
"""Between two exact paths, on numbers of size 1. A profile is a ratio of squares of eigenvalues of S: its error is at
most 2·δS/‖L‖, with δS ~ eps·κ·‖K‖‖Q‖: κ ≤ 1e4 on the Gram path (by its pivot), 1 on the others, and ‖K‖‖Q‖ ≤ 20·‖L‖
for the heads of these tests: 1e-10. Measured: 5e-15, as roundings add up like random signs. A planted 1 % error is
eight orders above it."""

SIMPLEX = 1e-14
"""Sum of four positive numbers divided by their own sum: a few eps, whatever the form."""

PUBLISHED = 1e-5
"""Published rows: computed upstream from a form stored as float32 (~1e-6), printed here with 8 decimals."""


def agree(actual: ArrayLike, expected: ArrayLike, tolerance: float) -> bool:
    """Same shape, NaN in the same places, and `|actual − expected| ≤ tolerance·max(1, |expected|)` elsewhere."""
    actual, expected = np.asarray(actual, dtype=np.float64), np.asarray(expected, dtype=np.float64)
    if actual.shape != expected.shape or not np.array_equal(np.isnan(actual), np.isnan(expected)):
        return False
    present = ~np.isnan(expected)
    gap = np.abs(actual[present] - expected[present])
    return bool(np.all(gap <= tolerance * np.maximum(1, np.abs(expected[present]))))


def on_simplex(profile: ArrayLike) -> bool:
    """Four finite coordinates, none negative, with sum 1."""
    profile = np.asarray(profile, dtype=np.float64)
    return profile.shape == (4,) and bool(np.all(profile >= 0)) and abs(float(profile.sum()) - 1) <= SIMPLEX
