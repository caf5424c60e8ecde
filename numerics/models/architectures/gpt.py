"""Decoders of the GPT line: GPT-2, OPT, GPT-Neo, GPT-J, GPT-NeoX, CodeGen."""

from __future__ import annotations

import numpy as np

from numerics.models.architectures.base import Architecture, Blocks, Letter, Projections, each, fused
from numerics.models.heads import Float
from numerics.models.rotary import RotaryTable, rotary_table


class GPT2(Architecture):
    """Fused `c_attn` = [all Q, all K, all V], stored (in, out) by its Conv1D module."""

    model_type = "gpt2"
    block = "h.{layer}."
    attention = "attn"
    projections = fused("attn.c_attn", "attn.c_proj")
    norm_name = "ln_1"
    norm_eps = "layer_norm_epsilon"
    embedding = "wte"
    learned_positions = ("wpe", 0)
    final_norm_name = "ln_f"

    def check_options(self) -> None:
        for option in ("reorder_and_upcast_attn", "add_cross_attention"):
            if getattr(self.config, option, False):
                raise self.refuse(option, True)

    def projection_bias(self, letter: Letter) -> bool:
        return True

    def linear(self, name: str, shape: tuple[int, int]) -> Float:
        return self.read(name + ".weight", shape[::-1]).T

    def fused_blocks(self, letter: Letter) -> tuple[int, Blocks] | None:
        start = "qkv".index(letter) * self.n_heads
        return 3 * self.n_heads, each(start, start + self.n_heads)

    def scale(self, layer: int) -> float:
        scale = super().scale(layer) if self.config.scale_attn_weights else 1.0
        return scale / (layer + 1) if self.config.scale_attn_by_inverse_layer_idx else scale


class OPT(Architecture):
    model_type = "opt"
    block = "decoder.layers.{layer}."
    projections = Projections("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.out_proj")
    norm_name = "self_attn_layer_norm"
    embedding = "decoder.embed_tokens"
    learned_positions = ("decoder.embed_positions", 2)
    final_norm_name = "decoder.final_layer_norm"
    scale_in_query = True

    def check_options(self) -> None:
        if not self.config.layer_norm_elementwise_affine:
            raise self.refuse("layer_norm_elementwise_affine", False)

    def projection_bias(self, letter: Letter) -> bool:
        return bool(self.config.enable_bias)

    def has_norm(self, layer: int) -> bool:
        return bool(self.config.do_layer_norm_before)

    def has_final_norm(self) -> bool:
        return bool(self.config.do_layer_norm_before) and not self.config._remove_final_layer_norm

    def token_table(self) -> Float:
        """Tokens narrower than the model (OPT-350m) pass through `project_in`."""
        narrow = int(self.config.word_embed_proj_dim)
        table = self.read(self.embedding + ".weight", (int(self.config.vocab_size), narrow))
        return table if narrow == self.width else table @ self.read("decoder.project_in.weight", (self.width, narrow)).T

    def unembedding_table(self) -> Float | None:
        narrow = int(self.config.word_embed_proj_dim)
        if narrow == self.width:
            return super().unembedding_table()
        name = self.embedding + ".weight"
        table = self.read(name, (int(self.config.vocab_size), narrow))
        return table @ self.read("decoder.project_out.weight", (narrow, self.width))

    @property
    def norm_epsilon(self) -> float:
        return 1e-5


class GPTNeo(Architecture):
    """No score scale; every other layer sees a window of `window_size` keys."""

    model_type = "gpt_neo"
    block = "h.{layer}."
    attention = "attn.attention"
    projections = Projections(
        "attn.attention.q_proj", "attn.attention.k_proj", "attn.attention.v_proj", "attn.attention.out_proj"
    )
    norm_name = "ln_1"
    norm_eps = "layer_norm_epsilon"
    embedding = "wte"
    learned_positions = ("wpe", 0)
    final_norm_name = "ln_f"

    def projection_bias(self, letter: Letter) -> bool:
        return letter == "o"

    def scale(self, layer: int) -> float:
        return 1.0

    def window(self, layer: int) -> int | None:
        return int(self.config.window_size) if self.config.attention_layers[layer] == "local" else None


class GPTJ(Architecture):
    """Rotates the first `rotary_dim` dims, pairs interleaved, base 10000."""

    model_type = "gptj"
    block = "h.{layer}."
    attention = "attn"
    projections = Projections("attn.q_proj", "attn.k_proj", "attn.v_proj", "attn.out_proj")
    pairing = "interleaved"
    sin_cos_per_band = True
    norm_name = "ln_1"
    norm_eps = "layer_norm_epsilon"
    embedding = "wte"
    final_norm_name = "ln_f"

    def check_options(self) -> None:
        if self.config.rotary_dim is None:  # the model would then rotate by a table as wide as the model
            raise self.refuse("rotary_dim", None)

    def rotary(self, layer: int) -> RotaryTable | None:
        return rotary_table(
            {"rope_theta": 10000.0},
            head_dim=self.head_dim,
            pairing=self.pairing,
            max_positions=int(self.config.max_position_embeddings),
            model=self.name,
            rotary_dim=int(self.config.rotary_dim),
        )


class CodeGen(GPTJ):
    """Fused `qkv_proj` in 4 blocks (the shards it was trained with), each block [q, v, k]."""

    model_type = "codegen"
    projections = fused("attn.qkv_proj", "attn.out_proj")

    def check_options(self) -> None:
        super().check_options()
        if self.n_heads % 4:
            raise self.refuse("n_head", self.n_heads)

    def fused_blocks(self, letter: Letter) -> tuple[int, Blocks] | None:
        by_shard = np.arange(3 * self.n_heads).reshape(4, 3, self.n_heads // 4)
        return 3 * self.n_heads, by_shard[:, "qvk".index(letter)].reshape(-1)


class GPTNeoX(Architecture):
    """Fused `query_key_value` = per head [q, k, v]."""

    model_type = "gpt_neox"
    attention = "attention"
    projections = fused("attention.query_key_value", "attention.dense")
    norm_name = "input_layernorm"
    embedding = "embed_in"
    final_norm_name = "final_layer_norm"
    unembedding = "embed_out"

    def projection_bias(self, letter: Letter) -> bool:
        return bool(self.config.attention_bias)

    def fused_blocks(self, letter: Letter) -> tuple[int, Blocks] | None:
        return 3 * self.n_heads, np.arange("qkv".index(letter), 3 * self.n_heads, 3)

    def rotary(self, layer: int) -> RotaryTable | None:
        return self.config_rotary(layer)
