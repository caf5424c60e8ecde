"""Copying: does attending to a token raise that token's own logit?

The copying matrix of a head is `W_U · OV · W_E` (V × V, rank ≤ n_v). Its nonzero eigenvalues are those of the n_v × n_v
product `W_V W_E W_U W_O` (`Formal.copying_eigenvalue_iff`), and so are the traces of all its powers
(`Formal.copying_trace_powers`). Source: Elhage et al., A Mathematical Framework for Transformer Circuits (2021).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float64]
Complex = NDArray[np.complex128]

ROWS = 8192
"""Rows of an embedding table that are multiplied at a time."""


def cross_gram(embedding: Float, unembedding: Float) -> Float:
    """`Σ_t W_E[t] ⊗ W_U[t]` (D, D): `embedding`, `unembedding` (V, D). One for all heads of a model."""
    width = embedding.shape[1]
    total = np.zeros((width, unembedding.shape[1]))
    for first in range(0, len(embedding), ROWS):
        rows = slice(first, first + ROWS)
        total += embedding[rows].T @ unembedding[rows]
    return total


def copying_product(value: Float, output: Float, cross: Float) -> Float:
    """`W_V W_E W_U W_O` (n_v, n_v): `value` (n_v, D), `output` (D, n_v), `cross` (D, D) from `cross_gram`."""
    product: Float = value @ (cross @ output)
    return product


def copying_eigenvalues(product: Float) -> Complex:
    """Eigenvalues (n_v,) of the copying matrix that may differ from zero, largest modulus first."""
    values = np.linalg.eigvals(product).astype(np.complex128)
    return values[np.argsort(-np.abs(values), kind="stable")]


def copying_score(eigenvalues: Complex) -> float:
    """`Σ Re λ / Σ|λ|` in [−1, 1]: 1 where all eigenvalues are positive. NaN for a head that writes nothing.

    The sum of the real parts is the trace (`Formal.copying_trace`).
    """
    size = float(np.abs(eigenvalues).sum())
    return float(eigenvalues.real.sum()) / size if size > 0 else float("nan")


def own_logit_lift(values: Float, unembedding: Float, output: Float) -> Float:
    """What attending to each token adds to its own logit beyond the vocabulary mean: (N,), linear part.

    `(W_U[t] − mean W_U)·W_O v_t`: `values` (N, n_v) are `W_V x_t`, `unembedding` (N, D) the tokens' rows of W_U less
    the mean of all rows, `output` (D, n_v). Direct copying is the share of tokens for which it is positive.
    """
    lift: Float = np.einsum("tn,tn->t", unembedding @ output, values)
    return lift
