"""Read a checkpoint's `config.json` into a transformers config, running no code that comes with the model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from numerics.errors import UnsupportedArchitecture, UnusableCheckpoint
from numerics.models.sources.classes import MODEL_CLASSES

# Keys that say not what the model is but how to load it: Python files of the repository, other weight files, patches.
STEERING = frozenset({"auto_map", "transformers_weights", "fusion_config", "distributed_config"})


def read_config(folder: Path) -> Any:
    """The transformers config of a model folder.

    Raises `UnusableCheckpoint` when `config.json` is missing, not JSON, or names a quantised format, and
    `UnsupportedArchitecture` when its `model_type` is not one whose layout is known.
    """
    file = folder / "config.json"
    if not file.is_file():
        raise UnusableCheckpoint(
            f"{folder} holds no config.json",
            "give the folder that `save_pretrained` wrote (config.json + model.safetensors), or a .gguf file itself",
        )
    try:
        fields = json.loads(file.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise UnusableCheckpoint(f"{file} is not JSON ({error})", "get the file again") from error
    if not isinstance(fields, dict) or not isinstance(fields.get("model_type"), str):
        raise UnusableCheckpoint(f"{file} names no model_type", "get the file again from the model's publisher")
    return make_config(fields, where=str(file))


def make_config(fields: dict[str, Any], where: str) -> Any:
    """`fields` (as in config.json) as a transformers config; `where` names their origin in errors."""
    model_type = fields["model_type"]
    if model_type == "gemma3" and isinstance(fields.get("text_config"), dict):  # it also sees pictures: the text part
        fields = fields["text_config"] | {"model_type": "gemma3_text"}
        model_type = fields["model_type"]
    if model_type not in MODEL_CLASSES:
        refuse_architecture(model_type, where, needs_remote_code="auto_map" in fields)
    quantised = fields.get("quantization_config")
    if quantised:
        method = quantised.get("quant_method", "unnamed") if isinstance(quantised, dict) else "unnamed"
        raise UnusableCheckpoint(
            f"{where} says the weights are quantised (method {method!r:.60})",
            "use the float checkpoint of the same model, or a .gguf file of it",
        )
    from transformers import CONFIG_MAPPING

    known = {key: value for key, value in fields.items() if key not in STEERING}
    try:
        return CONFIG_MAPPING[model_type].from_dict(known)
    except Exception as error:  # transformers validates with many exception types; each means a wrong field
        detail = str(error).splitlines()[-1].strip() if str(error) else type(error).__name__
        raise UnusableCheckpoint(
            f"{where} is no valid config of a {model_type} model ({detail:.200})", "get the file again"
        ) from error


def refuse_architecture(model_type: str, where: str, needs_remote_code: bool = False) -> None:
    """Raise `UnsupportedArchitecture`, naming what was asked for and what is known."""
    why = " and needs Python code from its repository, which is never run" if needs_remote_code else ""
    if model_type.endswith(("_vl", "_omni")):
        why = " (a multi-modal wrapper)"
    raise UnsupportedArchitecture(
        f"{where}: model_type {model_type!r:.80} is not supported{why}",
        f"use a model of one of: {', '.join(sorted(MODEL_CLASSES))}",
    )
