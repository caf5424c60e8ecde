"""GGUF metadata → transformers config, architecture by architecture, refusing what the file says and we do not know.

A key that is not listed here could change what the model computes; the file is refused and the key named.
Key names: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md; values: llama.cpp, `conversion/*.py`.
What a GGUF file does not record is set as llama.cpp sets it: the sliding window of Mistral 7B v0.1 and of
StarCoder2 (none), Gemma 2's and 3's query scale, Gemma 3's pattern of layers.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from numerics.errors import UnsupportedArchitecture, UnusableCheckpoint
from numerics.models.sources.config import make_config
from numerics.models.sources.gguf_file import GgufHeader, read_rows

KNOWN_KEYS = frozenset(
    {
        "context_length",
        "embedding_length",
        "block_count",
        "feed_forward_length",
        "vocab_size",
        "attention.head_count",
        "attention.head_count_kv",
        "attention.layer_norm_rms_epsilon",
        "attention.layer_norm_epsilon",
        "attention.key_length",
        "attention.value_length",
        "rope.dimension_count",
        "rope.freq_base",
        "rope.freq_base_swa",
        "rope.scaling.type",
        "rope.scaling.factor",
        "rope.scaling.original_context_length",
        "rope.scaling.finetuned",
        "rope.scale_linear",
        "attention.sliding_window",
        "attention.sliding_window_pattern",
        "attention.causal",
        "attn_logit_softcapping",
        "final_logit_softcapping",
        "use_parallel_residual",
        "tensor_data_layout",
        "pooling_type",
        "expert_count",
        "expert_used_count",
    }
)


@dataclass(frozen=True)
class Fields:
    """The metadata of one file, by key without the architecture's prefix."""

    header: GgufHeader

    def get(self, key: str, default: Any = None) -> Any:
        return self.header.fields.get(f"{self.header.architecture}.{key}", default)

    def need(self, key: str) -> Any:
        value = self.get(key)
        if value is None:
            raise UnusableCheckpoint(
                f"{self.header.file} lacks the metadata key {self.header.architecture}.{key}",
                "convert the model again with a current llama.cpp",
            )
        if isinstance(value, list):
            # One value per layer: only where all are the same can the transformers config say it.
            if len(set(value)) != 1:
                self.refuse(f"{key} differs between layers")
            value = value[0]
        return value

    def refuse(self, what: str) -> None:
        raise UnsupportedArchitecture(
            f"{self.header.file}: {what}, which is not supported for a {self.header.architecture} GGUF file",
            "use the safetensors version of the model",
        )

    def has(self, tensor: str) -> bool:
        return tensor in self.header.tensors

    @property
    def heads(self) -> int:
        return int(self.need("attention.head_count"))

    @property
    def kv_heads(self) -> int:
        return int(self.need("attention.head_count_kv")) if self.get("attention.head_count_kv") else self.heads

    @property
    def head_dim(self) -> int:
        return int(self.get("attention.key_length") or self.need("embedding_length") // self.heads)

    def rope(self) -> dict[str, Any]:
        """`rope_parameters`: the base, and a linear scaling if there is one."""
        factor = self.get("rope.scale_linear", 1.0)
        match self.get("rope.scaling.type", "none"):
            case "none":
                pass
            case "linear":
                factor = self.need("rope.scaling.factor")
            case other:
                self.refuse(f"rope scaling {other!r:.40}")
        base = {"rope_theta": float(self.get("rope.freq_base", 10000.0))}
        return {**base, "rope_type": "default"} if factor == 1.0 else {**base, "rope_type": "linear", "factor": factor}

    def partial_rope(self) -> dict[str, Any]:
        """`rope` with the share of a head's dimensions that rotate."""
        rotated = int(self.get("rope.dimension_count", self.head_dim))
        return {**self.rope(), "partial_rotary_factor": rotated / self.head_dim}


def gguf_config(header: GgufHeader) -> Any:
    """The transformers config of a GGUF file."""
    architecture = header.architecture
    if architecture not in ARCHITECTURES:
        raise UnsupportedArchitecture(
            f"{header.file}: GGUF architecture {architecture!r:.80} is not supported",
            f"use the safetensors version of the model, or a GGUF of one of: {', '.join(sorted(ARCHITECTURES))}",
        )
    f = Fields(header)
    own = f"{architecture}."
    unknown = [key for key in header.fields if key.startswith(own) and key.removeprefix(own) not in KNOWN_KEYS]
    if unknown:
        f.refuse(f"it sets {sorted(unknown)[0]}")
    if f.get("expert_count"):
        f.refuse("it is a mixture of experts")
    if f.get("attention.causal", True) is False:
        f.refuse("its attention is not causal")
    if f.get("attention.value_length", f.head_dim) != f.head_dim:
        f.refuse("values and keys have different lengths")
    if "token_embd.weight" not in header.tensors:
        raise UnusableCheckpoint(f"{header.file} holds no token_embd.weight", "use a .gguf file of the whole model")
    _check_sizes(f)
    common = {
        "vocab_size": header.tensors["token_embd.weight"].shape[0],
        "tie_word_embeddings": "output.weight" not in header.tensors,
        "bos_token_id": header.fields.get("tokenizer.ggml.bos_token_id"),
        "eos_token_id": header.fields.get("tokenizer.ggml.eos_token_id"),
        "pad_token_id": header.fields.get("tokenizer.ggml.padding_token_id"),
    }
    return make_config({**common, **ARCHITECTURES[architecture](f)}, where=str(header.file))


def _check_sizes(f: Fields) -> None:
    """Layers and width as the metadata say must be those of the tensors: a damaged number could be any size."""
    found = {int(name.split(".")[1]) for name in f.header.tensors if re.match(r"blk\.\d+\.", name)}
    layers, width = f.need("block_count"), f.need("embedding_length")
    stored = f.header.tensors["token_embd.weight"].shape[-1]
    if found != set(range(len(found))) or layers != len(found) or width != stored or not 0 < f.heads <= width:
        raise UnusableCheckpoint(
            f"{f.header.file}: the metadata say {layers} layers, width {width} and {f.heads} heads, "
            f"the tensors {len(found)} layers and width {stored}",
            "copy or download the file again",
        )


def _shape(f: Fields) -> dict[str, Any]:
    """What most architectures call alike."""
    return {
        "hidden_size": f.need("embedding_length"),
        "num_hidden_layers": f.need("block_count"),
        "intermediate_size": f.need("feed_forward_length"),
        "num_attention_heads": f.heads,
        "num_key_value_heads": f.kv_heads,
        "max_position_embeddings": f.need("context_length"),
    }


def _rms(f: Fields) -> dict[str, Any]:
    return {"rms_norm_eps": f.need("attention.layer_norm_rms_epsilon")}


def _llama(f: Fields) -> dict[str, Any]:
    if f.get("rope.dimension_count", f.head_dim) != f.head_dim:
        f.refuse("only a part of each head rotates")
    bias = f.has("blk.0.attn_q.bias")
    if bias != f.has("blk.0.attn_output.bias"):
        f.refuse("queries and the output do not both have a bias")
    return {
        "model_type": "llama",
        **_shape(f),
        **_rms(f),
        "head_dim": f.head_dim,
        "attention_bias": bias,
        "mlp_bias": f.has("blk.0.ffn_gate.bias"),
        "rope_parameters": _llama3_rope(f) if f.has("rope_freqs.weight") else f.rope(),
    }


def _llama3_rope(f: Fields) -> dict[str, Any]:
    """Llama 3.1's scaling is stored as its factors alone; take them for what they are only if they come out again."""
    tensor = f.header.tensors["rope_freqs.weight"]
    stored = next(read_rows(f.header.file, tensor))[1].ravel().astype(np.float64)
    theta = float(f.get("rope.freq_base", 10000.0))
    factor, low, high, length = float(stored.max()), 1.0, 4.0, 8192
    turns = length * theta ** (-np.arange(0, f.head_dim, 2) / f.head_dim) / (2 * np.pi)
    smooth = np.clip((turns - low) / (high - low), 0.0, 1.0)
    expected = 1 / ((1 - smooth) / factor + smooth)
    # The converter computes in float32; smooth's error of a few 1e-7 grows at most by the factor, which is below 100.
    if len(stored) != len(expected) or not np.allclose(stored, expected, rtol=1e-4, atol=0):
        f.refuse("the factors in rope_freqs.weight are not those of Llama 3.1")
    return {
        "rope_type": "llama3",
        "rope_theta": theta,
        "factor": round(factor, 4),
        "low_freq_factor": low,
        "high_freq_factor": high,
        "original_max_position_embeddings": length,
    }


def _qwen2(f: Fields) -> dict[str, Any]:
    return {"model_type": "qwen2", **_shape(f), **_rms(f), "rope_parameters": f.rope(), "use_sliding_window": False}


def _qwen3(f: Fields) -> dict[str, Any]:
    return {**_qwen2(f), "model_type": "qwen3", "head_dim": f.head_dim, "attention_bias": f.has("blk.0.attn_q.bias")}


def _gemma(f: Fields) -> dict[str, Any]:
    return {
        "model_type": "gemma",
        **_shape(f),
        **_rms(f),
        "head_dim": f.head_dim,
        "rope_parameters": f.rope(),
        "tie_word_embeddings": True,
    }


def _query_scalar(f: Fields, layers_of_27b: int) -> int:
    """The number whose inverse root scales q·k: the head dim, but width / heads in the 27B models. Not in the file."""
    return int(f.need("embedding_length")) // f.heads if f.need("block_count") == layers_of_27b else f.head_dim


def _gemma2(f: Fields) -> dict[str, Any]:
    return {
        **_gemma(f),
        "model_type": "gemma2",
        "query_pre_attn_scalar": _query_scalar(f, layers_of_27b=46),
        "attn_logit_softcapping": f.get("attn_logit_softcapping", 50.0),
        "final_logit_softcapping": f.get("final_logit_softcapping", 30.0),
        "sliding_window": f.need("attention.sliding_window"),
    }


def _gemma3(f: Fields) -> dict[str, Any]:
    pattern = f.get("attention.sliding_window_pattern", 6)
    layers = f.need("block_count")
    slides = pattern if isinstance(pattern, list) else [bool((layer + 1) % pattern) for layer in range(layers)]
    if len(slides) != layers:
        f.refuse("its sliding_window_pattern has not one entry per layer")
    local = float(f.get("rope.freq_base_swa", 10000.0))
    full = {**f.rope(), "rope_theta": float(f.get("rope.freq_base", 1_000_000.0))}
    return {
        **_gemma(f),
        "model_type": "gemma3_text",
        "query_pre_attn_scalar": _query_scalar(f, layers_of_27b=62),
        "attn_logit_softcapping": f.get("attn_logit_softcapping"),
        "final_logit_softcapping": f.get("final_logit_softcapping"),
        "sliding_window": f.need("attention.sliding_window"),
        "layer_types": ["sliding_attention" if slide else "full_attention" for slide in slides],
        "rope_parameters": {
            "sliding_attention": {"rope_type": "default", "rope_theta": local},
            "full_attention": full,
        },
        "tie_word_embeddings": not f.has("output.weight"),
    }


def _phi3(f: Fields) -> dict[str, Any]:
    if f.has("rope_factors_long.weight"):
        f.refuse("rope scaling longrope")
    return {
        "model_type": "phi3",
        **_shape(f),
        **_rms(f),
        "original_max_position_embeddings": f.get("rope.scaling.original_context_length", f.need("context_length")),
        "sliding_window": f.get("attention.sliding_window") or None,
        "rope_parameters": f.partial_rope(),
    }


def _starcoder2(f: Fields) -> dict[str, Any]:
    return {
        "model_type": "starcoder2",
        **_shape(f),
        "norm_epsilon": f.need("attention.layer_norm_epsilon"),
        "use_bias": f.has("blk.0.attn_q.bias"),
        "sliding_window": None,
        "rope_parameters": f.rope(),
    }


def _stablelm(f: Fields) -> dict[str, Any]:
    if f.has("blk.0.attn_q_norm.weight"):
        f.refuse("a norm on queries and keys")
    parallel = not f.has("blk.0.ffn_norm.weight")
    if bool(f.get("use_parallel_residual", parallel)) != parallel:
        f.refuse("use_parallel_residual contradicts its tensors, the model")
    return {
        "model_type": "stablelm",
        **_shape(f),
        "layer_norm_eps": f.need("attention.layer_norm_epsilon"),
        "use_qkv_bias": f.has("blk.0.attn_q.bias"),
        "use_parallel_residual": parallel,
        "rope_parameters": f.partial_rope(),
    }


def _gpt2(f: Fields) -> dict[str, Any]:
    return {
        "model_type": "gpt2",
        "n_embd": f.need("embedding_length"),
        "n_layer": f.need("block_count"),
        "n_head": f.heads,
        "n_inner": f.need("feed_forward_length"),
        "n_positions": f.need("context_length"),
        "layer_norm_epsilon": f.need("attention.layer_norm_epsilon"),
    }


def _bloom(f: Fields) -> dict[str, Any]:
    if f.need("feed_forward_length") != 4 * f.need("embedding_length"):
        f.refuse("an MLP that is not four times as wide as the model")
    return {
        "model_type": "bloom",
        "hidden_size": f.need("embedding_length"),
        "n_layer": f.need("block_count"),
        "n_head": f.heads,
        "layer_norm_epsilon": f.need("attention.layer_norm_epsilon"),
    }


def _falcon(f: Fields) -> dict[str, Any]:
    grouped = f.kv_heads > 1
    if f.get("tensor_data_layout") != "jploski":
        f.refuse(f"tensor_data_layout {f.get('tensor_data_layout')!r:.40}")
    if f.has("blk.0.attn_qkv.bias") or f.kv_heads == f.heads > 1:
        f.refuse("the layout of Falcon RW (ALiBi and biases)")
    return {
        "model_type": "falcon",
        **{key: value for key, value in _shape(f).items() if not key.startswith(("num_key", "intermediate"))},
        "ffn_hidden_size": f.need("feed_forward_length"),
        "num_kv_heads": f.kv_heads,
        "multi_query": True,
        "new_decoder_architecture": grouped,
        "num_ln_in_parallel_attn": 2 if f.has("blk.0.attn_norm_2.weight") else 1,
        "parallel_attn": True,
        "bias": False,
        "alibi": False,
        "layer_norm_epsilon": f.need("attention.layer_norm_epsilon"),
        "rope_parameters": f.rope(),
    }


ARCHITECTURES: dict[str, Callable[[Fields], dict[str, Any]]] = {
    "llama": _llama,
    "qwen2": _qwen2,
    "qwen3": _qwen3,
    "gemma": _gemma,
    "gemma2": _gemma2,
    "gemma3": _gemma3,
    "phi3": _phi3,
    "starcoder2": _starcoder2,
    "stablelm": _stablelm,
    "gpt2": _gpt2,
    "bloom": _bloom,
    "falcon": _falcon,
}
