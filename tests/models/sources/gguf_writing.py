"""Write tiny transformers models as GGUF files, by the rules of llama.cpp's `conversion/*.py`, for reading them back.

The forward direction is written here from the published converter, tensor names come from the gguf package's own map;
nothing is shared with the reader under test.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import torch

ARCHITECTURE = {"mistral": "llama", "gemma3_text": "gemma3"}


def write_gguf(
    module: Any,
    path: Path,
    kind: gguf.GGMLQuantizationType = gguf.GGMLQuantizationType.F32,
    extra: dict[str, Any] | None = None,
    kv_heads_as_array: bool = False,
) -> Path:
    """Write `module` to `path`. `extra`: further metadata under the architecture's prefix (None removes a key)."""
    config = module.config
    name = ARCHITECTURE.get(config.model_type, config.model_type)
    arch = next(key for key, value in gguf.MODEL_ARCH_NAMES.items() if value == name)
    layers = config.num_hidden_layers
    names = gguf.get_tensor_name_map(arch, layers)
    writer = gguf.GGUFWriter(path, name)
    writer.add_file_type(_file_type(kind))
    for key, value in (_metadata(config) | (extra or {})).items():
        _add(writer, f"{name}.{key}", [value] * layers if kv_heads_as_array and key.endswith("count_kv") else value)
    for hf_name, tensor in _tensors(module):
        stored = names.get_name(hf_name, try_suffixes=(".weight", ".bias"))
        assert stored is not None, hf_name
        # Norms and vectors stay float32, as does what a block format cannot hold.
        blocks, _ = gguf.GGML_QUANT_SIZES[kind]
        own = kind if tensor.ndim > 1 and tensor.shape[-1] % blocks == 0 else gguf.GGMLQuantizationType.F32
        writer.add_tensor(stored, gguf.quants.quantize(tensor, own), raw_dtype=own)
    if config.model_type == "llama" and config.rope_parameters["rope_type"] == "llama3":
        writer.add_tensor("rope_freqs.weight", _llama3_factors(config))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _file_type(kind: gguf.GGMLQuantizationType) -> int:
    label = "ALL_F32" if kind == gguf.GGMLQuantizationType.F32 else f"MOSTLY_{kind.name}"
    return int(gguf.LlamaFileType[label])


def _add(writer: gguf.GGUFWriter, key: str, value: Any) -> None:
    if value is None:
        return
    if isinstance(value, bool):
        writer.add_bool(key, value)
    elif isinstance(value, int):
        writer.add_uint32(key, value)
    elif isinstance(value, float):
        writer.add_float32(key, value)
    elif isinstance(value, str):
        writer.add_string(key, value)
    else:
        writer.add_array(key, value)


def _metadata(c: Any) -> dict[str, Any]:
    """`set_gguf_parameters` of each converter."""
    heads, width, model_type = c.num_attention_heads, c.hidden_size, c.model_type
    common = {"block_count": c.num_hidden_layers, "embedding_length": width, "attention.head_count": heads}
    if model_type == "gpt2":
        return common | {
            "context_length": c.n_positions,
            "feed_forward_length": 4 * width,
            "attention.layer_norm_epsilon": c.layer_norm_epsilon,
        }
    if model_type == "bloom":
        return common | {
            "context_length": width,
            "feed_forward_length": 4 * width,
            "attention.head_count_kv": heads,
            "attention.layer_norm_epsilon": c.layer_norm_epsilon,
        }
    if model_type == "falcon":
        return common | {
            "context_length": 2048,
            "tensor_data_layout": "jploski",
            "feed_forward_length": 4 * width,
            "attention.head_count_kv": c.num_kv_heads if c.new_decoder_architecture else 1,
            "attention.layer_norm_epsilon": c.layer_norm_epsilon,
        }
    common |= {
        "context_length": c.max_position_embeddings,
        "feed_forward_length": c.intermediate_size,
        "attention.head_count_kv": c.num_key_value_heads,
    }
    if model_type in ("starcoder2", "stablelm"):
        eps = c.norm_epsilon if model_type == "starcoder2" else c.layer_norm_eps
        common |= {"attention.layer_norm_epsilon": eps}
    else:
        common |= {"attention.layer_norm_rms_epsilon": c.rms_norm_eps}
    head_dim = getattr(c, "head_dim", None) or width // heads
    rope = c.rope_parameters.get("full_attention", c.rope_parameters)
    if model_type == "stablelm":
        rotated = int(rope["partial_rotary_factor"] * (width // heads))
        return common | {"rope.dimension_count": rotated, "use_parallel_residual": c.use_parallel_residual}
    if model_type in ("gemma", "gemma2", "gemma3_text"):
        common |= {"attention.key_length": head_dim, "attention.value_length": head_dim}
    if model_type == "gemma":
        return common
    if model_type == "gemma2":
        return common | {
            "attn_logit_softcapping": c.attn_logit_softcapping,
            "final_logit_softcapping": c.final_logit_softcapping,
            "attention.sliding_window": c.sliding_window,
        }
    common |= {"rope.freq_base": rope["rope_theta"]}
    if rope["rope_type"] == "linear":
        common |= {"rope.scaling.type": "linear", "rope.scaling.factor": rope["factor"]}
    if model_type == "gemma3_text":
        return common | {
            "attention.sliding_window": c.sliding_window,
            "rope.freq_base_swa": c.rope_parameters["sliding_attention"]["rope_theta"],
        }
    if model_type == "phi3":
        return common | {
            "rope.scaling.original_context_length": c.original_max_position_embeddings,
            "rope.dimension_count": int(rope.get("partial_rotary_factor", 1.0) * width) // heads,
            "attention.sliding_window": c.sliding_window or 0,
        }
    if model_type in ("llama", "mistral"):
        common |= {"rope.dimension_count": head_dim, "vocab_size": c.vocab_size}
    if getattr(c, "head_dim", None) is not None:
        common |= {"attention.key_length": head_dim, "attention.value_length": head_dim}
    return common


def _tensors(module: Any) -> list[tuple[str, np.ndarray[Any, Any]]]:
    """`modify_tensors` of each converter, in float32."""
    c = module.config
    tied = c.tie_word_embeddings
    found = []
    for name, parameter in module.state_dict().items():
        if name == "lm_head.weight" and tied:
            continue
        tensor = parameter.detach().to(torch.float32)
        match c.model_type:
            case "llama" | "mistral" if ".q_proj." in name:
                tensor = _permute(tensor, c.num_attention_heads)
            case "llama" | "mistral" if ".k_proj." in name:
                tensor = _permute(tensor, c.num_key_value_heads)
            case "gemma" | "gemma2" | "gemma3_text" if name.endswith("norm.weight"):
                tensor = tensor + 1
            case "gpt2" if name.endswith((".c_attn.weight", ".c_proj.weight", ".c_fc.weight")):
                tensor = tensor.T
            case "bloom" if "query_key_value" in name:
                by_head = tensor.reshape(c.n_head, 3, c.hidden_size // c.n_head, *tensor.shape[1:])
                tensor = torch.cat([by_head[:, i].reshape(-1, *tensor.shape[1:]) for i in range(3)])
            case "falcon" if "query_key_value" in name:
                groups = c.num_kv_heads if c.new_decoder_architecture else 1
                n = c.hidden_size // c.num_attention_heads
                by_group = tensor.view(groups, c.num_attention_heads // groups + 2, n, -1)
                parts = (by_group[:, :-2], by_group[:, [-2]], by_group[:, [-1]])
                tensor = torch.cat([part.reshape(-1, tensor.shape[-1]) for part in parts])
        if c.model_type == "bloom":
            name = name.replace("transformer.", "")
        found.append((name, np.ascontiguousarray(tensor.numpy())))
    return found


def _permute(tensor: torch.Tensor, heads: int) -> torch.Tensor:
    split = tensor.reshape(heads, 2, tensor.shape[0] // heads // 2, *tensor.shape[1:])
    return split.swapaxes(1, 2).reshape(tensor.shape)


def _llama3_factors(c: Any) -> np.ndarray[Any, Any]:
    """`generate_extra_tensors` of llama.py."""
    rope, dim = c.rope_parameters, c.head_dim
    old = rope["original_max_position_embeddings"]
    factors = []
    for freq in 1.0 / rope["rope_theta"] ** (torch.arange(0, dim, 2, dtype=torch.float32) / dim):
        wavelength = 2 * math.pi / freq
        if wavelength < old / rope["high_freq_factor"]:
            factors.append(1.0)
        elif wavelength > old / rope["low_freq_factor"]:
            factors.append(rope["factor"])
        else:
            smooth = (old / wavelength - rope["low_freq_factor"]) / (rope["high_freq_factor"] - rope["low_freq_factor"])
            factors.append(1 / ((1 - smooth) / rope["factor"] + smooth))
    return np.array(factors, dtype=np.float32)
