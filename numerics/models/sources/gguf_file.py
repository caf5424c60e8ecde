"""The header of a GGUF file, and its tensors dequantised in blocks of rows.

`gguf.GGUFReader` makes a Python object of every token of the vocabulary; this reader steps over long arrays, so that a
file opens in a moment whatever its vocabulary. Dequantisation itself is the gguf package's.
Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

from __future__ import annotations

import math
import mmap
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from numerics.errors import UnusableCheckpoint

MAGIC = b"GGUF"
VERSIONS = (2, 3)  # version 1 counted in 32 bits and went out of use within weeks
SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
FLOAT32, STRING, ARRAY = 6, 8, 9
LONG = 4096  # arrays longer than this are stepped over: per-layer settings are shorter, vocabularies longer
BLOCK_BYTES = 1 << 20  # stored bytes dequantised at a time


@dataclass(frozen=True)
class LongArray:
    """An array of the metadata that was stepped over."""

    length: int


@dataclass(frozen=True)
class GgufTensor:
    """Where a tensor lies in the file. `shape` in C order (GGUF lists the fastest first), `kind` its ggml type."""

    name: str
    shape: tuple[int, ...]
    kind: int
    start: int
    n_bytes: int


@dataclass(frozen=True)
class GgufHeader:
    """Metadata `fields` and `tensors` of a GGUF file."""

    file: Path
    fields: dict[str, Any]
    tensors: dict[str, GgufTensor]

    @property
    def architecture(self) -> str:
        return str(self.fields["general.architecture"])


def read_gguf_header(file: Path, only_header: bool = False) -> GgufHeader:
    """The header of `file`. `only_header`: the tensor data may be missing (the first part of a split-up file).

    Raises `UnusableCheckpoint` for a wrong magic, an unknown version, or a file that ends too early.
    """
    with file.open("rb") as stream:
        if stream.read(4) != MAGIC:
            raise UnusableCheckpoint(f"{file} is not a GGUF file (it does not start with GGUF)", "get the file again")
        with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
            try:
                return _parse(file, data, only_header)
            except (struct.error, UnicodeDecodeError, IndexError, OverflowError, KeyError) as error:
                raise UnusableCheckpoint(
                    f"{file} has a corrupt or cut-off header ({type(error).__name__}: {error!s:.80})",
                    "copy or download the file again",
                ) from error


def _parse(file: Path, data: mmap.mmap, only_header: bool) -> GgufHeader:
    (version,) = struct.unpack_from("<I", data, 4)
    if version not in VERSIONS:
        big_endian = version & 0xFFFF == 0
        raise UnusableCheckpoint(
            f"{file} is {'a big-endian GGUF file' if big_endian else f'GGUF version {version}'}",
            f"use a little-endian file of version {' or '.join(map(str, VERSIONS))}",
        )
    n_tensors, n_fields = struct.unpack_from("<QQ", data, 8)
    # Every field and tensor takes at least 13 bytes: larger counts are garbage, and would be looped over.
    if (n_tensors + n_fields) * 13 > len(data):
        raise UnusableCheckpoint(f"{file} has a corrupt or cut-off header", "copy or download the file again")
    at = 24
    fields: dict[str, Any] = {}
    for _ in range(n_fields):
        key, at = _string(data, at)
        (kind,) = struct.unpack_from("<I", data, at)
        fields[key], at = _value(data, at + 4, kind)
    places = []
    for _ in range(n_tensors):
        name, at = _string(data, at)
        (n_dims,) = struct.unpack_from("<I", data, at)
        dims = struct.unpack_from(f"<{n_dims}Q", data, at + 4)
        kind, offset = struct.unpack_from("<IQ", data, at + 4 + 8 * n_dims)
        at += 16 + 8 * n_dims
        places.append((name, tuple(reversed(dims)), kind, offset))
    alignment = fields.get("general.alignment", 32)
    begin = -(-at // alignment) * alignment
    tensors = {
        name: GgufTensor(name, shape, kind, begin + offset, _n_bytes(file, name, shape, kind))
        for name, shape, kind, offset in places
    }
    if len(tensors) != n_tensors or "general.architecture" not in fields:
        raise UnusableCheckpoint(f"{file} has a corrupt header", "copy or download the file again")
    end = max((tensor.start + tensor.n_bytes for tensor in tensors.values()), default=begin)
    if end > len(data) and not only_header:
        raise UnusableCheckpoint(
            f"{file} is cut short: {len(data)} bytes of at least {end}", "copy or download the file again"
        )
    if fields.get("split.count", 1) > 1:
        raise UnusableCheckpoint(
            f"{file} is one of {fields['split.count']} parts", "merge them with llama.cpp's llama-gguf-split --merge"
        )
    return GgufHeader(file, fields, tensors)


def _string(data: mmap.mmap, at: int) -> tuple[str, int]:
    (length,) = struct.unpack_from("<Q", data, at)
    end = at + 8 + length
    if end > len(data):
        raise IndexError("a string runs past the end")
    return data[at + 8 : end].decode("utf-8"), end


def _value(data: mmap.mmap, at: int, kind: int) -> tuple[Any, int]:
    """One metadata value and the offset behind it."""
    if kind == STRING:
        return _string(data, at)
    if kind != ARRAY:
        form = SCALARS[kind]
        (value,) = struct.unpack_from(form, data, at)
        # A config says 1e-6; the file holds its float32. The shortest decimal with that float32 is the config's.
        return float(str(np.float32(value))) if kind == FLOAT32 else value, at + struct.calcsize(form)
    item, length = struct.unpack_from("<IQ", data, at)
    at += 12
    if item in SCALARS:
        end = at + length * struct.calcsize(SCALARS[item])
        if end > len(data):
            raise IndexError("an array runs past the end")
        short = length <= LONG
        return (list(struct.unpack_from(f"<{length}{SCALARS[item][1]}", data, at)) if short else LongArray(length)), end
    if item != STRING or length * 8 > len(data):
        raise IndexError(f"an array of type {item} and length {length}")
    if length <= LONG:
        strings = []
        for _ in range(length):
            text, at = _string(data, at)
            strings.append(text)
        return strings, at
    for _ in range(length):
        at += 8 + struct.unpack_from("<Q", data, at)[0]
    return LongArray(length), at


def _n_bytes(file: Path, name: str, shape: tuple[int, ...], kind: int) -> int:
    from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType

    try:
        elements, size = GGML_QUANT_SIZES[GGMLQuantizationType(kind)]
    except (KeyError, ValueError) as error:
        raise UnusableCheckpoint(
            f"{file}: tensor {name} has the unknown ggml type {kind}", "use a file with another quantisation"
        ) from error
    if not shape or shape[-1] % elements or not 0 < math.prod(shape) < 1 << 48:
        raise UnusableCheckpoint(f"{file}: tensor {name} has the impossible shape {shape}", "get the file again")
    return math.prod(shape) // int(elements) * int(size)


def read_rows(file: Path, tensor: GgufTensor) -> Iterator[tuple[slice, NDArray[np.float32]]]:
    """The tensor as (rows, columns) in float32, a block of rows at a time; a vector is one row."""
    from gguf.constants import GGMLQuantizationType
    from gguf.quants import dequantize

    n_rows = math.prod(tensor.shape[:-1])
    row_bytes = tensor.n_bytes // n_rows
    step = max(1, BLOCK_BYTES // row_bytes)
    with file.open("rb", buffering=0) as stream:
        stream.seek(tensor.start)
        for begin in range(0, n_rows, step):
            rows = slice(begin, min(begin + step, n_rows))
            raw = stream.read((rows.stop - rows.start) * row_bytes)
            if len(raw) != (rows.stop - rows.start) * row_bytes:
                raise UnusableCheckpoint(f"{file} ends inside tensor {tensor.name}", "get the file again")
            stored = np.frombuffer(raw, dtype=np.uint8).reshape(-1, row_bytes)
            try:
                yield rows, dequantize(stored, GGMLQuantizationType(tensor.kind))
            except (NotImplementedError, ValueError) as error:
                raise UnusableCheckpoint(
                    f"{file}: tensor {tensor.name} is stored as {GGMLQuantizationType(tensor.kind).name}, "
                    "which the gguf package cannot dequantise",
                    "use a file with another quantisation",
                ) from error
