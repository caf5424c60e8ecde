"""GGUF tensor names → transformers parameter names, and what llama.cpp's conversion did to each tensor, undone.

Two things are done to a matrix on its way into a GGUF file: rows are put into another order, and gpt2's (in, out)
matrices are transposed. One thing is done to a vector: Gemma's gains are stored as they act, transformers holds them
minus one. Source of the rules: llama.cpp, `conversion/*.py` (`modify_tensors` of each model).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Order = NDArray[np.intp]

ATTENTION = {
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
}
GATED_MLP = {"ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj"}
PRE_NORMS = {"attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm"}
QK_NORMS = {"attn_q_norm": "self_attn.q_norm", "attn_k_norm": "self_attn.k_norm"}
SANDWICH_NORMS = {
    "attn_norm": "input_layernorm",
    "post_attention_norm": "post_attention_layernorm",
    "ffn_norm": "pre_feedforward_layernorm",
    "post_ffw_norm": "post_feedforward_layernorm",
}
TOP = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}


@dataclass(frozen=True)
class Names:
    """Names of one architecture, without `.weight`/`.bias`: outside the layers, and inside `blk.{i}` ↔ `layer.{i}`.

    `row_order(config, leaf)` gives for a layer's tensor the transformers row of each stored row, None where none moved.
    """

    top: dict[str, str]
    layer: str
    leaves: dict[str, str]
    row_order: Callable[[Any, str], Order | None] = field(default=lambda config, leaf: None)
    transposed: frozenset[str] = frozenset()
    gains_minus_one: bool = False


def rotary_pairs(n_heads: int, head_dim: int) -> Order:
    """Row order of llama's Q and K: stored 2i, 2i+1 of a head are its rows i, i + n/2 (interleaved → half-split)."""
    within = np.arange(head_dim).reshape(2, head_dim // 2).T.ravel()
    return np.concatenate([head * head_dim + within for head in range(n_heads)])


def _llama_rows(config: Any, leaf: str) -> Order | None:
    heads = {"attn_q": config.num_attention_heads, "attn_k": config.num_key_value_heads}
    return rotary_pairs(heads[leaf], config.head_dim) if leaf in heads else None


def _bloom_rows(config: Any, leaf: str) -> Order | None:
    """Stored: all Q, all K, all V. transformers: q, k, v of head 0, of head 1, …"""
    if leaf != "attn_qkv":
        return None
    n = config.hidden_size // config.n_head
    return np.arange(3 * config.hidden_size).reshape(config.n_head, 3, n).swapaxes(0, 1).ravel()


def _falcon_rows(config: Any, leaf: str) -> Order | None:
    """Stored: all Q, all K, all V. transformers: for each key/value head its queries, its key, its value."""
    if leaf != "attn_qkv":
        return None
    groups = config.num_kv_heads if config.new_decoder_architecture else 1
    n = config.hidden_size // config.num_attention_heads
    per_group = config.num_attention_heads // groups + 2
    rows = np.arange(groups * per_group * n).reshape(groups, per_group, n)
    return np.concatenate([rows[:, :-2].ravel(), rows[:, -2].ravel(), rows[:, -1].ravel()])


_GPT2_LEAVES = {
    "attn_norm": "ln_1",
    "attn_qkv": "attn.c_attn",
    "attn_output": "attn.c_proj",
    "ffn_norm": "ln_2",
    "ffn_up": "mlp.c_fc",
    "ffn_down": "mlp.c_proj",
}
_BLOOM_LEAVES = {
    "attn_norm": "input_layernorm",
    "attn_qkv": "self_attention.query_key_value",
    "attn_output": "self_attention.dense",
    "ffn_norm": "post_attention_layernorm",
    "ffn_up": "mlp.dense_h_to_4h",
    "ffn_down": "mlp.dense_4h_to_h",
}
_PHI3_LEAVES = {
    **PRE_NORMS,
    "attn_qkv": "self_attn.qkv_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_up": "mlp.gate_up_proj",
    "ffn_down": "mlp.down_proj",
}
_BLOOM_TOP = {
    "token_embd": "transformer.word_embeddings",
    "token_embd_norm": "transformer.word_embeddings_layernorm",
    "output_norm": "transformer.ln_f",
    "output": "lm_head",
}
_GPT2_TOP = {
    "token_embd": "transformer.wte",
    "position_embd": "transformer.wpe",
    "output_norm": "transformer.ln_f",
    "output": "lm_head",
}
_FALCON_TOP = {"token_embd": "transformer.word_embeddings", "output_norm": "transformer.ln_f", "output": "lm_head"}


def falcon_leaves(two_norms: bool) -> dict[str, str]:
    """Falcon 40B has one norm for attention and one for the MLP; its `attn_norm` is the MLP's."""
    norms = {"attn_norm": "ln_mlp", "attn_norm_2": "ln_attn"} if two_norms else {"attn_norm": "input_layernorm"}
    return {**{leaf: name for leaf, name in _BLOOM_LEAVES.items() if not leaf.endswith("norm")}, **norms}


def names_of(model_type: str, config: Any) -> Names:
    """The names of a model whose architecture `gguf_config` knows."""
    layers = "model.layers"
    match model_type:
        case "llama":
            return Names(TOP, layers, {**ATTENTION, **GATED_MLP, **PRE_NORMS}, row_order=_llama_rows)
        case "qwen2":
            return Names(TOP, layers, {**ATTENTION, **GATED_MLP, **PRE_NORMS})
        case "qwen3":
            return Names(TOP, layers, {**ATTENTION, **GATED_MLP, **PRE_NORMS, **QK_NORMS})
        case "gemma":
            return Names(TOP, layers, {**ATTENTION, **GATED_MLP, **PRE_NORMS}, gains_minus_one=True)
        case "gemma2":
            return Names(TOP, layers, {**ATTENTION, **GATED_MLP, **SANDWICH_NORMS}, gains_minus_one=True)
        case "gemma3_text":
            leaves = {**ATTENTION, **GATED_MLP, **SANDWICH_NORMS, **QK_NORMS}
            return Names(TOP, layers, leaves, gains_minus_one=True)
        case "phi3":
            return Names(TOP, layers, _PHI3_LEAVES)
        case "starcoder2":
            return Names(TOP, layers, {**ATTENTION, **PRE_NORMS, "ffn_up": "mlp.c_fc", "ffn_down": "mlp.c_proj"})
        case "stablelm":
            return Names(TOP, layers, {**ATTENTION, **GATED_MLP, **PRE_NORMS})
        case "gpt2":
            matrices = frozenset({"attn_qkv", "attn_output", "ffn_up", "ffn_down"})
            return Names(_GPT2_TOP, "transformer.h", _GPT2_LEAVES, transposed=matrices)
        case "bloom":
            return Names(_BLOOM_TOP, "transformer.h", _BLOOM_LEAVES, row_order=_bloom_rows)
        case "falcon":
            leaves = falcon_leaves(two_norms=config.num_ln_in_parallel_attn == 2)
            return Names(_FALCON_TOP, "transformer.h", leaves, row_order=_falcon_rows)
        case _:
            raise KeyError(model_type)
