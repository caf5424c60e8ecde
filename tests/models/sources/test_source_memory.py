"""Walking a checkpoint layer by layer holds one tensor at a time, measured as the peak resident size of a process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import gguf
import numpy as np
import pytest

WIDTH, LAYERS = 2048, 8
ONE_TENSOR = WIDTH * WIDTH * 8  # bytes in float64: 33.5 MB
# A block of a million elements is 2 MB as bfloat16 and 4 MB each as integers and as float32; the rest is the allocator.
# What is to be caught is far above: the stored Q and K together are 134 MB (bfloat16) and 71 MB (Q8_0).
SLACK = 16e6

# The peak is reset after a first tensor has been read, so that imports do not count.
PROGRAM = """
import sys
from numerics.models.sources import resolve

def status(key):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(key))

source = resolve(sys.argv[1])
source.weights.read("model.layers.0.input_layernorm.weight")
open("/proc/self/clear_refs", "w").write("5")
before = status("VmRSS")
names = [f"model.layers.{layer}.self_attn.{kind}_proj.weight" for layer in range(8) for kind in "qk"]
if sys.argv[2] == "read":
    for name in names:
        assert source.weights.read(name).shape == (2048, 2048)
else:  # the fault: files mapped into memory, every page once touched stays
    from contextlib import ExitStack
    from safetensors import safe_open
    import torch
    with ExitStack() as stack:
        shards = [stack.enter_context(safe_open(file, framework="pt")) for file in source.weights.files]
        for name in names:
            shard = next(shard for shard in shards if name in shard.keys())
            shard.get_tensor(name).double()
        del shards
print(status("VmHWM") - before)
"""


def peak(path: Path, how: str = "read") -> int:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    # glibc raises its threshold for returning big blocks when one is freed; fixed, the peak is that of the arrays alone
    environment |= {"MALLOC_MMAP_THRESHOLD_": "1000000", "MALLOC_TRIM_THRESHOLD_": "1000000"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(path), how], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


@pytest.fixture(scope="module")
def sharded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight layers in four shards of bfloat16 zeros; the data are holes in the files, which take no disk."""
    folder = tmp_path_factory.mktemp("memory") / "model"
    folder.mkdir()
    config = {"model_type": "llama", "hidden_size": WIDTH, "num_attention_heads": 16, "num_hidden_layers": LAYERS}
    (folder / "config.json").write_text(json.dumps(config))
    weight_map = {}
    for shard in range(4):
        header, at = {}, 0
        for layer in (2 * shard, 2 * shard + 1):
            shapes = {f"self_attn.{kind}_proj": [WIDTH, WIDTH] for kind in "qkvo"} | {"input_layernorm": [WIDTH]}
            for leaf, shape in shapes.items():
                name, size = f"model.layers.{layer}.{leaf}.weight", 2 * int(np.prod(shape))
                header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [at, at + size]}
                at += size
        file = folder / f"model-{shard + 1:05}-of-00004.safetensors"
        text = json.dumps(header).encode()
        file.write_bytes(len(text).to_bytes(8, "little") + text)
        os.truncate(file, 8 + len(text) + at)
        weight_map |= dict.fromkeys(header, file.name)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
    return folder


def test_a_sharded_folder_is_walked_with_one_tensor_in_memory(sharded: Path) -> None:
    assert peak(sharded) <= ONE_TENSOR + SLACK


def test_the_measurement_sees_a_reader_that_keeps_its_pages(sharded: Path) -> None:
    assert peak(sharded, "map") > ONE_TENSOR + 2 * SLACK


def test_a_gguf_file_is_walked_with_one_tensor_in_memory(tmp_path: Path) -> None:
    kind = gguf.GGMLQuantizationType.Q8_0
    writer = gguf.GGUFWriter(tmp_path / "big.gguf", "llama")
    settings = {"block_count": LAYERS, "embedding_length": WIDTH, "feed_forward_length": 64, "context_length": 64}
    for key, value in (settings | {"attention.head_count": 16, "attention.head_count_kv": 16}).items():
        writer.add_uint32(f"llama.{key}", value)
    writer.add_float32("llama.attention.layer_norm_rms_epsilon", 1e-5)
    writer.add_tensor("token_embd.weight", np.zeros((8, WIDTH), np.float32))
    matrix = np.zeros((WIDTH, WIDTH // 32 * 34), np.uint8)
    for layer in range(LAYERS):
        writer.add_tensor(f"blk.{layer}.attn_norm.weight", np.zeros(WIDTH, np.float32))
        for leaf in "qk":
            writer.add_tensor(f"blk.{layer}.attn_{leaf}.weight", matrix, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    assert peak(tmp_path / "big.gguf") <= ONE_TENSOR + SLACK
