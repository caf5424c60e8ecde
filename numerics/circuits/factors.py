"""QK and OV of a head as pairs of thin factors; no D × D matrix is made unless `QK` or `OV` is asked for.

Scores see W_Q and W_K only through QK = W_QᵀW_K (`Formal.score_query_left`) and determine it
(`Formal.scores_determine_qk`); the output sees W_V and W_O only through OV = W_O W_V (`Formal.output_sees_only_ov`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float64]


class Triangles(NamedTuple):
    """`triangle` of each factor of a head, of `output` transposed: all that norms of its products need."""

    query: Float
    key: Float
    value: Float
    output: Float


@dataclass(frozen=True)
class Factors:
    """One head of a model of width D: `query`, `key` (n, D), `value` (n_v, D), `output` (D, n_v).

    What stands between the residual stream and the matrices (norms, QK-norm gains) is folded in by whoever makes it.
    A change of basis of the n or n_v dims changes neither product (`Formal.qk_change_of_basis`,
    `Formal.ov_change_of_basis`).
    """

    query: Float
    key: Float
    value: Float
    output: Float

    def QK(self) -> Float:
        """`W_QᵀW_K` (D, D), query on the left: large."""
        return np.asarray(self.query.T @ self.key)

    def OV(self) -> Float:
        """`W_O W_V` (D, D): large."""
        return np.asarray(self.output @ self.value)

    @cached_property
    def triangles(self) -> Triangles:
        return Triangles(triangle(self.query), triangle(self.key), triangle(self.value), triangle(self.output.T))

    @property
    def qk_singular_values(self) -> Float:
        """The n singular values of QK that may differ from zero, largest first."""
        return _singular_values(self.triangles.query, self.triangles.key)

    @property
    def ov_singular_values(self) -> Float:
        """The n_v singular values of OV that may differ from zero, largest first."""
        return _singular_values(self.triangles.output, self.triangles.value)


def triangle(W: Float) -> Float:
    """`R` (min(n, D), n) with `RᵀR = W Wᵀ`, `W` (n, D): so `‖Wᵀ X‖ = ‖R X‖` for every X with n rows.

    The R of QR(Wᵀ), without squaring the entries as the Gram matrix would.
    """
    R: Float = np.asarray(np.linalg.qr(W.T, mode="r"), dtype=np.float64)
    return R


def _singular_values(left: Float, right: Float) -> Float:
    """From two triangles (m, n): a product of the factors differs by orthonormal columns, which change none of them."""
    values = np.zeros(left.shape[1])
    small = np.linalg.svd(left @ right.T, compute_uv=False)
    values[: len(small)] = small
    return values
