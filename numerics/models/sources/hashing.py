"""SHA-256 of checkpoint files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path


def file_sha256(file: Path) -> str:
    """Hex SHA-256 of one file's bytes."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def files_sha256(files: Iterable[Path]) -> str:
    """`combined_sha256` of the files."""
    return combined_sha256({file.name: file_sha256(file) for file in files})


def combined_sha256(hashes: dict[str, str]) -> str:
    """One hash for a model's weight files: a single file's own; of several, that of the lines `hash  name` by name.

    The lines are those that `sha256sum *.safetensors` prints.
    """
    if len(hashes) == 1:
        return next(iter(hashes.values()))
    lines = "".join(f"{hashes[name]}  {name}\n" for name in sorted(hashes))
    return hashlib.sha256(lines.encode()).hexdigest()
