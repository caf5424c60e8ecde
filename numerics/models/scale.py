"""The scale of a weight matrix, for measures that do not depend on it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float64]


def unit_norm(matrix: Float) -> Float:
    """`W/‖W‖` (Frobenius norm) of a matrix of any shape and scale; one of zeros stays as it is."""
    # By the largest entry first: squares of very small or large weights would leave float64.
    largest = float(np.abs(matrix).max(initial=0.0))
    if largest == 0.0:
        return matrix
    matrix = matrix / largest
    unit: Float = matrix / np.linalg.norm(matrix)
    return unit
