"""Every supported GGUF architecture: tiny model → GGUF by llama.cpp's rules → read back as transformers holds it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM

from numerics.errors import UnsupportedArchitecture
from numerics.models.sources import resolve
from numerics.models.sources.gguf_config import ARCHITECTURES
from tests.models.sources.gguf_writing import write_gguf
from tests.models.tiny import TINY, V, tiny_config

LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 500000.0,
    "factor": 32.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}
GEMMA3_ROPE = {
    "sliding_attention": {"rope_type": "default", "rope_theta": 500.0},
    "full_attention": {"rope_type": "linear", "rope_theta": 1e6, "factor": 8.0},
}
PARTIAL = {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5}

# case of tests/models/tiny.py, options changed for it
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "gpt2": ("gpt2", {}),
    "gpt2-square": ("gpt2", {"n_head": 1}),
    "bloom": ("bloom", {}),
    "bloom-6-heads": ("bloom-6-heads", {}),
    "falcon-multi-query": ("falcon-multi-query", {}),
    "falcon-grouped": ("falcon-grouped", {"bias": False}),
    "falcon-grouped-one-norm": ("falcon-grouped-one-norm", {"tie_word_embeddings": False}),
    "llama": ("llama", {}),
    "llama-tied": ("llama", {"tie_word_embeddings": True}),
    "llama-one-kv-head": ("llama-one-kv-head", {}),
    "llama-7-groups": ("llama-7-groups", {}),
    "llama-wide-heads-bias": ("llama-wide-heads-bias", {}),
    "llama-linear": ("llama-linear", {}),
    "llama-llama3": ("llama", {"head_dim": 64, "rope_parameters": LLAMA3}),
    "mistral": ("mistral", {"sliding_window": None}),
    "qwen2": ("qwen2", {}),
    "qwen3": ("qwen3", {}),
    "gemma": ("gemma", {}),
    "gemma2": ("gemma2", {"query_pre_attn_scalar": 24}),
    "gemma3": ("gemma3", {"query_pre_attn_scalar": 24, "rope_parameters": GEMMA3_ROPE}),
    "phi3": ("phi3", {}),
    "phi3-partial": ("phi3", {"sliding_window": None, "rope_parameters": PARTIAL}),
    "starcoder2": ("starcoder2", {"sliding_window": None}),
    "stablelm": ("stablelm", {}),
    "stablelm-bias-parallel": ("stablelm", {"use_qkv_bias": True, "use_parallel_residual": True}),
}
WINDOW_PATTERN = {"attention.sliding_window_pattern": [True, False]}


def make(case: str) -> Any:
    """A tiny model in float32 with gains and biases that are not what a fresh model has."""
    name, options = CASES[case]
    base = tiny_config(name)
    config = type(base)(**{**TINY[name][1], "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0, **options})
    torch.manual_seed(3)
    module = AutoModelForCausalLM.from_config(config, attn_implementation="eager")
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return module.eval()


def expected_weights(module: Any) -> dict[str, np.ndarray[Any, Any]]:
    weights = {name: tensor.numpy() for name, tensor in module.state_dict().items()}
    if module.config.tie_word_embeddings:
        del weights["lm_head.weight"]
    if module.config.model_type.startswith("gemma"):
        # Stored as 1 + w in float32, which rounds w to a multiple of 2^-24 or 2^-23.
        one = np.float32(1)
        weights = {n: (w + one) - one if n.endswith("norm.weight") else w for n, w in weights.items()}
    return weights


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def write(case: str, module: Any, folder: Path, **options: Any) -> Path:
    extra = WINDOW_PATTERN if case == "gemma3" else {}
    return write_gguf(module, folder / "tiny.gguf", extra=extra, **options)


def test_every_supported_architecture_has_a_case() -> None:
    written = {"mistral": "llama", "gemma3_text": "gemma3"}
    types = {TINY[name][0] for name, _ in CASES.values()}
    assert {written.get(model_type, model_type) for model_type in types} == set(ARCHITECTURES)


def test_tensors_and_logits_come_back(case: str, tmp_path: Path) -> None:
    module = make(case)
    source = resolve(str(write(case, module, tmp_path)))
    expected = expected_weights(module)
    assert source.weights.names() == frozenset(expected)
    for name, values in expected.items():
        assert source.weights.shape(name) == values.shape
        read = source.weights.read(name)
        assert read.dtype == np.float64
        np.testing.assert_array_equal(read, values.astype(np.float64), err_msg=name)

    # The config too: 20 tokens, more than the windows of 5. The built model holds the same float32 numbers, so its
    # logits are bit-identical but for Gemma's rounded gains (2^-24 relative, some 50 operations).
    module.load_state_dict({name: torch.from_numpy(values) for name, values in expected.items()}, strict=False)
    ids = torch.randint(5, V, (2, 20), generator=torch.Generator().manual_seed(0))
    built = source.build(None)
    assert not built.training
    with torch.no_grad():
        torch.testing.assert_close(built(ids).logits, module(ids).logits, rtol=0, atol=1e-5)


def test_config_comes_back(case: str, tmp_path: Path) -> None:
    module = make(case)
    read = resolve(str(write(case, module, tmp_path))).config.to_dict()
    # Not in a GGUF file; or in another field: `n_inner` None means 4·width, a multi-query Falcon has one kv head.
    free = {
        "transformers_version",
        "_name_or_path",
        "dtype",
        "architectures",
        "bos_token_id",
        "eos_token_id",
        "pad_token_id",
        "n_inner",
        "num_kv_heads",
        "max_window_layers",
        "_sliding_window_pattern",
        "num_ln_in_parallel_attn",
        "max_position_embeddings" if case.startswith("falcon") else "",
        "model_type" if case == "mistral" else "",
    }
    original = module.config.to_dict()
    differing = {
        key: (value, read.get(key))
        for key, value in original.items()
        if key not in free and key in read and read[key] != value
    }
    if case.startswith("llama"):
        # `_llama_rows` needs the head dim stated; transformers derives the same one.
        assert read["head_dim"] == (original["head_dim"] or original["hidden_size"] // original["num_attention_heads"])
    assert not differing


@pytest.mark.parametrize("kind", ["F16", "BF16", "Q8_0"])
def test_quantised_tensors_are_what_the_gguf_package_says(kind: str, tmp_path: Path) -> None:
    module = make("llama")
    path = write("llama", module, tmp_path, kind=gguf.GGMLQuantizationType[kind])
    source = resolve(str(path))
    assert source.weights.dtype() == {"F16": "float16", "BF16": "bfloat16"}.get(kind, kind)
    reader = gguf.GGUFReader(path)
    stored = {t.name: gguf.quants.dequantize(t.data, t.tensor_type) for t in reader.tensors}
    np.testing.assert_array_equal(
        source.weights.read("model.layers.1.mlp.down_proj.weight"), stored["blk.1.ffn_down.weight"]
    )
    # K: the rows of each head back from interleaved pairs to halves, by an explicit loop
    n, k = 16, stored["blk.0.attn_k.weight"]
    rows = [head * n + 2 * (i % (n // 2)) + i // (n // 2) for head in range(2) for i in range(n)]
    np.testing.assert_array_equal(source.weights.read("model.layers.0.self_attn.k_proj.weight"), k[rows])


def test_one_key_value_count_per_layer_is_read_when_all_are_equal(tmp_path: Path) -> None:
    module = make("llama")
    assert resolve(str(write("llama", module, tmp_path, kv_heads_as_array=True))).config.num_key_value_heads == 2


@pytest.mark.parametrize(
    ("case", "extra", "said"),
    [
        ("llama", {"rope.scaling.type": "yarn", "rope.scaling.factor": 4.0}, "rope scaling 'yarn'"),
        ("llama", {"logit_scale": 0.5}, "llama.logit_scale"),
        ("llama", {"expert_count": 8}, "mixture of experts"),
        ("llama", {"rope.dimension_count": 8}, "part of each head"),
        ("llama", {"attention.head_count_kv": [2, 1]}, "differs between layers"),
        ("qwen2", {"attention.causal": False}, "not causal"),
        ("qwen3", {"attention.value_length": 12}, "different lengths"),
        ("falcon-grouped", {"tensor_data_layout": None}, "tensor_data_layout"),
        ("falcon-grouped", {"attention.head_count_kv": 4}, "Falcon RW"),
    ],
)
def test_an_option_whose_meaning_is_not_known_is_refused(
    case: str, extra: dict[str, Any], said: str, tmp_path: Path
) -> None:
    path = write_gguf(make(case), tmp_path / "tiny.gguf", extra=extra)
    with pytest.raises(UnsupportedArchitecture, match=said):
        resolve(str(path))


def test_llama3_factors_with_other_settings_are_refused(tmp_path: Path) -> None:
    CASES["other"] = ("llama", {"head_dim": 64, "rope_parameters": LLAMA3 | {"high_freq_factor": 8.0}})
    try:
        path = write("other", make("other"), tmp_path)
    finally:
        del CASES["other"]
    with pytest.raises(UnsupportedArchitecture, match="rope_freqs"):
        resolve(str(path))


def test_an_unknown_architecture_is_named_with_the_known_ones(tmp_path: Path) -> None:
    writer = gguf.GGUFWriter(tmp_path / "rwkv.gguf", "rwkv6")
    writer.add_tensor("token_embd.weight", np.zeros((3, 4), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with pytest.raises(UnsupportedArchitecture, match=r"'rwkv6' is not supported.*bloom, falcon, gemma"):
        resolve(str(tmp_path / "rwkv.gguf"))
