"""A matrix of norm 1, whatever size its weights have."""

import numpy as np
import pytest

from numerics.models.scale import unit_norm


@pytest.mark.parametrize("size", [1.0, 1e-200, 1e200, 5e-324])
def test_the_norm_is_one_where_squares_leave_float64(size: float) -> None:
    signs = np.array([[1.0, -1.0, 1.0], [1.0, 1.0, -1.0]])
    found = unit_norm(size * signs)
    np.testing.assert_allclose(found, signs / np.sqrt(6), rtol=4e-16)


def test_zero_stays_zero() -> None:
    assert not unit_norm(np.zeros((2, 3))).any()
    assert unit_norm(np.zeros((0, 3))).shape == (0, 3)
