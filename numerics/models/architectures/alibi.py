"""Decoders with linear biases: BLOOM, MPT, and Falcon in its three layouts (which may also be rotary)."""

from __future__ import annotations

import numpy as np

from numerics.models.architectures.base import Architecture, Blocks, Letter, each, fused
from numerics.models.positions import AlibiBias, ScoreBias, alibi_slopes, mpt_alibi_slopes
from numerics.models.rotary import RotaryTable


class Bloom(Architecture):
    """Fused `query_key_value` = per head [q, k, v]; ALiBi."""

    model_type = "bloom"
    block = "h.{layer}."
    attention = "self_attention"
    projections = fused("self_attention.query_key_value", "self_attention.dense")
    norm_name = "input_layernorm"
    norm_eps = "layer_norm_epsilon"
    embedding = "word_embeddings"
    embedding_norm_name = "word_embeddings_layernorm"
    final_norm_name = "ln_f"
    bias_name = "alibi"
    accepts_positions = False

    def check_options(self) -> None:
        if self.config.slow_but_exact and self.config.pretraining_tp > 1:
            raise self.refuse("slow_but_exact", True)

    def projection_bias(self, letter: Letter) -> bool:
        return True

    def fused_blocks(self, letter: Letter) -> tuple[int, Blocks] | None:
        return 3 * self.n_heads, np.arange("qkv".index(letter), 3 * self.n_heads, 3)

    def bias(self, layer: int) -> ScoreBias | None:
        return AlibiBias(alibi_slopes(self.n_heads))


class MPT(Architecture):
    """Fused `Wqkv` = [all Q, all K, all V]; ALiBi; no biases."""

    model_type = "mpt"
    block = "blocks.{layer}."
    attention = "attn"
    projections = fused("attn.Wqkv", "attn.out_proj")
    norm_name = "norm_1"
    norm_bias = False
    norm_eps = "layer_norm_epsilon"
    embedding = "wte"
    final_norm_name = "norm_f"
    bias_name = "alibi"
    accepts_positions = False

    def check_options(self) -> None:
        options = self.config.attn_config
        # Weights of q and k alone do not give the score under these: a clamp or a norm stands between.
        for option in ("clip_qkv", "qk_ln", "prefix_lm", "attn_uses_sequence_id"):
            if getattr(options, option):
                raise self.refuse(option, getattr(options, option))
        if not options.alibi:
            raise self.refuse("alibi", False)

    def fused_blocks(self, letter: Letter) -> tuple[int, Blocks] | None:
        start = "qkv".index(letter) * self.n_heads
        return 3 * self.n_heads, each(start, start + self.n_heads)

    def scale(self, layer: int) -> float:
        given = self.config.attn_config.softmax_scale
        return super().scale(layer) if given is None else float(given)

    def bias(self, layer: int) -> ScoreBias | None:
        return AlibiBias(mpt_alibi_slopes(self.n_heads, float(self.config.attn_config.alibi_bias_max)))


class Falcon(Architecture):
    """Fused `query_key_value` in three layouts: grouped (new decoder), multi-query, and per head [q, k, v].

    With ALiBi the bias is scaled like the scores, by 1/√n.
    """

    model_type = "falcon"
    block = "h.{layer}."
    attention = "self_attention"
    projections = fused("self_attention.query_key_value", "self_attention.dense")
    norm_eps = "layer_norm_epsilon"
    embedding = "word_embeddings"
    final_norm_name = "ln_f"
    bias_name = "alibi"

    @property
    def n_kv_heads(self) -> int:
        if self.config.new_decoder_architecture:
            return int(self.config.num_kv_heads)
        return 1 if self.config.multi_query else self.n_heads

    @property
    def attention_implementation(self) -> str:
        """transformers 5.24's eager attention adds the bias twice (in the mask and to the scores), its sdpa once."""
        return "sdpa" if self.config.alibi else "eager"

    @property
    def norm_name(self) -> str:  # type: ignore[override]
        config = self.config
        norms = config.num_ln_in_parallel_attn
        two = norms == 2 or (norms is None and config.new_decoder_architecture)
        return "ln_attn" if two and config.new_decoder_architecture and config.parallel_attn else "input_layernorm"

    def projection_bias(self, letter: Letter) -> bool:
        return bool(self.config.bias)

    def fused_blocks(self, letter: Letter) -> tuple[int, Blocks] | None:
        heads = self.n_heads
        if self.config.new_decoder_architecture:
            by_group = np.arange(heads + 2 * self.n_kv_heads).reshape(self.n_kv_heads, -1)
            columns = {"q": slice(0, -2), "k": slice(-2, -1), "v": slice(-1, None)}
            return by_group.size, by_group[:, columns[letter]].reshape(-1)
        if self.config.multi_query:
            start = {"q": 0, "k": heads, "v": heads + 1}[letter]
            return heads + 2, each(start, start + (heads if letter == "q" else 1))
        return 3 * heads, np.arange("qkv".index(letter), 3 * heads, 3)

    def rotary(self, layer: int) -> RotaryTable | None:
        return None if self.config.alibi else self.config_rotary(layer)

    def bias(self, layer: int) -> ScoreBias | None:
        return AlibiBias(alibi_slopes(self.n_heads) * self.scale(layer)) if self.config.alibi else None
