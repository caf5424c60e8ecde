"""A model is profiled one layer at a time: peak memory stays near one layer, however many there are."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

LAYERS, WIDTH, HEADS, MLP, VOCABULARY = 8, 1024, 8, 4096, 512
LAYER_BYTES = 2 * (4 * WIDTH * WIDTH + 3 * WIDTH * MLP + 2 * WIDTH)  # bfloat16

# The whole checkpoint is 8 layers of 34 MB: holding half of it, as float64 or as touched pages, breaks the bound.
ALLOWED = 1.3 * LAYER_BYTES + 100e6

MEASURE = """
import sys
import numpy, torch, transformers  # the value after imports is what the peak is compared with
import gguf, numerics.forms.measure, numerics.models.source, numerics.models.sources.gguf_source, numerics.results

def status(key):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(key))

with open("/proc/self/clear_refs", "w") as reset:
    reset.write("5")  # sets the peak back to the present value
before = status("VmRSS")
numerics.profile(numerics.load_model(sys.argv[1]))
print(status("VmHWM") - before)
"""


def layer_tensors(layer: int) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(layer)
    prefix = f"model.layers.{layer}."
    shapes = {f"self_attn.{letter}_proj": (WIDTH, WIDTH) for letter in "qkvo"}
    shapes |= {"mlp.gate_proj": (MLP, WIDTH), "mlp.up_proj": (MLP, WIDTH), "mlp.down_proj": (WIDTH, MLP)}
    tensors = {
        f"{prefix}{name}.weight": (torch.randn(shape, generator=generator) / 32).bfloat16()
        for name, shape in shapes.items()
    }
    norms = ("input_layernorm", "post_attention_layernorm")
    return tensors | {f"{prefix}{norm}.weight": torch.ones(WIDTH, dtype=torch.bfloat16) for norm in norms}


def config() -> dict[str, object]:
    return {
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
        "vocab_size": VOCABULARY,
        "hidden_size": WIDTH,
        "intermediate_size": MLP,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": HEADS,
        "tie_word_embeddings": True,
    }


@pytest.fixture(scope="module")
def sharded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Llama of 8 layers, one shard per layer."""
    from safetensors.torch import save_file

    folder = tmp_path_factory.mktemp("sharded")
    ends = {
        "model.embed_tokens.weight": torch.ones(VOCABULARY, WIDTH).bfloat16(),
        "model.norm.weight": torch.ones(WIDTH),
    }
    shards = [layer_tensors(layer) for layer in range(LAYERS)]
    shards[0] |= ends
    index: dict[str, str] = {}
    for number, tensors in enumerate(shards, 1):
        file = f"model-{number:05d}-of-{LAYERS:05d}.safetensors"
        save_file(tensors, folder / file)
        index |= dict.fromkeys(tensors, file)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": index}))
    (folder / "config.json").write_text(json.dumps(config()))
    return folder


@pytest.fixture(scope="module")
def one_gguf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same model as one GGUF file in float16, with the names that llama.cpp gives its tensors."""
    import gguf

    path = tmp_path_factory.mktemp("gguf") / "llama.gguf"
    writer = gguf.GGUFWriter(path, "llama", use_temp_file=True)
    writer.add_block_count(LAYERS)
    writer.add_context_length(2048)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(MLP)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_vocab_size(VOCABULARY)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, LAYERS)
    writer.add_tensor("token_embd.weight", torch.ones(VOCABULARY, WIDTH).half().numpy())
    writer.add_tensor("output_norm.weight", torch.ones(WIDTH).numpy())
    for layer in range(LAYERS):
        for name, tensor in layer_tensors(layer).items():
            stored = names.get_name(name, try_suffixes=(".weight",))
            writer.add_tensor(stored, (tensor.float() if tensor.ndim == 1 else tensor.half()).numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.mark.parametrize("kind", ["sharded", "one_gguf"])
def test_peak_memory_of_a_profile_is_near_one_layer(kind: str, request: pytest.FixtureRequest) -> None:
    path: Path = request.getfixturevalue(kind)
    finished = subprocess.run([sys.executable, "-c", MEASURE, str(path)], capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    peak = int(finished.stdout)
    assert peak < ALLOWED, f"{peak / 1e6:.0f} MB above imports, {ALLOWED / 1e6:.0f} allowed"
