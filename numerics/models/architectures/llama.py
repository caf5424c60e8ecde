"""Decoders of the Llama line: separate projections, grouped key/value heads, rotary positions."""

from __future__ import annotations

import math
from typing import ClassVar, Literal

import numpy as np

from numerics.models.architectures.base import Architecture, Blocks, Letter, NormKind, Projections, each, fused
from numerics.models.heads import QKNorm
from numerics.models.rotary import RotaryTable


class Llama(Architecture):
    model_type = "llama"
    projections = Projections("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj")
    norm_name: ClassVar[str | None] = "input_layernorm"
    norm_kind: ClassVar[NormKind] = "rms"
    norm_bias = False
    norm_eps = "rms_norm_eps"

    def projection_bias(self, letter: Letter) -> bool:
        return bool(getattr(self.config, "attention_bias", False))

    def rotary(self, layer: int) -> RotaryTable | None:
        return self.config_rotary(layer)

    def head_rms_norm(self, letter: Literal["q", "k"], layer: int) -> QKNorm:
        """A root-mean-square norm over each head's dims, one gain for all heads."""
        name = self.block_name(layer) + (self.q_norm_name if letter == "q" else self.k_norm_name)
        gain = self.read(name + ".weight", (self.head_dim,)) + self.norm_offset
        heads = self.n_heads if letter == "q" else self.n_kv_heads
        return QKNorm("rms", np.tile(gain, (heads, 1)), None, self.norm_epsilon)


class Mistral(Llama):
    model_type = "mistral"

    def window(self, layer: int) -> int | None:
        return self.layer_window(layer)


class Qwen2(Llama):
    """Biases on q, k and v."""

    model_type = "qwen2"

    def projection_bias(self, letter: Letter) -> bool:
        return letter != "o"

    def window(self, layer: int) -> int | None:
        return self.layer_window(layer)


class Qwen3(Llama):
    """Root-mean-square norm on each head's q and k."""

    model_type = "qwen3"

    def qk_norm(self, letter: Literal["q", "k"], layer: int) -> QKNorm | None:
        return self.head_rms_norm(letter, layer)

    def window(self, layer: int) -> int | None:
        return self.layer_window(layer)


class Gemma(Llama):
    """Gains stored minus one; token embeddings times √D."""

    model_type = "gemma"
    norm_offset = 1.0

    def check_options(self) -> None:
        if getattr(self.config, "use_bidirectional_attention", False):
            raise self.refuse("use_bidirectional_attention", True)

    @property
    def embedding_scale(self) -> float:
        return math.sqrt(self.width)

    @property
    def logit_softcap(self) -> float | None:
        cap = getattr(self.config, "final_logit_softcapping", None)
        return None if cap is None else float(cap)


class Gemma2(Gemma):
    """Softcap on the scores, alternating windows, a norm after the attention, its own score scale."""

    model_type = "gemma2"
    post_norm_name = "post_attention_layernorm"

    def scale(self, layer: int) -> float:
        return 1.0 / math.sqrt(self.config.query_pre_attn_scalar)

    def softcap(self, layer: int) -> float | None:
        cap = self.config.attn_logit_softcapping
        return None if cap is None else float(cap)

    def window(self, layer: int) -> int | None:
        return self.layer_window(layer)


class Gemma3(Gemma2):
    """Gemma 2 with a norm on q and k instead of the softcap, and a rotary base per layer type."""

    model_type = "gemma3_text"
    softcap = Architecture.softcap

    def check_options(self) -> None:
        super().check_options()
        if self.config.attn_logit_softcapping is not None:  # the model ignores it
            raise self.refuse("attn_logit_softcapping", self.config.attn_logit_softcapping)

    def qk_norm(self, letter: Literal["q", "k"], layer: int) -> QKNorm | None:
        return self.head_rms_norm(letter, layer)


class Phi(Llama):
    """LayerNorm, partial rotary, biases everywhere, optionally a LayerNorm with bias on each head's q and k."""

    model_type = "phi"
    projections = Projections("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.dense")
    norm_kind = "layernorm"
    norm_bias = True
    norm_eps = "layer_norm_eps"
    final_norm_name = "final_layernorm"

    def projection_bias(self, letter: Letter) -> bool:
        return True

    def qk_norm(self, letter: Literal["q", "k"], layer: int) -> QKNorm | None:
        if not self.config.qk_layernorm:
            return None
        name = f"{self.block_name(layer)}self_attn.{letter}_layernorm"
        heads = self.n_heads if letter == "q" else self.n_kv_heads
        gain, bias = (np.tile(self.read(f"{name}.{part}", (self.head_dim,)), (heads, 1)) for part in ("weight", "bias"))
        return QKNorm("layernorm", gain, bias, self.norm_epsilon)


class Phi3(Llama):
    """Fused `qkv_proj` = [all Q, all K, all V] with grouped key/value heads."""

    model_type = "phi3"
    projections = fused("self_attn.qkv_proj", "self_attn.o_proj")

    def projection_bias(self, letter: Letter) -> bool:
        return False

    def fused_blocks(self, letter: Letter) -> tuple[int, Blocks] | None:
        heads, groups = self.n_heads, self.n_kv_heads
        start = {"q": 0, "k": heads, "v": heads + groups}[letter]
        return heads + 2 * groups, each(start, start + (heads if letter == "q" else groups))

    def window(self, layer: int) -> int | None:
        return self.layer_window(layer)


class Cohere(Llama):
    """LayerNorm without bias, interleaved rotary pairs, optionally a LayerNorm with a gain per head on q and k."""

    model_type = "cohere"
    pairing = "interleaved"
    norm_kind = "layernorm"
    norm_eps = "layer_norm_eps"

    def qk_norm(self, letter: Literal["q", "k"], layer: int) -> QKNorm | None:
        if not self.config.use_qk_norm:
            return None
        heads = self.n_heads if letter == "q" else self.n_kv_heads
        name = f"{self.block_name(layer)}self_attn.{letter}_norm.weight"
        return QKNorm("layernorm", self.read(name, (heads, self.head_dim)), None, self.norm_epsilon)

    @property
    def logit_scale(self) -> float:
        return float(self.config.logit_scale)


class Olmo2(Llama):
    """No norm before attention: q and k are normed over all heads at once, the output before it joins the residual."""

    model_type = "olmo2"
    norm_name = None
    post_norm_name = "post_attention_layernorm"

    def qk_norm(self, letter: Literal["q", "k"], layer: int) -> QKNorm | None:
        heads = self.n_heads if letter == "q" else self.n_kv_heads
        gain = self.read(f"{self.block_name(layer)}self_attn.{letter}_norm.weight", (heads * self.head_dim,))
        return QKNorm("rms", gain.reshape(heads, self.head_dim), None, self.norm_epsilon, "all heads")


class StableLM(Llama):
    """LayerNorm, partial rotary, optionally a LayerNorm without bias per head on q and k."""

    model_type = "stablelm"
    norm_kind = "layernorm"
    norm_bias = True
    norm_eps = "layer_norm_eps"

    def projection_bias(self, letter: Letter) -> bool:
        return letter != "o" and bool(self.config.use_qkv_bias)

    def qk_norm(self, letter: Literal["q", "k"], layer: int) -> QKNorm | None:
        if not self.config.qk_layernorm:
            return None
        heads = self.n_heads if letter == "q" else self.n_kv_heads
        name = f"{self.block_name(layer)}self_attn.{letter}_layernorm.norms"
        gains = [self.read(f"{name}.{head}.weight", (self.head_dim,)) for head in range(heads)]
        return QKNorm("layernorm", np.stack(gains), None, self.norm_epsilon)


class Starcoder2(Llama):
    """LayerNorm, biases everywhere, a window on every layer if the config has one."""

    model_type = "starcoder2"
    norm_kind = "layernorm"
    norm_bias = True
    norm_eps = "norm_epsilon"

    def projection_bias(self, letter: Letter) -> bool:
        return bool(self.config.use_bias)

    def window(self, layer: int) -> int | None:
        return self.layer_window(layer)
