"""The profile (a, b, c, d) of a form, and the type that its profile gives it. Source: arXiv 2609.22990."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float64]
HeadType = Literal["II", "I+", "I-", "antisymmetric", "zero"]

BALANCED_SHARE = 0.02
"""Largest share c + d of the symmetric part that still makes a head of type II."""


def split_signs(eigenvalues: Float) -> tuple[Float, Float]:
    """`(λ₊, λ₋)` (r,) each: positive eigenvalues and sizes of the negative ones, decreasing, padded with zeros."""
    positive = np.sort(np.maximum(eigenvalues, 0.0))[::-1]
    negative = np.sort(np.maximum(-eigenvalues, 0.0))[::-1]
    return positive, negative


def profile_coordinates(eigenvalues: Float, antisymmetric_energy: float) -> Float:
    """`(a,b,c,d) = (‖T‖², 2⟨λ₊,λ₋⟩, ‖(λ₊−λ₋)₊‖², ‖(λ₊−λ₋)₋‖²)/‖L‖²`, a point of the simplex.

    `eigenvalues` (r,) of `S` in any order, `antisymmetric_energy` = ‖T‖²; four NaN for the zero form.
    """
    positive, negative = split_signs(eigenvalues)
    excess = positive - negative
    energies = np.array(
        [
            antisymmetric_energy,
            2 * (positive @ negative),
            np.sum(np.maximum(excess, 0.0) ** 2),
            np.sum(np.maximum(-excess, 0.0) ** 2),
        ]
    )
    total = energies.sum()
    return energies / total if total > 0 else np.full(4, np.nan)


def head_type(profile: Float) -> HeadType:
    """Type by `(c', d') = (c, d)/(1 − a)`: `II` if c' + d' ≤ 0.02, else `I+` if c' > d', else `I-`.

    `antisymmetric` where b = c = d = 0 (a = 1), `zero` for the NaN profile of the zero form.
    """
    _, b, c, d = profile
    if np.isnan(b):
        return "zero"
    symmetric = b + c + d
    if symmetric == 0:
        return "antisymmetric"
    if c + d <= BALANCED_SHARE * symmetric:
        return "II"
    return "I+" if c > d else "I-"


def accumulating_curve() -> Float:
    """Corners (3, 4) of the broken line `a = b, cd = 0` near which trained heads accumulate.

    From c = 1 over a = b = ½ to d = 1; straight in between, in any barycentric picture of the simplex.
    """
    return np.array([[0.0, 0.0, 1.0, 0.0], [0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
