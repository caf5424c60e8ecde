"""Where text comes from: files, the shipped sample, a dataset. A document is an iterator of pieces of text."""

from __future__ import annotations

import hashlib
import io
import lzma
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.resources import files as package_files
from pathlib import Path
from typing import IO, Any

from numerics.errors import InvalidArgument, MissingExtra

PIECE = 1 << 16
"""Characters that are tokenized at once. A piece ends after a line's end (or a space, or anywhere in a longer line), so
only there may the tokens differ from those of the text tokenized whole."""

SAMPLE = "King James Bible"
_SAMPLE_FILE = ("sample", "kjv.txt.xz")


@dataclass
class Documents:
    """Documents of one source. `read` starts them anew; `digest` gives the hash of the text (of what was read, for a
    dataset)."""

    name: str
    read: Callable[[], Iterator[Iterator[str]]]
    digest: Callable[[], str]

    def __iter__(self) -> Iterator[Iterator[str]]:
        return self.read()

    @property
    def sha256(self) -> str:
        return self.digest()


def open_documents(files: Sequence[str | os.PathLike[str]] | None, dataset: str | None) -> Documents:
    """The documents of `files`, of `dataset`, or, without either, of the shipped sample. Files are checked now."""
    if files is not None and dataset is not None:
        raise InvalidArgument("both text files and a dataset are given", "give one of them")
    if dataset is not None:
        return _of_dataset(dataset)
    if files is None:
        return Documents(f"shipped sample ({SAMPLE})", lambda: iter([_sample()]), text_sha256)
    if isinstance(files, str | os.PathLike):
        files = [files]
    paths = [_checked(Path(file)) for file in files]
    if not paths:
        raise InvalidArgument("no text file is given", "name one, or leave the option out to read the shipped sample")
    return Documents(
        ", ".join(path.name for path in paths), lambda: (_of_file(path) for path in paths), lambda: text_sha256(paths)
    )


def text_sha256(files: Sequence[str | os.PathLike[str]] | None = None) -> str:
    """SHA-256 of the bytes of a text file, or of the shipped sample (decompressed) without `files`.

    Of several files: of their hexadecimal digests, one a line, in order.
    """
    if files is None:
        with _open_sample() as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    digests = []
    for file in files:
        try:
            with Path(file).open("rb") as stream:
                digests.append(hashlib.file_digest(stream, "sha256").hexdigest())
        except OSError as error:
            raise _unreadable(Path(file), error) from error
    if len(digests) == 1:
        return digests[0]
    return hashlib.sha256("".join(f"{digest}\n" for digest in digests).encode()).hexdigest()


def _checked(path: Path) -> Path:
    if path.is_dir():
        raise InvalidArgument(f"{path} is a folder", "name the text files in it")
    if not path.exists():
        raise InvalidArgument(f"there is no text file {path}", "check the path")
    if path.is_file() and path.stat().st_size == 0:
        raise InvalidArgument(f"{path} is empty", "give a file with text in it")
    return path


def _of_file(path: Path) -> Iterator[str]:
    blank = True
    try:
        with path.open(encoding="utf-8-sig") as stream:
            for piece in pieces(stream):
                blank = blank and not piece.strip()
                yield piece
    except UnicodeDecodeError as error:
        raise InvalidArgument(
            f"{path} is not UTF-8 text (byte 0x{error.object[error.start]:02x})",
            f"convert it: iconv -t UTF-8 {path}, with -f and its real encoding",
        ) from error
    except OSError as error:
        raise _unreadable(path, error) from error
    if blank:
        raise InvalidArgument(f"{path} holds nothing but white space", "give a file with text in it")


def _sample() -> Iterator[str]:
    with _open_sample() as stream:
        yield from pieces(io.TextIOWrapper(stream, encoding="utf-8"))


def _open_sample() -> lzma.LZMAFile:
    return lzma.LZMAFile(package_files("numerics.text").joinpath(*_SAMPLE_FILE).open("rb"))


def _of_dataset(dataset: str) -> Documents:
    rows = _dataset_rows(dataset)
    hashed = hashlib.sha256()

    def read() -> Iterator[Iterator[str]]:
        for row in _streamed(rows, dataset):
            text = row.get("text")
            if not isinstance(text, str):
                raise InvalidArgument(
                    f"the dataset {dataset} has no text in a column 'text' (columns: {', '.join(row)})",
                    "use a dataset with such a column, or write its text to a file",
                )
            hashed.update(text.encode() + b"\0")
            yield pieces(io.StringIO(text))

    return Documents(dataset, read, hashed.hexdigest)


def _streamed(rows: Iterable[dict[str, Any]], dataset: str) -> Iterator[dict[str, Any]]:
    try:
        yield from rows
    except Exception as error:  # the network may fail at any row
        raise InvalidArgument(
            f"the dataset {dataset} cannot be read on ({first_line(error)})", "try again, or give text files"
        ) from error


def _dataset_rows(dataset: str) -> Iterable[dict[str, Any]]:
    try:
        datasets: Any = import_module("datasets")
    except ImportError:
        raise MissingExtra("a Hugging Face dataset", "datasets") from None
    name, _, config = dataset.partition(":")
    try:
        rows: Iterable[dict[str, Any]] = datasets.load_dataset(name, config or None, split="train", streaming=True)
    except Exception as error:  # the hub, the cache, the builder: each raises its own kinds
        raise InvalidArgument(
            f"the dataset {dataset} cannot be opened ({first_line(error)})",
            "check its id (owner/name or owner/name:config) and the network, or give text files",
        ) from error
    return rows


def pieces(stream: IO[str]) -> Iterator[str]:
    """The text of a stream in pieces of about `PIECE` characters, cut after a line's end where there is one."""
    held = ""
    while block := stream.read(PIECE):
        held += block
        # Before a space, as tokenizers join a space to the word after it.
        cut = held.rfind("\n") + 1 or max(held.rfind(" "), 0) or len(held)
        yield held[:cut]
        held = held[cut:]
    if held:
        yield held


def first_line(error: Exception) -> str:
    return f"{(str(error).splitlines() or [type(error).__name__])[0]:.160}"


def _unreadable(path: Path, error: OSError) -> InvalidArgument:
    return InvalidArgument(f"{path} cannot be read ({error.strerror or error})", "check the path and its permissions")
