"""Composition: how much of what an earlier head writes a later head reads, by query, key or value.

With `L₂ = W_KᵀW_Q` of the later head and `OV₁ = W_O W_V` of the earlier one: Q `‖L₂ OV₁‖/(‖L₂‖‖OV₁‖)`, K the same with
`L₂ᵀ`, V with `OV₂` (Frobenius norms; Elhage et al. 2021). The score is in [0, 1]
(`Formal.composition_in_unit_interval`), unchanged by an orthonormal basis of the residual stream
(`Formal.composition_orthonormal_invariant`) and by scale (`Formal.composition_scale_invariant`). That these are the
terms of the later head's scores: `Formal.query_composition_is_score`, `Formal.key_composition_is_score`; of its output:
`Formal.virtual_head`.

Each head is replaced by three matrices n × D that read (Q, K, V) and one D × n that writes, with the same norms: a
score is then the norm of one n × n product.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numerics.circuits.factors import Factors
from numerics.models.scale import unit_norm

Float = NDArray[np.float64]

KINDS = ("Q", "K", "V")


class Sides(NamedTuple):
    """What a head reads with, `read` (3, m, D) in the order of `KINDS`, and what it writes with, `write` (D, m).

    For every X: `‖read_Q X‖ = ‖L X‖`, `‖read_K X‖ = ‖Lᵀ X‖`, `‖read_V X‖ = ‖OV X‖`, `‖X write‖ = ‖X OV‖`, all divided
    by `‖L‖` or `‖OV‖`: each has norm 1 (or 0).
    """

    read: Float
    write: Float


def sides(head: Factors) -> Sides:
    """The reading and writing matrices of a head; n and n_v are padded to the larger of the two."""
    rows = max(len(head.query), len(head.value))
    R = head.triangles
    reads = R.key @ head.query, R.query @ head.key, R.output @ head.value
    read = np.stack([_padded(unit_norm(matrix), rows) for matrix in reads])
    write = _padded(unit_norm((head.output @ R.value.T).T), rows).T
    return Sides(read, write)


def composition(reads: Float, writes: Float) -> Float:
    """Scores (…, H₂, H₁) of later heads, `reads` (…, H₂, m, D), on earlier ones, `writes` (H₁, D, m).

    A head that is zero composes with nothing: 0, as in `Formal.composition_in_unit_interval`.
    """
    later, m, width = reads.shape[-3:]
    side = np.moveaxis(writes, 0, 1).reshape(width, -1)
    scores = np.empty((*reads.shape[:-3], later, len(writes)))
    for index in np.ndindex(reads.shape[:-3]):  # one kind at a time: its products are heads² n × n matrices
        products = reads[index].reshape(-1, width) @ side
        blocks = products.reshape(later, m, len(writes), -1)
        scores[index] = np.sqrt(np.einsum("himj,himj->hm", blocks, blocks))
    return scores


def _padded(matrix: Float, rows: int) -> Float:
    """With rows of zeros below: the norms of its products stay."""
    padded = np.zeros((rows, matrix.shape[1]))
    padded[: len(matrix)] = matrix
    return padded
