"""Tokenizers of a model folder and of a GGUF file, through transformers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from numerics.errors import UnusableCheckpoint


def tokenizer_from_folder(folder: Path) -> Any:
    """The tokenizer saved in a model folder; its Python code, if it brings any, is never run."""
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(str(folder), trust_remote_code=False, local_files_only=True)
    except (OSError, ValueError, KeyError, TypeError, ImportError, AttributeError) as error:
        raise UnusableCheckpoint(
            f"{folder} holds no tokenizer that can be read ({_first_line(error)})",
            "copy tokenizer.json and tokenizer_config.json of the model into the folder",
        ) from error


def tokenizer_from_gguf(file: Path) -> Any:
    """The tokenizer that a GGUF file's metadata describes."""
    from transformers import PreTrainedTokenizerFast
    from transformers.integrations.gguf import convert_gguf_tokenizer, get_gguf_tokenizer

    try:
        architecture, parts, settings = get_gguf_tokenizer(str(file))
        backend, extra = convert_gguf_tokenizer(architecture, parts)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UnusableCheckpoint(
            f"{file} holds no tokenizer that can be read ({_first_line(error)})",
            "use a .gguf file of the whole model, with its tokenizer",
        ) from error
    return PreTrainedTokenizerFast(tokenizer_object=backend, **settings, **extra)


def _first_line(error: Exception) -> str:
    return f"{(str(error).splitlines() or [type(error).__name__])[0]:.160}"
