"""Build the transformers model of a source, without code or pickles from the checkpoint."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerics.errors import UnusableCheckpoint
from numerics.models.sources.classes import MODEL_CLASSES

if TYPE_CHECKING:
    import torch

    from numerics.models.sources.safetensors_folder import FolderStore


def build_from_folder(folder: Path, config: Any, dtype: torch.dtype | None) -> torch.nn.Module:
    """The model of a safetensors folder; `dtype=None` keeps the dtype of the file."""
    return _load(str(folder), config, str(folder), dtype=dtype or "auto", use_safetensors=True, local_files_only=True)


def build_from_store(store: FolderStore, config: Any, dtype: torch.dtype | None, where: str) -> torch.nn.Module:
    """The model of a config and a store's tensors; `dtype=None` keeps the dtype of the file."""
    import torch

    kept: torch.dtype = dtype or getattr(torch, store.dtype())
    state = {name: torch.from_numpy(store.read(name)).to(kept) for name in store.names()}
    return build_from_state(state, config, kept, where)


def build_from_state(state: dict[str, torch.Tensor], config: Any, dtype: torch.dtype, where: str) -> torch.nn.Module:
    """The model of a config and all its parameters, in `dtype`."""
    return _load(None, config, where, dtype=dtype, state_dict=state)


def _load(location: str | None, config: Any, where: str, **options: Any) -> torch.nn.Module:
    """`from_pretrained` in eval mode with eager attention, refusing weights that are missing or left over.

    transformers initialises a parameter that the checkpoint lacks at random and only warns; here it stops the run.
    """
    model_class = _class_of(config)
    try:
        with _quiet():
            model, report = model_class.from_pretrained(
                location,
                config=config,
                attn_implementation="eager",
                trust_remote_code=False,
                output_loading_info=True,
                **options,
            )
    except (OSError, RuntimeError, ValueError, KeyError) as error:
        raise UnusableCheckpoint(
            f"{where}: transformers cannot load the weights ({str(error).splitlines()[0]:.200})",
            "the weights and the config do not belong together: get the whole model again",
        ) from error
    # A sentence pooler is no part of the layers; masked-language checkpoints do not have it.
    missing = sorted(name for name in report["missing_keys"] if not name.startswith("pooler."))
    if missing:
        raise UnusableCheckpoint(
            f"{where}: {len(missing)} parameters have no weights, first {missing[0]}",
            "the weights and the config do not belong together: get the whole model again",
        )
    # Left-over weights of a module the class does not have are another head (cls, score, …); inside the model they
    # mean that the config is another model's, for instance with fewer layers.
    children = {name for name, _ in model.named_children()}
    surplus = sorted(name for name in report["unexpected_keys"] if _module(name, config) in children)
    if surplus:
        raise UnusableCheckpoint(
            f"{where}: {len(surplus)} weights belong to no parameter of the config, first {surplus[0]}",
            "the weights and the config do not belong together: get the whole model again",
        )
    module: torch.nn.Module = model.eval()
    return module


def _module(name: str, config: Any) -> str:
    """The top module a weight belongs to, in the class that is built; "" for buffers that old versions stored."""
    if name.endswith((".position_ids", ".masked_bias", ".attn.bias", ".attention.bias", ".inv_freq", ".causal_mask")):
        return ""
    chosen = MODEL_CLASSES[config.model_type]
    if chosen.auto == "AutoModel":
        name = name.removeprefix(f"{chosen.prefix}.")
    return name.split(".", 1)[0]


def _class_of(config: Any) -> Any:
    import transformers

    auto = getattr(transformers, MODEL_CLASSES[config.model_type].auto)
    return auto._model_mapping[type(config)] if hasattr(auto, "_model_mapping") else auto


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep transformers' own reports and bars off the terminal; what they would say is checked above."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
