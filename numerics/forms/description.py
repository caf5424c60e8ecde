"""Every number of one form: profile, per-head extras, type. Source: arXiv 2609.22990."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from numerics.forms.coordinates import HeadType, head_type, profile_coordinates
from numerics.forms.spectrum import antisymmetric_energy, symmetric_spectrum

Float = NDArray[np.float64]

COUNTED_BEYOND = 1e-9
"""Eigenvalues count as positive or negative beyond this share of the largest in size."""


@dataclass(frozen=True)
class Description:
    """Numbers of a form `L`; NaN where a ratio is 0/0. All but `n_positive`, `n_negative` are without unit.

    `spectrum` (r,) holds the eigenvalues of `S/‖L‖`, largest first. With singular values h of L:
    `participation_ratio` = (Σh²)²/Σh⁴, `stable_rank` = Σh²/h₁²; `symmetric_energy` = ‖S‖²/‖L‖²;
    `pairing` = 1 − ‖λ₊−λ₋‖/‖λ‖ and `balance` = 1 − |n₊−n₋|/(n₊+n₋) speak of S (NaN when S = 0);
    `trace_ratio` = tr L/‖L‖, signed.
    """

    profile: Float
    spectrum: Float
    symmetric_energy: float
    pairing: float
    balance: float
    participation_ratio: float
    stable_rank: float
    trace_ratio: float
    n_positive: int
    n_negative: int
    type: HeadType


def describe(L: Float, noise: float = 0.0) -> Description:
    """`Description` of the form with nonzero rows `L` (p, r), p ≤ r.

    `noise` is the absolute rounding error of `L`: if no eigenvalue of `S` exceeds it, `S` is zero (type
    `antisymmetric`), if `‖L‖` does not, `L` is zero; eigenvalues within it are not counted.
    """
    p, r = L.shape
    if np.linalg.norm(L) <= noise:
        nan = float("nan")
        return Description(np.full(4, nan), np.zeros(r), nan, nan, nan, nan, nan, nan, 0, 0, "zero")
    eigenvalues = symmetric_spectrum(L)
    largest = float(np.abs(eigenvalues).max())
    if largest <= noise:
        eigenvalues, largest = np.zeros(r), 0.0
    profile = profile_coordinates(eigenvalues, antisymmetric_energy(L))
    threshold = max(COUNTED_BEYOND * largest, noise)
    n_positive, n_negative = int(np.sum(eigenvalues > threshold)), int(np.sum(eigenvalues < -threshold))
    counted = n_positive + n_negative
    _, b, c, d = profile
    symmetric_energy = float(b + c + d)

    # h² are the eigenvalues of L Lᵀ (p, p): half the size of a singular value problem on L.
    outer = L @ L.T
    norm_squared = float(np.trace(outer))
    return Description(
        profile=profile,
        spectrum=eigenvalues / np.sqrt(norm_squared),
        symmetric_energy=symmetric_energy,
        pairing=float(1 - np.sqrt((c + d) / symmetric_energy)) if counted else float("nan"),
        balance=1 - abs(n_positive - n_negative) / counted if counted else float("nan"),
        participation_ratio=float(norm_squared**2 / np.sum(outer**2)),
        stable_rank=float(norm_squared / np.linalg.eigvalsh(outer)[-1]),
        trace_ratio=float(np.trace(L[:, :p]) / np.sqrt(norm_squared)),
        n_positive=n_positive,
        n_negative=n_negative,
        type=head_type(profile),
    )
