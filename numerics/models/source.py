"""From a reference to the files of a model: `resolve`, and `Source`, which everything else reads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from numerics.errors import InvalidArgument, ModelNotFound, UnusableCheckpoint

if TYPE_CHECKING:
    import torch


class WeightStore(Protocol):
    """The tensors of a checkpoint, read one at a time."""

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that hold the weights."""

    def names(self) -> frozenset[str]:
        """Parameter names in the transformers class that `Source.build` returns.

        A tied `lm_head` may be absent; that of GPT-NeoX is `embed_out`, as in its checkpoints.
        """

    def shape(self, name: str) -> tuple[int, ...]:
        """Shape of `read(name)`, without reading it."""

    def dtype(self) -> str:
        """The storage type of the weights, e.g. `bfloat16` or `Q4_K_M`."""

    def read(self, name: str) -> NDArray[np.float64]:
        """One tensor exactly as transformers holds it, as float64."""


@dataclass(frozen=True)
class Source:
    """A model's files, found and checked. Nothing big is read before it is asked for.

    `path` is the folder or the .gguf file; `revision` the commit of a hub model, else None; `config` a transformers
    config. `sha256` is that of the weights file; of several shards, that of the lines `hash  name`; of the packaged
    Gemma, that of the GGUF file it was made from.
    """

    reference: str
    name: str
    path: Path
    revision: str | None
    config: Any
    weights: WeightStore
    _build: Callable[[torch.dtype | None], torch.nn.Module] = field(repr=False)
    _tokenizer: Callable[[], Any] = field(repr=False)
    _known_sha256: str | None = field(default=None, repr=False)
    _known_dtype: str | None = field(default=None, repr=False)

    @cached_property
    def sha256(self) -> str:
        from numerics.models.sources.hashing import files_sha256

        return self._known_sha256 or files_sha256(self.weights.files)

    @property
    def dtype(self) -> str:
        """The storage type of the weights; of the packaged Gemma, that of the GGUF file it was made from."""
        return self._known_dtype or self.weights.dtype()

    def tokenizer(self) -> Any:
        """The model's tokenizer (a transformers tokenizer), made on the first call."""
        return self._cached_tokenizer

    @cached_property
    def _cached_tokenizer(self) -> Any:
        return self._tokenizer()

    def build(self, dtype: torch.dtype | None = None) -> torch.nn.Module:
        """The transformers model in eval mode with eager attention.

        `dtype=None`: the dtype of the file; float32 for quantised GGUF files, whose values float32 holds exactly.
        """
        return self._build(dtype)


def resolve(reference: str, revision: str | None = None) -> Source:
    """Find a model by `reference`: a packaged name, a local folder, a .gguf file, or a Hugging Face id.

    A packaged name comes before a folder of the same name, so that it means the same everywhere (`./minilm` is the
    folder). `revision` (branch, tag or commit) applies to a Hugging Face id only.
    Raises a `NumericsError` when the model is not there, is damaged, or is of an unknown architecture.
    """
    from numerics.models.sources.packaged import PACKAGED

    if reference in PACKAGED:
        _refuse_revision(reference, revision)
        return PACKAGED[reference]()
    path = Path(reference).expanduser()
    if reference and path.exists():
        _refuse_revision(reference, revision)
        return _from_path(reference, path.resolve())
    if _looks_like_path(reference):
        raise ModelNotFound(f"there is no file or folder {reference}", "check the path, or give one of: " + _accepted())
    from numerics.models.sources.hub import from_hub, is_hub_id

    if not is_hub_id(reference):
        raise ModelNotFound(f"{reference!r:.200} names no model", "give one of: " + _accepted())
    return from_hub(reference, revision)


def from_folder(
    folder: Path,
    reference: str,
    name: str,
    revision: str | None = None,
    known_sha256: str | None = None,
    known_dtype: str | None = None,
    tokenizer: Callable[[], Any] | None = None,
) -> Source:
    """The source of a folder config.json + safetensors; `tokenizer` replaces reading one from the folder."""
    from numerics.models.sources.build import build_from_folder, build_from_store
    from numerics.models.sources.classes import MODEL_CLASSES
    from numerics.models.sources.config import read_config
    from numerics.models.sources.safetensors_folder import FolderStore
    from numerics.models.sources.tokenizer import tokenizer_from_folder

    config = read_config(folder)
    weights = FolderStore(folder, MODEL_CLASSES[config.model_type])
    return Source(
        reference=reference,
        name=name,
        path=folder,
        revision=revision,
        config=config,
        weights=weights,
        _build=lambda dtype: (
            build_from_store(weights, config, dtype, str(folder))
            if weights.is_part_of_a_wrapper
            else build_from_folder(folder, config, dtype)
        ),
        _tokenizer=tokenizer or (lambda: tokenizer_from_folder(folder)),
        _known_sha256=known_sha256,
        _known_dtype=known_dtype,
    )


def _from_path(reference: str, path: Path) -> Source:
    if path.is_dir():
        return from_folder(path, reference, path.name)
    if path.suffix == ".gguf":
        from numerics.models.sources.gguf_source import from_gguf

        return from_gguf(path, reference)
    if path.suffix == ".safetensors":
        raise UnusableCheckpoint(f"{path} is one file of a model", f"give its folder: {path.parent}")
    raise UnusableCheckpoint(
        f"{path} is no model file that is read here", "give a folder with model.safetensors, or a .gguf file"
    )


def _refuse_revision(reference: str, revision: str | None) -> None:
    if revision is not None:
        raise InvalidArgument(
            f"revision {revision!r:.80} was given for {reference}, which is not on the Hugging Face hub",
            "leave the revision out",
        )


def _looks_like_path(reference: str) -> bool:
    ends = (".gguf", ".safetensors", ".bin", ".pt", ".pth", ".ckpt")
    return (
        reference.startswith(("/", ".", "~"))
        or "\\" in reference
        or reference.endswith(("/", *ends))
        or reference.count("/") > 1
    )


def _accepted() -> str:
    from numerics.models.sources.packaged import PACKAGED

    return f"{', '.join(PACKAGED)}, a folder with model.safetensors, a .gguf file, a Hugging Face id"
