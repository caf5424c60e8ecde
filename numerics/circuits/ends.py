"""The two ends of a model in one form: what a token puts into the residual stream, how the logits read it.

`folded`: the embedding norm (BERT, BLOOM) acts on the tokens, the gain of the final norm is in W_U (its linear part:
the logits are up to a positive factor of each position). `raw`: W_E and W_U as they are. Biases, positions and token
types are left out of both.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from numerics.circuits.copying import cross_gram
from numerics.models.heads import Norm
from numerics.models.vocabulary import Vocabulary

Float = NDArray[np.float64]
Ints = NDArray[np.int64]

ROWS = 8192
"""Rows of an embedding table that are worked on at a time."""


def blocks(ids: Ints) -> Iterator[Ints]:
    return (ids[first : first + ROWS] for first in range(0, len(ids), ROWS))


@dataclass
class Ends:
    """Embeddings and unembedding of a vocabulary, `folded` or raw."""

    vocabulary: Vocabulary
    folded: bool

    @property
    def has_logits(self) -> bool:
        """False for an encoder."""
        return self.vocabulary.W_U is not None

    def read(self, ids: Ints, norm: Norm | None) -> Float:
        """What a layer with this norm reads if the residual holds the tokens' embeddings alone: (N, D).

        The gain of `norm` is left to the weights of the layer.
        """
        x = self.vocabulary.W_E[ids]
        if not self.folded:
            return x
        embedding_norm = self.vocabulary.embedding_norm
        if embedding_norm is not None:
            x = embedding_norm.gain * embedding_norm.direction(x)
        return x if norm is None else norm.direction(x)

    def unembedding(self, ids: Ints) -> Float:
        """Rows of W_U (N, D) less the mean of all rows, which no softmax sees."""
        return self._read_by_logits(self._W_U[ids]) - self._mean

    @cached_property
    def cross(self) -> Float:
        """`Σ_t W_E[t] ⊗ W_U[t]` (D, D) over all tokens, linear parts of the norms folded in: one for all heads."""
        cross = cross_gram(self.vocabulary.W_E, self._W_U)
        if self.folded and self.vocabulary.embedding_norm is not None:
            cross = self.vocabulary.embedding_norm.written_by(cross)
        return self._read_by_logits(cross)

    @cached_property
    def _mean(self) -> Float:
        return self._read_by_logits(self._W_U.mean(axis=0))

    @property
    def _W_U(self) -> Float:
        table = self.vocabulary.W_U
        assert table is not None
        return table

    def _read_by_logits(self, rows: Float) -> Float:
        norm = self.vocabulary.final_norm if self.folded else None
        return rows if norm is None else norm.read_by(rows)
