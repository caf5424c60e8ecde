"""A local folder config.json + safetensors: values, names, hashes, and one line for every kind of bad folder."""

from __future__ import annotations

import hashlib
import json
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, BertConfig, BertForMaskedLM

from numerics.errors import ModelNotFound, NumericsError, UnsupportedArchitecture, UnusableCheckpoint
from numerics.models.sources import resolve, safetensors_folder
from tests.models.tiny import TINY, V, tiny_module

IDS = torch.tensor([[5, 9, 7, 30, 11]])


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved") / "llama"
    tiny_module("llama").save_pretrained(folder)
    return folder


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "model"))


@pytest.fixture
def sharded(saved: Path, tmp_path: Path) -> Path:
    AutoModelForCausalLM.from_pretrained(saved, dtype="auto").save_pretrained(
        tmp_path / "shards", max_shard_size="60KB"
    )
    return tmp_path / "shards"


def edit_config(folder: Path, **changes: Any) -> None:
    fields = json.loads((folder / "config.json").read_text()) | changes
    (folder / "config.json").write_text(json.dumps(fields))


@pytest.mark.parametrize("case", [case for case, (model_type, _) in TINY.items() if model_type != "gemma3"])
def test_every_parameter_of_the_built_model_is_read_under_its_own_name(case: str, tmp_path: Path) -> None:
    module = tiny_module(case)
    module.save_pretrained(tmp_path / case)
    source = resolve(str(tmp_path / case), None)
    built = source.build(None)
    assert type(built) is type(module)
    assert not built.training
    assert built.config._attn_implementation == "eager"
    parameters = dict(module.named_parameters())
    assert source.weights.names() - set(module.state_dict()) <= {"embed_out.weight"}  # GPT-NeoX's name for lm_head
    assert set(parameters) - source.weights.names() <= {"lm_head.weight"}  # tied ones are stored once
    for name, parameter in parameters.items():
        if name in source.weights.names():
            assert source.weights.shape(name) == tuple(parameter.shape)
            np.testing.assert_array_equal(source.weights.read(name), parameter.detach().numpy())
        assert torch.equal(dict(built.named_parameters())[name], parameter)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_stored_dtypes_are_named_and_read_exactly(dtype: torch.dtype, tmp_path: Path) -> None:
    module = tiny_module("gpt2").to(dtype)
    module.save_pretrained(tmp_path)
    source = resolve(str(tmp_path))
    assert source.weights.dtype() == str(dtype).removeprefix("torch.")
    name = "transformer.h.1.attn.c_attn.weight"
    np.testing.assert_array_equal(source.weights.read(name), module.state_dict()[name].double().numpy())
    assert next(source.build(None).parameters()).dtype == dtype
    assert next(source.build(torch.float64).parameters()).dtype == torch.float64


@settings(deadline=None, print_blob=True, derandomize=True, max_examples=30)
@given(data=st.data())
def test_any_bits_are_read_as_torch_reads_them_whatever_the_block(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    dtype = data.draw(st.sampled_from([torch.float64, torch.float32, torch.float16, torch.bfloat16]))
    shape = data.draw(st.lists(st.integers(1, 7), max_size=3))
    n_bytes = int(np.prod(shape)) * dtype.itemsize
    raw = data.draw(st.binary(min_size=n_bytes, max_size=n_bytes))
    tensor = torch.frombuffer(bytearray(raw), dtype=dtype).reshape(shape)
    file = tmp_path_factory.mktemp("bits") / "model.safetensors"
    save_file({"before": torch.ones(3, dtype=torch.uint8), "t": tensor}, file)
    places = dict(safetensors_folder.read_header(file))
    store = object.__new__(safetensors_folder.FolderStore)
    store.files, store._places = (file,), places
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(safetensors_folder, "BLOCK", data.draw(st.integers(1, 50)))
        read = store.read("t")
    np.testing.assert_array_equal(read, tensor.double().numpy())  # NaN equals NaN here
    assert read.shape == tuple(shape)


def test_shards_are_read_as_one_model_and_hashed_as_sha256sum_prints_them(sharded: Path, saved: Path) -> None:
    files = sorted(sharded.glob("*.safetensors"))
    assert len(files) > 2
    source, whole = resolve(str(sharded)), resolve(str(saved))
    assert source.weights.names() == whole.weights.names()
    for name in source.weights.names():
        np.testing.assert_array_equal(source.weights.read(name), whole.weights.read(name))
    lines = "".join(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files)
    assert source.sha256 == hashlib.sha256(lines.encode()).hexdigest()
    assert whole.sha256 == hashlib.sha256((saved / "model.safetensors").read_bytes()).hexdigest()


def test_checkpoints_of_a_base_model_get_the_names_of_the_full_class(tmp_path: Path) -> None:
    """The hub's gpt2 stores `h.0.attn…`, without `transformer.`, and mask buffers that are no parameters."""
    module = tiny_module("gpt2")
    module.transformer.save_pretrained(tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    assert "h.0.attn.c_attn.weight" in tensors
    tensors["h.0.attn.bias"] = torch.ones(1, 1, 64, 64, dtype=torch.uint8).tril()
    save_file(tensors, tmp_path / "model.safetensors", {"format": "pt"})
    source = resolve(str(tmp_path))
    name = "transformer.h.1.attn.c_attn.weight"
    np.testing.assert_array_equal(source.weights.read(name), module.state_dict()[name].numpy())
    # the same float64 weights: only the order of sums may differ, with how the tensors lie in memory
    torch.testing.assert_close(source.build()(IDS).logits, module(IDS).logits, rtol=0, atol=1e-12)
    with pytest.raises(UnusableCheckpoint, match="stored as U8"):
        source.weights.read("transformer.h.0.attn.bias")


def test_a_masked_language_checkpoint_loses_its_prefix_and_old_norm_names(tmp_path: Path) -> None:
    torch.manual_seed(0)
    config = BertConfig(**TINY["bert"][1])
    module = BertForMaskedLM(config).double()
    module.save_pretrained(tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    old = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
    for new, name in old.items():
        tensors = {key.removesuffix(new) + name if key.endswith(new) else key: t for key, t in tensors.items()}
    save_file(tensors, tmp_path / "model.safetensors", {"format": "pt"})
    source = resolve(str(tmp_path))
    for name in ("encoder.layer.1.attention.self.query.weight", "encoder.layer.0.attention.output.LayerNorm.weight"):
        np.testing.assert_array_equal(source.weights.read(name), module.bert.state_dict()[name].numpy())
    built = source.build()  # no pooler in the checkpoint: it is no part of the layers
    expected = module.eval().bert(IDS).last_hidden_state
    torch.testing.assert_close(built(IDS).last_hidden_state, expected, rtol=0, atol=1e-12)


# --- bad folders: what is done to a good one, the error, and words of its line


def _without(name: str) -> Callable[[Path], Any]:
    return lambda folder: (folder / name).unlink()


def _truncated(folder: Path) -> None:
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-1])


def _corrupt_header(folder: Path) -> None:
    file = folder / "model.safetensors"
    raw = bytearray(file.read_bytes())
    raw[8] ^= 0xFF
    file.write_bytes(raw)


def _endless_header(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", 1 << 60) + b"{}")


def _pickled(folder: Path) -> None:
    torch.save({}, folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()


BAD: dict[str, tuple[Callable[[Path], Any], type[NumericsError], str]] = {
    "no config": (_without("config.json"), UnusableCheckpoint, "no config.json"),
    "no weights": (_without("model.safetensors"), UnusableCheckpoint, "neither model.safetensors nor"),
    "truncated": (_truncated, UnusableCheckpoint, "corrupt or cut short"),
    "corrupt header": (_corrupt_header, UnusableCheckpoint, "corrupt or cut short"),
    "endless header": (_endless_header, UnusableCheckpoint, "corrupt or cut short"),
    "empty": (lambda f: (f / "model.safetensors").write_bytes(b""), UnusableCheckpoint, "corrupt or cut short"),
    "pickle": (_pickled, UnusableCheckpoint, "can run code"),
    "config not JSON": (lambda f: (f / "config.json").write_text("{'a'"), UnusableCheckpoint, "is not JSON"),
    "config not text": (lambda f: (f / "config.json").write_bytes(b"\xff\xfe"), UnusableCheckpoint, "is not JSON"),
    "config a list": (lambda f: (f / "config.json").write_text("[]"), UnusableCheckpoint, "no model_type"),
    "wrong field": (lambda f: edit_config(f, num_hidden_layers="two"), UnusableCheckpoint, "no valid config"),
    "unknown type": (lambda f: edit_config(f, model_type="rwkv"), UnsupportedArchitecture, "'rwkv'.*one of: bert"),
    "multi-modal": (lambda f: edit_config(f, model_type="qwen2_5_vl"), UnsupportedArchitecture, "multi-modal"),
    "remote code": (
        lambda f: edit_config(f, model_type="mine", auto_map={"AutoModel": "modeling_mine.Mine"}),
        UnsupportedArchitecture,
        "needs Python code from its repository, which is never run",
    ),
    "quantised": (
        lambda f: edit_config(f, quantization_config={"quant_method": "gptq", "bits": 4}),
        UnusableCheckpoint,
        "quantised .*'gptq'",
    ),
}


@pytest.mark.parametrize("fault", BAD)
def test_a_bad_folder_is_refused_in_one_line_with_a_next_step(fault: str, folder: Path) -> None:
    harm, error, said = BAD[fault]
    harm(folder)
    with pytest.raises(error, match=said) as raised:
        resolve(str(folder))
    assert "\n" not in str(raised.value)
    assert raised.value.next_step


def test_a_missing_shard_is_named(sharded: Path) -> None:
    lost = sorted(sharded.glob("*.safetensors"))[1]
    lost.unlink()
    with pytest.raises(UnusableCheckpoint, match=f"1 of .* shards .* {lost.name}"):
        resolve(str(sharded))


def test_half_a_shard_is_refused_before_anything_is_read(sharded: Path) -> None:
    half = sorted(sharded.glob("*.safetensors"))[1]
    half.write_bytes(half.read_bytes()[: half.stat().st_size // 2])
    with pytest.raises(UnusableCheckpoint, match=f"{half.name} is corrupt or cut short"):
        resolve(str(sharded))


def test_shards_of_different_versions_are_refused(sharded: Path) -> None:
    first, second = sorted(sharded.glob("*.safetensors"))[:2]
    second.write_bytes(first.read_bytes())
    with pytest.raises(UnusableCheckpoint, match="does not hold it"):
        resolve(str(sharded))


@pytest.mark.parametrize(
    ("index", "said"),
    [
        ("{", "not a shard index"),
        ("{}", "not a shard index"),
        ('{"weight_map": {}}', "not safetensors files of its own folder"),
        ('{"weight_map": {"a": "../outside.safetensors"}}', "not safetensors files of its own folder"),
        ('{"weight_map": {"a": "pytorch_model.bin"}}', "not safetensors files of its own folder"),
    ],
)
def test_a_wrong_index_is_refused(index: str, said: str, sharded: Path) -> None:
    shutil.copy(min(sharded.glob("*.safetensors")), sharded.parent / "outside.safetensors")
    (sharded / "model.safetensors.index.json").write_text(index)
    with pytest.raises(UnusableCheckpoint, match=said):
        resolve(str(sharded))


def test_a_file_cut_after_resolving_is_an_error_not_zeros(folder: Path) -> None:
    source = resolve(str(folder))
    _truncated(folder)
    last = max(source.weights._places.items(), key=lambda item: item[1].start)[0]  # type: ignore[attr-defined]
    with pytest.raises(UnusableCheckpoint, match="ends inside"):
        source.weights.read(last)


def test_a_tensor_that_is_not_there_is_named(folder: Path) -> None:
    with pytest.raises(UnusableCheckpoint, match=r"no tensor model\.nope"):
        resolve(str(folder)).weights.read("model.nope")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"num_hidden_layers": 3}, r"9 parameters have no weights, first model\.layers\.2"),
        ({"num_hidden_layers": 1}, r"belong to no parameter of the config, first model\.layers\.1"),
        ({"num_key_value_heads": 4}, "cannot load the weights"),
    ],
)
def test_weights_of_another_config_do_not_build(changes: dict[str, Any], said: str, folder: Path) -> None:
    edit_config(folder, **changes)
    with pytest.raises(UnusableCheckpoint, match=said):
        resolve(str(folder)).build()


def test_other_weights_named_by_the_config_are_not_loaded(folder: Path) -> None:
    """`transformers_weights` in config.json would make transformers load another file than the one that is hashed."""
    tensors = {name: tensor + 1 for name, tensor in load_file(folder / "model.safetensors").items()}
    save_file(tensors, folder / "other.safetensors", {"format": "pt"})
    edit_config(folder, transformers_weights="other.safetensors")
    source = resolve(str(folder))
    name = "model.layers.0.self_attn.q_proj.weight"
    np.testing.assert_array_equal(source.build().state_dict()[name].numpy(), source.weights.read(name))


def test_a_pickle_beside_safetensors_is_never_opened(folder: Path) -> None:
    (folder / "pytorch_model.bin").write_bytes(b"\x80\x04cos\nsystem\n.")
    resolve(str(folder)).build()


def test_a_folder_without_tokenizer_says_what_to_copy(folder: Path) -> None:
    with pytest.raises(UnusableCheckpoint, match=r"tokenizer\.json"):
        resolve(str(folder)).tokenizer()


def test_a_vocabulary_is_read_from_the_folder(folder: Path) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = Tokenizer(models.WordLevel({f"w{i}": i for i in range(V)}, unk_token="w0"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(tokenizer_object=words, unk_token="w0").save_pretrained(folder)
    source = resolve(str(folder))
    assert source.tokenizer()("w3 w5")["input_ids"] == [3, 5]
    assert source.tokenizer() is source.tokenizer()


@pytest.mark.parametrize("name", ["model.safetensors", "notes.txt"])
def test_a_file_that_is_no_model_says_what_to_give(name: str, folder: Path) -> None:
    (folder / "notes.txt").write_text("hello")
    with pytest.raises(UnusableCheckpoint, match="folder"):
        resolve(str(folder / name))


def test_a_missing_path_is_called_missing(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFound, match="no file or folder"):
        resolve(str(tmp_path / "nowhere"))
