"""What a check writes: a place made sure of before minutes of work, files that appear whole, a refusal in one line."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from numerics.errors import NumericsError, UnwritableOutput


def folder(place: Path) -> Path:
    """The folder, made where it is missing. Raises UnwritableOutput if no file can be written in it."""
    try:
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as error:
        raise UnwritableOutput(f"cannot write in {place} ({error.strerror})", "name another folder") from None
    return place


def write(file: Path, text: str) -> None:
    """The file with this text, in one step; its folder is made where it is missing."""
    file.parent.mkdir(parents=True, exist_ok=True)
    partial = file.with_name(f".{file.name}.partial")
    partial.write_text(text, encoding="utf-8", newline="\n")
    partial.replace(file)


@contextmanager
def refusing() -> Iterator[None]:
    """Wrong input ends the command with one line and status 2."""
    try:
        yield
    except NumericsError as error:
        print(f"checks: {error}", file=sys.stderr)
        raise typer.Exit(2) from None
