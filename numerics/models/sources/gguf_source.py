"""The source of a GGUF file: its tensors under transformers' names and as transformers would hold them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from numerics.errors import UnusableCheckpoint
from numerics.models.source import Source
from numerics.models.sources.build import build_from_state
from numerics.models.sources.gguf_config import gguf_config
from numerics.models.sources.gguf_file import GgufHeader, GgufTensor, read_gguf_header, read_rows
from numerics.models.sources.gguf_names import Names, Order, names_of
from numerics.models.sources.tokenizer import tokenizer_from_gguf

if TYPE_CHECKING:
    import torch

# Rotary factors: they are part of the config by now.
NO_PARAMETERS = frozenset({"rope_freqs.weight"})


class GgufStore:
    """The tensors of a GGUF file, dequantised one at a time."""

    def __init__(self, header: GgufHeader, config: Any) -> None:
        self.files = (header.file,)
        self._header = header
        self._config = config
        self._names = names_of(config.model_type, config)
        self._stored: dict[str, GgufTensor] = {}
        for name, tensor in header.tensors.items():
            if name not in NO_PARAMETERS:
                self._stored[_parameter(header, name, self._names)] = tensor

    def names(self) -> frozenset[str]:
        return frozenset(self._stored)

    def shape(self, name: str) -> tuple[int, ...]:
        tensor = self._tensor(name)
        return tensor.shape[::-1] if self._is_transposed(tensor) else tensor.shape

    def dtype(self) -> str:
        """The file's quantisation, e.g. `Q4_K_M`; for plain floats the name torch gives them."""
        from gguf.constants import GGMLQuantizationType, LlamaFileType

        elements: Counter[int] = Counter()
        for tensor in self._stored.values():
            elements[tensor.kind] += math.prod(tensor.shape)
        floats = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16"}
        label = GGMLQuantizationType(elements.most_common(1)[0][0]).name
        if set(elements) - {0, 1, 28, 30}:  # not only F32, F16, F64 and BF16
            with suppress(ValueError):
                label = LlamaFileType(self._header.fields.get("general.file_type")).name.removeprefix("MOSTLY_")
        return floats.get(str(label), str(label))

    def read(self, name: str) -> NDArray[np.float64]:
        """The tensor `name` in float64; holds no more than that array and one block of rows."""
        return self._read(name, np.empty(self.shape(name), dtype=np.float64))

    def read_float32(self, name: str) -> NDArray[np.float32]:
        """The same in float32, the type that dequantisation gives: no value is rounded."""
        return self._read(name, np.empty(self.shape(name), dtype=np.float32))

    def blocks(self, name: str) -> Iterator[NDArray[np.float32]]:
        """`read_float32(name)` in C order, a block of rows at a time where the file's rows are in that order."""
        tensor = self._tensor(name)
        if len(tensor.shape) == 1 or self._is_transposed(tensor) or self._row_order(tensor) is not None:
            yield self.read_float32(name)
        else:
            yield from (block for _, block in read_rows(self._header.file, tensor))

    def n_elements(self) -> int:
        return sum(math.prod(tensor.shape) for tensor in self._stored.values())

    def _read(self, name: str, out: NDArray[Any]) -> NDArray[Any]:
        tensor = self._tensor(name)
        order = self._row_order(tensor)
        if len(tensor.shape) == 1:
            ((_, block),) = read_rows(self._header.file, tensor)
            values = block.ravel()
            if self._names.gains_minus_one and tensor.name.endswith("norm.weight"):
                values = values - np.float32(1)  # in float32, as transformers does
            out[order if order is not None else slice(None)] = values
            return out
        target = out.T if self._is_transposed(tensor) else out
        for rows, block in read_rows(self._header.file, tensor):
            target[order[rows] if order is not None else rows] = block
        return out

    def _tensor(self, name: str) -> GgufTensor:
        if name not in self._stored:
            raise UnusableCheckpoint(f"{self._header.file} holds no tensor for {name}", "get the file again")
        return self._stored[name]

    def _leaf(self, tensor: GgufTensor) -> str:
        found = re.fullmatch(r"blk\.\d+\.(\w+)\.(?:weight|bias)", tensor.name)
        return found[1] if found else ""

    def _is_transposed(self, tensor: GgufTensor) -> bool:
        return len(tensor.shape) == 2 and self._leaf(tensor) in self._names.transposed

    def _row_order(self, tensor: GgufTensor) -> Order | None:
        order = self._names.row_order(self._config, self._leaf(tensor))
        if order is not None and len(order) != tensor.shape[0]:
            raise UnusableCheckpoint(
                f"{self._header.file}: tensor {tensor.name} has {tensor.shape[0]} rows, by its metadata {len(order)}",
                "get the file again",
            )
        return order


def _parameter(header: GgufHeader, name: str, names: Names) -> str:
    """The transformers name of a GGUF tensor."""
    stem, _, kind = name.rpartition(".")
    if found := re.fullmatch(r"blk\.(\d+)\.(\w+)", stem):
        layer, leaf = found.groups()
        if leaf in names.leaves:
            return f"{names.layer}.{layer}.{names.leaves[leaf]}.{kind}"
    elif stem in names.top:
        return f"{names.top[stem]}.{kind}"
    raise UnusableCheckpoint(
        f"{header.file} holds the tensor {name!r:.80}, which a {header.architecture} model does not have",
        "use the safetensors version of the model",
    )


def from_gguf(file: Path, reference: str) -> Source:
    """The source of one .gguf file."""
    header = read_gguf_header(file)
    config = gguf_config(header)
    store = GgufStore(header, config)
    return Source(
        reference=reference,
        name=file.stem,
        path=file,
        revision=None,
        config=config,
        weights=store,
        _build=_builder(store, config, file),
        _tokenizer=lambda: tokenizer_from_gguf(file),
    )


def _builder(store: GgufStore, config: Any, file: Path) -> Callable[[torch.dtype | None], torch.nn.Module]:
    def build(dtype: torch.dtype | None) -> torch.nn.Module:
        import torch

        state = {name: torch.from_numpy(store.read_float32(name)) for name in store.names()}
        return build_from_state(state, config, dtype or torch.float32, str(file))

    return build
