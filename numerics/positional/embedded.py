"""The first layer of a model with learned positions, from its embeddings alone, beside what it does on texts."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from numerics.models.heads import HeadWeights, Norm
from numerics.models.vocabulary import Vocabulary
from numerics.positional import first_layer, kernel, spread, substitution
from numerics.positional.split import repeat_heads

Float = NDArray[np.float64]
Bool = NDArray[np.bool_]
Ints = NDArray[np.int64]

SUBSTITUTE = " the"
SUBSTITUTED = np.arange(500, 601, 5)


@dataclass
class Embedded:
    """What is added up over the query texts: `distances` TV (H, I) per text, `content_lengths` c², `denominators`.

    `norm` is the one norm between the embeddings' sum and the layer's attention.
    """

    ends: Vocabulary
    heads: HeadWeights
    norm: Norm
    queries: Ints
    skip: int
    distances: list[Float] = field(default_factory=list)
    content_lengths: list[float] = field(default_factory=list)
    denominators: list[Float] = field(default_factory=list)

    @classmethod
    def of(cls, ends: Vocabulary, heads: HeadWeights, queries: Ints, skip: int) -> Embedded | None:
        """Of a first layer; None where there is no norm between the embeddings' sum and the attention, or two."""
        norms = [norm for norm in (ends.embedding_norm, heads.norm) if norm is not None]
        return cls(ends, heads, norms[0], queries, skip) if len(norms) == 1 else None

    @cached_property
    def token_part(self) -> Float:
        """(V, D): what a token adds to the first layer's input before the norm."""
        return self.ends.W_E if self.ends.token_type is None else self.ends.W_E + self.ends.token_type

    @property
    def positions(self) -> Float:
        """(T, D)."""
        assert self.ends.W_pos is not None
        return self.ends.W_pos

    def compare(self, q: Float, ids: Ints, bias: Float | None, pattern: Float, admissible: Bool) -> None:
        """TV between the first-layer approximation and the attention of one text, without the skipped positions.

        `q` (H, I, n), `bias` and `pattern` (H, I, T) of the queries, `admissible` (I, T).
        """
        tokens, heads = self.token_part[ids], self.heads
        self.content_lengths.append(first_layer.content_length(tokens))
        to_kv = [heads.kv_head(head) for head in range(heads.n_heads)]
        attention, _ = kernel.condition(pattern, admissible, self.skip)
        scores = np.zeros_like(attention) if bias is None else bias.copy()
        for row, n in enumerate(self.queries):
            parts = first_layer.first_layer_parts(tokens, self.positions[: len(ids)], int(n), self.norm)
            inputs = parts.content + parts.position
            scores[:, row] += first_layer.scores_on_inputs(
                q[:, row], inputs, heads.W_K[to_kv], heads.b_K[to_kv], heads.scale
            )
        approximate = kernel.positional_kernel(scores, admissible, self.skip)
        self.distances.append(spread.total_variation(approximate, attention))

    def substitute(self, k: Float, mean_keys: Float) -> None:
        """Z (H, I) of a text with keys `k` (G, T, n) for the token `SUBSTITUTE` at each position of `SUBSTITUTED`.

        Nothing where the text is too short for them, or the layer not causal.
        """
        heads = self.heads
        if not heads.causal or k.shape[1] <= SUBSTITUTED[-1]:
            return
        token = self.ends.tokenizer(SUBSTITUTE, add_special_tokens=False)["input_ids"][0]
        x = substitution.normed(self.token_part[token] + self.positions[SUBSTITUTED], self.norm)
        q = np.einsum("hnd,id->hin", heads.W_Q, x) + heads.b_Q[:, None]
        own = np.einsum("gnd,id->gin", heads.W_K, x) + heads.b_K[:, None]
        own, keys, mean = (repeat_heads(part, heads.n_heads) for part in (own, k, mean_keys))
        self.denominators.append(
            substitution.substituted_denominators(q, own, keys, mean, SUBSTITUTED, scale=heads.scale, skip=self.skip)
        )
