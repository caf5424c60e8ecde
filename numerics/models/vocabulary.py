"""The two ends of a model: token and position embeddings, unembedding, tokenizer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from numerics.models.architectures import Architecture
from numerics.models.heads import Float, Norm


@dataclass(frozen=True)
class Vocabulary:
    """Embeddings and unembedding of one model, float64, read on first use.

    `W_E` (V, D) includes the factor the model puts on it (Gemma: √D); `W_pos` (positions, D) or None; `token_type` (D,)
    is added to every token where the model has token types, `embedding_norm` acts on the sum; `W_U` (V, D) and
    `b_U` (V,) or None; logits are `logit_scale·(W_U final_norm(x) + b_U)`, then `c·tanh(·/c)` with a `logit_softcap` c.
    """

    architecture: Architecture
    load_tokenizer: Callable[[], Any]

    @cached_property
    def W_E(self) -> Float:
        return self.architecture.token_table() * self.architecture.embedding_scale

    @cached_property
    def W_pos(self) -> Float | None:
        return self.architecture.position_table()

    @cached_property
    def token_type(self) -> Float | None:
        return self.architecture.token_type()

    @cached_property
    def embedding_norm(self) -> Norm | None:
        return self.architecture.embedding_norm()

    @cached_property
    def W_U(self) -> Float | None:
        return self.architecture.unembedding_table()

    @cached_property
    def b_U(self) -> Float | None:
        return self.architecture.unembedding_bias()

    @cached_property
    def final_norm(self) -> Norm | None:
        return self.architecture.final_norm()

    @property
    def logit_scale(self) -> float:
        return self.architecture.logit_scale

    @property
    def logit_softcap(self) -> float | None:
        return self.architecture.logit_softcap

    @cached_property
    def tokenizer(self) -> Any:
        """The model's own transformers tokenizer."""
        return self.load_tokenizer()

    @property
    def special_ids(self) -> frozenset[int]:
        """Ids of the tokenizer's special tokens, those it only reserves (`<unused7>`) among them."""
        reserved = (token for token, added in self.tokenizer.added_tokens_decoder.items() if added.special)
        return frozenset(self.tokenizer.all_special_ids) | frozenset(reserved)
