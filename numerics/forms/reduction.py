"""A head's form without a width × width matrix: an exact change of basis to at most 2n dimensions.

Let `M = [W_K; W_Q]` (2n, D) and `M = F Uᵀ` with orthonormal columns in `U`. Then `W_K = F_K Uᵀ`, `W_Q = F_Q Uᵀ` and
`L = W_Kᵀ R W_Q = U (F_Kᵀ R F_Q) Uᵀ`: the small matrix has the norms, traces, eigenvalues (of the symmetric part) and
singular values of `L`, zeros aside, for every rotation `R` of the query. Three ways to `F`:

- Gram: the Cholesky factor of `M Mᵀ`. With the rows scaled to unit length (Cholesky's error does not depend on that
  scaling) and `κ` their condition number, the factor is `F(1+Γ)`, `|Γ| ≲ eps·κ²`, so each eigenvalue of the symmetric
  part keeps its sign and has a relative error of about `2·eps·κ²` (Ostrowski), and an absolute one of `eps·κ·‖M‖²`.
- QR of `Mᵀ`: backward stable whatever the rank, 5 × slower on tall matrices. Used when `κ` exceeds `CONDITION_LIMIT`,
  or Cholesky breaks down: equal, parallel or low-rank K and Q, dead rows.
- direct, when 2n ≥ D: `U = 1`, `F = M`; nothing is gained by a change of basis.

The eigenvectors of the Gram matrix would give a factor too, but cost nine times the Cholesky factor and are no more
exact: without a pivot, both leave noise of size √eps in the spectrum of rank-deficient heads.
Source: arXiv 2609.22990 for the form; N. Higham, Accuracy and Stability of Numerical Algorithms, ch. 10, 19.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from numerics.models.scale import unit_norm

Float = NDArray[np.float64]

CONDITION_LIMIT = 1e4
"""Largest condition number (1-norm, estimated) of the row-scaled `[W_K; W_Q]` on the Gram path.

It keeps `eps·κ` at 2e-12. Real heads: κ ≤ 300 or so, or no full rank at all (Gemma's QK gains hold zeros)."""


@dataclass(frozen=True)
class Reduction:
    """`key` (n, p) and `query` (n, r), p ≤ r ≤ min(2n, D): the form is `keyᵀ R query` on top of r − p zero rows.

    Both are scaled to Frobenius norm 1 (a zero matrix stays zero): a profile and its extras do not depend on scale.
    `noise` is the rounding error to expect in the form, 8·eps·√(D + 2n) (a sum of D + 2n rounded terms, statistically):
    a form, or a symmetric part, not larger than that is zero as far as float64 can tell.
    """

    key: Float
    query: Float
    noise: float

    def form(self, rotate: Callable[[Float], Float] | None = None) -> Float:
        """The nonzero rows (p, r) of the reduced form; `rotate` maps (…, n) to (…, n), the query's rotation R_δ."""
        query = self.query if rotate is None else rotate(self.query.T).T
        result: Float = self.key.T @ query
        return result


def reduce_pair(W_K: Float, W_Q: Float) -> Reduction:
    """Reduction of a head with `W_K`, `W_Q` (n, D) by the cheapest exact path (module docstring).

    Query-side row operations (rotations) may be applied afterwards; gains and centrings must be in W_K, W_Q already.
    """
    n, width = W_Q.shape
    if 2 * n >= width:
        return reduce_directly(W_K, W_Q)
    return reduce_by_gram(W_K, W_Q) or reduce_by_qr(W_K, W_Q)


def reduce_by_gram(W_K: Float, W_Q: Float) -> Reduction | None:
    """Cholesky factor of the joint Gram matrix; None where `CONDITION_LIMIT` says that QR must be used."""
    n, width = W_Q.shape
    gram = np.empty((2 * n, 2 * n))
    gram[:n, :n] = W_K @ W_K.T
    gram[n:, :n] = W_Q @ W_K.T
    gram[:n, n:] = gram[n:, :n].T
    gram[n:, n:] = W_Q @ W_Q.T
    try:
        factor = np.linalg.cholesky(gram)
    except np.linalg.LinAlgError:
        return None
    unit_rows = factor / np.linalg.norm(factor, axis=1, keepdims=True)
    # C-ordered lower triangular = Fortran-ordered upper triangular of the transpose: no copy.
    reciprocal_condition, _ = lapack.dtrcon(unit_rows.T, uplo="U")
    if not reciprocal_condition > 1 / CONDITION_LIMIT:
        return None
    return scaled(factor[:n, :n], factor[n:], width)


def reduce_by_qr(W_K: Float, W_Q: Float) -> Reduction:
    """Triangular factor of `QR([W_Kᵀ W_Qᵀ])`, transposed: exact for every rank. Needs nothing of n and D."""
    n, width = W_Q.shape
    triangle = np.asarray(np.linalg.qr(np.concatenate([W_K, W_Q]).T, mode="r"), dtype=np.float64)
    return scaled(triangle[:, :n].T[:, : min(n, width)], triangle[:, n:].T, width)


def reduce_directly(W_K: Float, W_Q: Float) -> Reduction:
    """No change of basis: `key` = W_K and `query` = W_Q up to scale, p = r = D."""
    return scaled(W_K, W_Q, W_Q.shape[1])


def scaled(key: Float, query: Float, width: int) -> Reduction:
    """`Reduction` of the factors of a head of the given width D, each brought to Frobenius norm 1."""
    noise = 8 * np.finfo(np.float64).eps * np.sqrt(width + 2 * len(query))
    return Reduction(unit_norm(key), unit_norm(query), float(noise))
