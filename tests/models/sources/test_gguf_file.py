"""The GGUF header reader against the gguf package's own, and every kind of damaged file."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numerics.errors import NumericsError, UnusableCheckpoint
from numerics.models.sources import gguf_file, resolve
from numerics.models.sources.gguf_file import LongArray, read_gguf_header, read_rows
from tests.models.sources.gguf_writing import write_gguf
from tests.models.sources.test_gguf_architectures import make


@pytest.fixture(scope="session")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_gguf(make("qwen3"), tmp_path_factory.mktemp("good") / "tiny.gguf")


def write_plain(path: Path, fields: dict[str, Any], tensors: dict[str, Any], alignment: int = 32) -> Path:
    writer = gguf.GGUFWriter(path, "llama")
    if alignment != 32:
        writer.add_custom_alignment(alignment)
    for key, value in fields.items():
        {bool: writer.add_bool, int: writer.add_int64, float: writer.add_float64, str: writer.add_string}.get(
            type(value), writer.add_array
        )(key, value)
    for name, tensor in tensors.items():
        writer.add_tensor(name, tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


scalars = (
    st.booleans()
    | st.integers(-(2**62), 2**62)
    | st.floats(allow_nan=False, width=64)
    | st.text(st.characters(codec="utf-8"))
)
arrays = (
    st.lists(st.integers(-(2**31), 2**31 - 1), min_size=1, max_size=9)
    | st.lists(st.text(max_size=5), min_size=1, max_size=9)
    | st.lists(st.booleans(), min_size=1, max_size=9)
)


@settings(deadline=None, print_blob=True, derandomize=True, max_examples=60)
@given(
    fields=st.dictionaries(st.from_regex(r"x\.[a-z]{1,8}", fullmatch=True), scalars | arrays, max_size=6),
    shapes=st.lists(st.lists(st.integers(1, 5), min_size=1, max_size=3), min_size=1, max_size=4),
    long=st.integers(1, 10),
    alignment=st.sampled_from([32, 64]),
)
def test_header_and_data_agree_with_the_gguf_package(
    fields: dict[str, Any],
    shapes: list[list[int]],
    long: int,
    alignment: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    tensors = {
        f"t{i}": np.random.default_rng(i).normal(size=shape).astype(np.float32) for i, shape in enumerate(shapes)
    }
    path = write_plain(tmp_path_factory.mktemp("any") / "any.gguf", fields, tensors, alignment)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gguf_file, "LONG", long)
        header = read_gguf_header(path)
    reader = gguf.GGUFReader(path)
    for key, value in fields.items():
        mine = header.fields[key]
        if isinstance(mine, LongArray):
            assert mine.length == len(value) > long
        else:
            assert mine == value
    for stored in reader.tensors:
        tensor = header.tensors[stored.name]
        assert tensor.shape == tuple(reversed(stored.shape.tolist()))
        assert tensor.start == stored.data_offset
        blocks = [block for _, block in read_rows(path, tensor)]
        np.testing.assert_array_equal(np.concatenate(blocks).reshape(tensor.shape), tensors[stored.name])


def test_a_vocabulary_is_stepped_over_and_what_follows_is_read(tmp_path: Path) -> None:
    words = [f"word-{i}" * (i % 3) for i in range(5000)]
    fields = {"x.words": words, "x.scores": [float(i) for i in range(5000)], "x.after": 7}
    header = read_gguf_header(write_plain(tmp_path / "v.gguf", fields, {"t": np.ones((2, 3), np.float32)}))
    assert header.fields["x.words"] == header.fields["x.scores"] == LongArray(5000)
    assert header.fields["x.after"] == 7
    assert header.tensors["t"].shape == (2, 3)


def test_float_settings_are_the_decimal_that_was_written(good: Path) -> None:
    """A file holds float32(1e-6) = 9.99999997e-07; the config it came from said 1e-6."""
    assert read_gguf_header(good).fields["qwen3.attention.layer_norm_rms_epsilon"] == 1e-6


@pytest.mark.parametrize("kind", ["Q4_0", "Q5_0", "Q8_0", "F16", "BF16"])
def test_blocks_of_rows_give_what_the_whole_gives(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(0).normal(size=(37, 64)).astype(np.float32)
    quantised = gguf.quants.quantize(values, gguf.GGMLQuantizationType[kind])
    writer = gguf.GGUFWriter(tmp_path / "q.gguf", "llama")
    writer.add_tensor("t", quantised, raw_dtype=gguf.GGMLQuantizationType[kind])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    monkeypatch.setattr(gguf_file, "BLOCK_BYTES", 3 * quantised.nbytes // 37)
    tensor = read_gguf_header(tmp_path / "q.gguf").tensors["t"]
    found = list(read_rows(tmp_path / "q.gguf", tensor))
    assert [rows.start for rows, _ in found] == list(range(0, 37, 3))
    whole = gguf.quants.dequantize(quantised, gguf.GGMLQuantizationType[kind])
    np.testing.assert_array_equal(np.concatenate([block for _, block in found]), whole)


@pytest.mark.parametrize("keep", [0, 3, 4, 7, 20, 24, 30, 200, 600, 5000, -1])
def test_a_file_that_ends_too_early_is_refused(keep: int, good: Path, tmp_path: Path) -> None:
    short = tmp_path / "short.gguf"
    short.write_bytes(good.read_bytes()[:keep])
    with pytest.raises(UnusableCheckpoint, match=r"cut|not a GGUF") as raised:
        resolve(str(short))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("at", "change", "said"),
    [
        (0, b"GGML", "not a GGUF file"),
        (4, struct.pack("<I", 1), "GGUF version 1"),
        (4, struct.pack("<I", 9), "GGUF version 9"),
        (4, struct.pack(">I", 3), "big-endian"),
        (8, struct.pack("<Q", 1 << 50), "corrupt"),
        (16, struct.pack("<Q", 1 << 50), "corrupt"),
        (24, struct.pack("<Q", 1 << 50), "corrupt"),
    ],
)
def test_a_wrong_beginning_is_refused_and_named(at: int, change: bytes, said: str, good: Path, tmp_path: Path) -> None:
    raw = bytearray(good.read_bytes())
    raw[at : at + len(change)] = change
    bad = tmp_path / "bad.gguf"
    bad.write_bytes(raw)
    with pytest.raises(UnusableCheckpoint, match=said):
        resolve(str(bad))


@settings(deadline=None, print_blob=True, derandomize=True, max_examples=300)
@given(at=st.integers(24, 2500), value=st.integers(0, 255))
def test_no_damage_to_the_header_gives_anything_but_our_error(at: int, value: int, good: Path) -> None:
    """A changed byte is either harmless (a name of the model, the lowest digit of a number) or refused in one line."""
    raw = bytearray(good.read_bytes())
    raw[at] = value
    bad = good.with_name("damaged.gguf")
    bad.write_bytes(raw)
    said = ""
    try:
        resolve(str(bad)).weights.read("model.layers.0.self_attn.q_proj.weight")
    except NumericsError as error:
        said = str(error)
    assert "\n" not in said


def test_one_part_of_a_split_file_is_refused(tmp_path: Path) -> None:
    path = write_plain(tmp_path / "part.gguf", {"split.count": 3}, {"t": np.zeros(4, np.float32)})
    with pytest.raises(UnusableCheckpoint, match="one of 3 parts"):
        resolve(str(path))


def test_a_tensor_the_architecture_does_not_have_is_refused(tmp_path: Path) -> None:
    module = make("qwen3")
    path = write_gguf(module, tmp_path / "a.gguf")
    raw = path.read_bytes().replace(b"blk.1.ffn_gate.weight", b"blk.1.ffn_gatf.weight")
    path.write_bytes(raw)
    with pytest.raises(UnusableCheckpoint, match=r"'blk\.1\.ffn_gatf\.weight'"):
        resolve(str(path))


@pytest.mark.parametrize("extra", [{"block_count": 3}, {"block_count": 1 << 31}, {"embedding_length": 63}])
def test_sizes_that_are_not_those_of_the_tensors_are_refused(extra: dict[str, int], tmp_path: Path) -> None:
    """A damaged layer count of two thousand million made transformers list as many layer types."""
    path = write_gguf(make("qwen3"), tmp_path / "a.gguf", extra=extra)
    with pytest.raises(UnusableCheckpoint, match="the tensors 2 layers and width 64"):
        resolve(str(path))


def test_a_missing_tensor_stops_the_build(tmp_path: Path) -> None:
    module = make("qwen3")
    del module.model.layers[1].mlp.up_proj
    path = write_gguf(module, tmp_path / "a.gguf")
    with pytest.raises(UnusableCheckpoint, match=r"1 parameters have no weights, first model\.layers\.1\.mlp\.up_proj"):
        resolve(str(path)).build()
