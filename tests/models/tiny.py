"""Tiny random models of every supported architecture and of the options that change how its heads are read.

Each entry has 2 or 3 layers, width 48 or 64 and weights large enough for scores of order one, with random gains and
biases: a gain that is forgotten or a bias that is dropped changes the scores by far more than any tolerance.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

V = 67
LAYERS = 2

_GPT: dict[str, Any] = {"vocab_size": V, "n_embd": 64, "n_layer": LAYERS, "n_head": 4, "n_positions": 64}
_LLAMA: dict[str, Any] = {
    "vocab_size": V,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
}
_BERT: dict[str, Any] = {
    "vocab_size": V,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": 4,
    "max_position_embeddings": 64,
}
_ROPE = {"rope_theta": 10000.0}

# name of the case: (model_type, options of its config)
TINY: dict[str, tuple[str, dict[str, Any]]] = {
    "gpt2": ("gpt2", _GPT),
    "gpt2-scaled-by-layer": ("gpt2", _GPT | {"scale_attn_by_inverse_layer_idx": True}),
    "opt": ("opt", _BERT | {"ffn_dim": 96, "word_embed_proj_dim": 64}),
    "opt-post-norm": ("opt", _BERT | {"ffn_dim": 96, "word_embed_proj_dim": 32, "do_layer_norm_before": False}),
    "gpt_neo": (
        "gpt_neo",
        {
            "vocab_size": V,
            "hidden_size": 64,
            "num_layers": 2,
            "num_heads": 4,
            "max_position_embeddings": 64,
            "attention_types": [[["global", "local"], 1]],
            "window_size": 5,
        },
    ),
    "gptj": ("gptj", _GPT | {"rotary_dim": 8}),
    "codegen": ("codegen", _GPT | {"n_head": 8, "rotary_dim": 4}),
    "gpt_neox": (
        "gpt_neox",
        _BERT | {"rope_parameters": _ROPE | {"rope_type": "default", "partial_rotary_factor": 0.25}},
    ),
    "gpt_neox-full-rotary-no-bias": (
        "gpt_neox",
        _BERT | {"rope_parameters": _ROPE | {"rope_type": "default"}, "attention_bias": False},
    ),
    "bloom": ("bloom", {"vocab_size": V, "hidden_size": 64, "n_layer": LAYERS, "n_head": 4}),
    "bloom-6-heads": ("bloom", {"vocab_size": V, "hidden_size": 48, "n_layer": LAYERS, "n_head": 6}),
    "mpt": ("mpt", {"vocab_size": V, "d_model": 64, "n_layers": LAYERS, "n_heads": 4, "max_seq_len": 64}),
    "mpt-6-heads": ("mpt", {"vocab_size": V, "d_model": 48, "n_layers": LAYERS, "n_heads": 6, "max_seq_len": 64}),
    "falcon-multi-query": ("falcon", _BERT | {"multi_query": True, "new_decoder_architecture": False}),
    "falcon-grouped": ("falcon", _BERT | {"num_kv_heads": 2, "new_decoder_architecture": True, "bias": True}),
    "falcon-grouped-one-norm": (
        "falcon",
        _BERT | {"num_kv_heads": 2, "new_decoder_architecture": True, "num_ln_in_parallel_attn": 1},
    ),
    "falcon-alibi": (
        "falcon",
        _BERT
        | {
            "multi_query": False,
            "new_decoder_architecture": False,
            "alibi": True,
            "bias": True,
            "parallel_attn": False,
        },
    ),
    "llama": ("llama", _LLAMA),
    "llama-one-kv-head-per-query": ("llama", _LLAMA | {"num_key_value_heads": 4}),
    "llama-one-kv-head": ("llama", _LLAMA | {"num_key_value_heads": 1}),
    "llama-7-groups": ("llama", _LLAMA | {"hidden_size": 56, "num_attention_heads": 14, "head_dim": 12}),
    "llama-wide-heads-bias": ("llama", _LLAMA | {"head_dim": 24, "attention_bias": True}),
    "llama-linear": ("llama", _LLAMA | {"rope_parameters": _ROPE | {"rope_type": "linear", "factor": 4.0}}),
    "llama-llama3": (
        "llama",
        _LLAMA
        | {
            "rope_parameters": _ROPE
            | {
                "rope_type": "llama3",
                "factor": 8.0,
                "low_freq_factor": 1.0,
                "high_freq_factor": 4.0,
                "original_max_position_embeddings": 32,
            }
        },
    ),
    "llama-yarn": (
        "llama",
        _LLAMA
        | {
            "rope_parameters": _ROPE
            | {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32, "beta_fast": 4.0}
        },
    ),
    "mistral": ("mistral", _LLAMA | {"head_dim": 24, "sliding_window": 5}),
    "qwen2": ("qwen2", _LLAMA),
    "qwen2-sliding": ("qwen2", _LLAMA | {"use_sliding_window": True, "sliding_window": 5, "max_window_layers": 1}),
    "qwen3": ("qwen3", _LLAMA | {"head_dim": 24}),
    "gemma": ("gemma", _LLAMA | {"head_dim": 24}),
    "gemma2": (
        "gemma2",
        _LLAMA | {"head_dim": 24, "sliding_window": 5, "query_pre_attn_scalar": 40, "attn_logit_softcapping": 3.0},
    ),
    "gemma3": (
        "gemma3_text",
        _LLAMA
        | {
            "head_dim": 24,
            "sliding_window": 5,
            "query_pre_attn_scalar": 40,
            "layer_types": ["sliding_attention", "full_attention"],
        },
    ),
    "gemma3-with-images": (
        "gemma3",
        {
            "text_config": _LLAMA | {"head_dim": 24, "sliding_window": 5, "query_pre_attn_scalar": 40},
            "vision_config": {
                "hidden_size": 32,
                "intermediate_size": 32,
                "num_hidden_layers": 1,
                "num_attention_heads": 2,
                "image_size": 28,
                "patch_size": 14,
            },
            "mm_tokens_per_image": 4,
        },
    ),
    "phi": ("phi", _LLAMA),
    "phi-qk-norm": ("phi", _LLAMA | {"qk_layernorm": True, "num_key_value_heads": 4}),
    "phi3": ("phi3", _LLAMA | {"sliding_window": 5, "pad_token_id": 0}),
    "phi3-longrope-partial": (
        "phi3",
        _LLAMA
        | {
            "pad_token_id": 0,
            "original_max_position_embeddings": 32,
            "rope_parameters": _ROPE
            | {
                "rope_type": "longrope",
                "partial_rotary_factor": 0.5,
                "short_factor": [1.0, 1.1, 1.3, 1.7],
                "long_factor": [2.0, 3.0, 4.0, 5.0],
                "original_max_position_embeddings": 32,
            },
        },
    ),
    "cohere": ("cohere", _LLAMA),
    "cohere-qk-norm": ("cohere", _LLAMA | {"use_qk_norm": True}),
    "olmo2": ("olmo2", _LLAMA),
    "stablelm": (
        "stablelm",
        _LLAMA | {"rope_parameters": _ROPE | {"rope_type": "default", "partial_rotary_factor": 0.5}},
    ),
    "stablelm-qk-norm-bias": ("stablelm", _LLAMA | {"qk_layernorm": True, "use_qkv_bias": True}),
    "starcoder2": ("starcoder2", _LLAMA | {"sliding_window": 5, "bos_token_id": 0, "eos_token_id": 0}),
    "bert": ("bert", _BERT),
    "roberta": ("roberta", _BERT),
    "distilbert": (
        "distilbert",
        {"vocab_size": V, "dim": 64, "hidden_dim": 96, "n_layers": LAYERS, "n_heads": 4, "max_position_embeddings": 64},
    ),
    "mpnet": ("mpnet", _BERT),
    "t5": (
        "t5",
        {
            "vocab_size": V,
            "d_model": 64,
            "d_kv": 12,
            "d_ff": 96,
            "num_layers": 2,
            "num_decoder_layers": 3,
            "num_heads": 4,
            "relative_attention_num_buckets": 8,
            "relative_attention_max_distance": 10,
        },
    ),
}


def tiny_config(case: str) -> Any:
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    model_type, options = TINY[case]
    special = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
    if model_type in ("roberta", "mpnet"):
        special["pad_token_id"] = 1
    return CONFIG_MAPPING[model_type](**(special | options))


def tiny_module(case: str, seed: int = 0) -> Any:
    """The transformers model of a case in float64, eager, every parameter random."""
    from transformers import (
        AutoModel,
        AutoModelForCausalLM,
        AutoModelForImageTextToText,
        T5ForConditionalGeneration,
    )

    config = tiny_config(case)
    encoder = config.model_type in ("bert", "roberta", "distilbert", "mpnet")
    torch.manual_seed(seed)
    if config.model_type == "gemma3":
        module = AutoModelForImageTextToText.from_config(config, attn_implementation="eager")
    elif config.model_type == "t5":
        module = T5ForConditionalGeneration._from_config(config, attn_implementation="eager")
    else:
        module = (AutoModel if encoder else AutoModelForCausalLM).from_config(config, attn_implementation="eager")
    with torch.no_grad():
        for parameter in module.parameters():
            noise = torch.randn_like(parameter)
            if parameter.ndim == 1:
                parameter.add_(0.3 * noise)
            else:
                parameter.copy_(noise / parameter.shape[-1] ** 0.5)
    return module.double().eval()


def save_tiny(case: str, folder: Path, seed: int = 0) -> Path:
    """Write a case as a safetensors folder in float64 and return the folder."""
    tiny_module(case, seed).save_pretrained(folder)
    return folder
