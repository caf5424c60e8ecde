"""Tables of a chosen head: top token pairs of its QK and OV circuits, and its skip-trigrams."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from numerics.circuits.ends import Ends, blocks
from numerics.circuits.factors import Factors
from numerics.circuits.token_pairs import Pairs, top_pairs
from numerics.circuits.trigrams import skip_trigrams
from numerics.models.heads import HeadWeights, Norm, QKNorm

Float = NDArray[np.float64]
Ints = NDArray[np.int64]

TOP = 50
"""Rows of each table."""

COUNTED = 1_000_000
"""Tokens of a text that their frequencies are counted on."""

PIECE = 16
"""Tokens per counted piece: the rest of a document that fills none is not counted."""

NOTE = (
    "the residual is the tokens' embeddings alone, without biases and positions; QK: the score at distance 0 less its "
    "mean over the table's keys; OV: the logit less its mean over the vocabulary, up to a positive factor of the norms"
)

CIRCUITS = ("QK", "OV")


class Vectors(NamedTuple):
    """One head on N tokens: entries of QK are `query keyᵀ`, of OV `value outputᵀ`; the last two None without logits."""

    query: Float
    key: Float
    value: Float | None
    output: Float | None


def token_counts(pieces: Iterator[Ints], size: int) -> Ints:
    """How often each id (size,) occurs in the first `COUNTED` tokens."""
    counts = np.zeros(size, dtype=np.int64)
    pieces = islice(pieces, COUNTED // PIECE)
    while batch := list(islice(pieces, 4096)):
        counts += np.bincount(np.concatenate(batch), minlength=size)
    return counts


@dataclass
class ChosenHead:
    """One head with its layer's weights, its folded factors, and the ends of the model."""

    heads: HeadWeights
    head: int
    factors: Factors
    ends: Ends
    reaches_logits: bool

    def vectors(self, ids: Ints) -> Vectors:
        """QK: σ·q·k, less its mean over the keys (softmax does not see it). OV: logits less their vocabulary mean."""
        heads, group = self.heads, self.heads.kv_head(self.head)
        query, key, value, output = [], [], [], []
        for rows in blocks(ids):
            x = self.ends.read(rows, heads.norm)
            query.append(self._normed(x, self.factors.query, heads.W_Q, self.head, heads.q_norm))
            key.append(self._normed(x, self.factors.key, heads.W_K, group, heads.k_norm))
            if self.reaches_logits:
                value.append(x @ self.factors.value.T)
                output.append(self.ends.unembedding(rows) @ self.factors.output)
        keys = np.concatenate(key)
        qk = heads.scale * np.concatenate(query), keys - keys.mean(axis=0)
        if not self.reaches_logits:
            return Vectors(*qk, None, None)
        return Vectors(*qk, np.concatenate(value), np.concatenate(output))

    def _normed(self, x: Float, W: Float, weights: Float, index: int, qk_norm: QKNorm | None) -> Float:
        """`W x` of rows `x` (N, D); in the folded form with the QK-norm itself, not with its gain alone."""
        if qk_norm is None or not self.ends.folded:
            return x @ W.T
        norm: Norm | None = self.heads.norm
        read = weights if norm is None else norm.read_by(weights)
        own = x @ read[index].T
        over = own if qk_norm.scope == "head" else x @ read.reshape(-1, read.shape[-1]).T
        return qk_norm.apply(own, over, index)


def pair_rows(vectors: Vectors, ids: Ints) -> dict[str, Any]:
    """`pair_value`, `pair_left`, `pair_right` (circuit, rank): ids of query and key, of source and output token."""
    tables: list[Pairs] = [top_pairs(vectors.query, vectors.key, TOP)]
    if vectors.value is not None and vectors.output is not None:
        tables.append(top_pairs(vectors.value, vectors.output, TOP))
    value = np.full((len(CIRCUITS), TOP), np.nan)
    left, right = np.full((2, len(CIRCUITS), TOP), -1)
    for circuit, pairs in enumerate(tables):
        filled = slice(0, len(pairs.value))
        value[circuit, filled] = pairs.value
        left[circuit, filled], right[circuit, filled] = ids[pairs.left], ids[pairs.right]
    return {"pair_value": value, "pair_left": left, "pair_right": right}


def trigram_rows(vectors: Vectors, ids: Ints) -> dict[str, Any]:
    """`trigram_source`, `trigram_destination`, `trigram_output` (ids), `trigram_qk`, `trigram_ov`, each (trigram,)."""
    if vectors.value is None or vectors.output is None:
        return {}
    found = skip_trigrams(vectors.query, vectors.key, vectors.value, vectors.output, TOP)
    rows: dict[str, Any] = {}
    for name in ("source", "destination", "output"):
        rows[f"trigram_{name}"] = np.full(TOP, -1)
        rows[f"trigram_{name}"][: len(found.source)] = ids[getattr(found, name)]
    for name in ("qk", "ov"):
        rows[f"trigram_{name}"] = np.full(TOP, np.nan)
        rows[f"trigram_{name}"][: len(found.source)] = getattr(found, name)
    return rows


def with_tokens(rows: dict[str, Any], tokenizer: Any) -> dict[str, Any]:
    """Beside every array of ids the tokens as the vocabulary spells them, as `…_token`; '' for −1."""
    named = dict(rows)
    for name, ids in rows.items():
        if ids.dtype.kind == "i":
            spelled = ["" if i < 0 else str(tokenizer.convert_ids_to_tokens(int(i))) for i in ids.reshape(-1)]
            named[f"{name}_token"] = np.array(spelled, dtype=np.str_).reshape(ids.shape)
    return named
