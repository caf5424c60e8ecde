"""Weights of a folder `config.json` + `model.safetensors` (one file or shards), read one tensor at a time.

A tensor is read with plain file reads in blocks, straight into its float64 array: a memory map would keep every page
once touched in the resident set, so that walking a model would end up holding all of it.
Format: https://github.com/huggingface/safetensors#format (8-byte header length, JSON header, data).
"""

from __future__ import annotations

import json
import math
import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from numerics.errors import UnusableCheckpoint
from numerics.models.sources.classes import ModelClass, canonical_names, text_part

Float = NDArray[np.float64]

SINGLE = "model.safetensors"
INDEX = "model.safetensors.index.json"
PICKLED = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle", ".h5", ".msgpack")
BLOCK = 1 << 20  # elements converted at a time: 8 MB of float64

# safetensors name: (name as torch says it, bytes per element)
FLOATS = {"F64": ("float64", 8), "F32": ("float32", 4), "F16": ("float16", 2), "BF16": ("bfloat16", 2)}


@dataclass(frozen=True)
class TensorPlace:
    """Where a tensor lies: bytes `start … start + size` of `file`, C order."""

    file: Path
    dtype: str
    shape: tuple[int, ...]
    start: int


class FolderStore:
    """The tensors of a model folder under the parameter names of the class that `Source.build` returns."""

    def __init__(self, folder: Path, model_class: ModelClass) -> None:
        self.files = weight_files(folder)
        places = {name: place for file in self.files for name, place in read_header(file)}
        if len(self.files) > 1 or self.files[0].name != SINGLE:
            _check_index(folder / INDEX, places)
        text = text_part(list(places))
        self.is_part_of_a_wrapper = bool(text)
        if text:
            places = {new: places[name] for name, new in text.items()}
        canonical = canonical_names(list(places), model_class)
        self._places = {canonical[name]: place for name, place in places.items()}

    def names(self) -> frozenset[str]:
        return frozenset(self._places)

    def shape(self, name: str) -> tuple[int, ...]:
        return self._place(name).shape

    def dtype(self) -> str:
        """The float type that most of the weights are stored in."""
        elements: Counter[str] = Counter()
        for place in self._places.values():
            if place.dtype in FLOATS:
                elements[FLOATS[place.dtype][0]] += math.prod(place.shape)
        return elements.most_common(1)[0][0] if elements else "unknown"

    def read(self, name: str) -> Float:
        """The tensor `name` as a float64 array; holds no more than that array and one block."""
        place = self._place(name)
        if place.dtype not in FLOATS:
            raise UnusableCheckpoint(
                f"{place.file}: tensor {name} is stored as {place.dtype}, not as floats",
                f"use a checkpoint in one of {', '.join(FLOATS)}, or a .gguf file",
            )
        out = np.empty(math.prod(place.shape), dtype=np.float64)
        try:
            with place.file.open("rb", buffering=0) as stream:
                stream.seek(place.start)
                for begin in range(0, out.size, BLOCK):
                    block = out[begin : begin + BLOCK]
                    raw = stream.read(block.size * FLOATS[place.dtype][1])
                    if len(raw) != block.size * FLOATS[place.dtype][1]:
                        raise UnusableCheckpoint(f"{place.file} ends inside tensor {name}", "get the file again")
                    block[:] = _floats(raw, place.dtype)
        except OSError as error:  # the file was there when the model was opened
            raise UnusableCheckpoint(f"{place.file} cannot be read any more ({error.strerror})", "try again") from error
        return out.reshape(place.shape)

    def _place(self, name: str) -> TensorPlace:
        if name not in self._places:
            raise UnusableCheckpoint(
                f"{self.files[0].parent} holds no tensor {name}",
                "the weights and config.json do not belong together: get the whole folder again",
            )
        return self._places[name]


def _floats(raw: bytes, dtype: str) -> NDArray[Any]:
    """Little-endian bytes as a float array. bfloat16 is the upper half of a float32, so the value is exact."""
    if dtype == "BF16":
        return (np.frombuffer(raw, dtype="<u2").astype(np.uint32) << 16).view(np.float32)
    return np.frombuffer(raw, dtype={"F64": "<f8", "F32": "<f4", "F16": "<f2"}[dtype])


def weight_files(folder: Path) -> tuple[Path, ...]:
    """The safetensors files of a model folder, sorted by name.

    Raises `UnusableCheckpoint` when there are none (pickled ones are refused) or when a listed shard is missing.
    """
    if (folder / SINGLE).is_file():
        return (folder / SINGLE,)
    if (folder / INDEX).is_file():
        files = tuple(folder / name for name in sorted(set(_weight_map(folder / INDEX).values())))
        missing = [file.name for file in files if not file.is_file()]
        if missing:
            raise UnusableCheckpoint(
                f"{folder}: {len(missing)} of {len(files)} shards named by {INDEX} are missing, first {missing[0]}",
                "copy or download the missing files",
            )
        return files
    pickled = sorted(file.name for file in folder.iterdir() if file.suffix in PICKLED)
    if pickled:
        raise UnusableCheckpoint(
            f"{folder} holds weights only as {pickled[0]}, a format that can run code when it is loaded",
            "use a safetensors or gguf version of the model",
        )
    raise UnusableCheckpoint(
        f"{folder} holds neither {SINGLE} nor {INDEX}",
        "give the folder that `save_pretrained` wrote, or a .gguf file itself",
    )


def read_header(file: Path) -> Iterator[tuple[str, TensorPlace]]:
    """Name and place of every tensor of one safetensors file, after the library has checked its header.

    The library refuses a header that is not JSON, overlapping or out-of-range offsets, and a file that is too short.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(file, framework="np"):
            pass
        with file.open("rb") as stream:
            (length,) = struct.unpack("<Q", stream.read(8))
            header = json.loads(stream.read(length))
    except (SafetensorError, OSError, ValueError, struct.error) as error:
        raise UnusableCheckpoint(
            f"{file} is corrupt or cut short ({str(error).splitlines()[0]:.120})", "copy or download the file again"
        ) from error
    for name, entry in header.items():
        if name != "__metadata__":
            start = 8 + length + entry["data_offsets"][0]
            yield name, TensorPlace(file, entry["dtype"], tuple(entry["shape"]), start)


def _weight_map(index: Path) -> dict[str, str]:
    try:
        weight_map = json.loads(index.read_text(encoding="utf-8"))["weight_map"]
        well_formed = bool(weight_map) and all(
            isinstance(name, str) and Path(name).name == name and name.endswith(".safetensors")
            for name in weight_map.values()
        )
    except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError, AttributeError) as error:
        raise UnusableCheckpoint(f"{index} is not a shard index", "copy or download the file again") from error
    if not well_formed:
        raise UnusableCheckpoint(
            f"{index} names files that are not safetensors files of its own folder", "get the folder again"
        )
    return dict(weight_map)


def _check_index(index: Path, places: dict[str, TensorPlace]) -> None:
    """Every tensor must lie in the shard where the index says it does."""
    for name, shard in _weight_map(index).items():
        if name not in places or places[name].file.name != shard:
            raise UnusableCheckpoint(
                f"{index.name} puts tensor {name} into {shard}, which does not hold it",
                "the shards are of different versions: get the whole folder again",
            )
