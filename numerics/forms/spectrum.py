"""Norms and spectra of a form given by its nonzero rows.

`L` (p, r), p ≤ r, stands for the r × r form whose remaining r − p rows are zero (`Reduction.form`); p = r is the plain
square case. `S = (L+Lᵀ)/2`, `T = (L−Lᵀ)/2`, Frobenius norms. Source: arXiv 2609.22990.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float64]


def symmetric_part(L: Float) -> Float:
    """`S` (r, r) of the form `L` (p, r)."""
    p, r = L.shape
    S = np.zeros((r, r))
    S[:p] = L / 2
    S[:, :p] += L.T / 2
    return S


def symmetric_spectrum(L: Float) -> Float:
    """Eigenvalues (r,) of `S`, largest first."""
    return np.asarray(np.linalg.eigvalsh(symmetric_part(L))[::-1], dtype=np.float64)


def antisymmetric_energy(L: Float) -> float:
    """`‖T‖²`, from the entries of `T`: no cancellation when `L` is nearly symmetric.

    With `L = [X Y]` (X square): `‖T‖² = ¼‖X − Xᵀ‖² + ½‖Y‖²`.
    """
    p = len(L)
    X, Y = L[:, :p], L[:, p:]
    return float(np.sum((X - X.T) ** 2) / 4 + np.sum(Y**2) / 2)
