"""Write a safetensors file tensor by tensor, so that no more than a block of it is in memory."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


def write_float32(
    file: Path,
    shapes: dict[str, tuple[int, ...]],
    blocks: Callable[[str], Iterable[NDArray[np.float32]]],
    written: Callable[[int], object] = lambda n_bytes: None,
) -> str:
    """Write the tensors of `shapes`, whose values `blocks(name)` yields in C order; the SHA-256 of the file.

    `written(n_bytes)` is called after every block.
    """
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    at = 0
    for name, shape in shapes.items():
        end = at + 4 * math.prod(shape)
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [at, end]}
        at = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    digest = hashlib.sha256()
    with file.open("wb") as stream:
        for chunk in (len(text).to_bytes(8, "little"), text):
            stream.write(chunk)
            digest.update(chunk)
        for name, shape in shapes.items():
            begin = stream.tell()
            for block in blocks(name):
                data = np.ascontiguousarray(block, dtype="<f4").data.cast("B")
                stream.write(data)
                digest.update(data)
                written(len(data))
            if stream.tell() - begin != 4 * math.prod(shape):
                raise ValueError(f"{name}: the blocks do not add up to shape {shape}")
    return digest.hexdigest()
