"""Chunks of token ids of one length, streamed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from numerics.errors import InvalidArgument
from numerics.text.documents import Documents, open_documents

Ints = NDArray[np.int64]


class Chunks(Iterator[Ints]):
    """Iterator of arrays (length,) of token ids: contiguous pieces of the documents, in order, none overlapping.

    Each begins with the special tokens `start` that the tokenizer itself puts before a text (a BOS, BERT's [CLS]; none
    for GPT-2), which count towards the length; no special token ends it, nothing is padded. A chunk never crosses from
    one document to the next: the rest of a document that fills no chunk is left out. With `first_only` a document
    gives its first chunk and no more. Memory does not grow with the text.
    Raises InvalidArgument at the end of the text if not even one chunk came of it.
    """

    def __init__(self, tokenizer: Any, documents: Documents, length: int, bos: bool, first_only: bool = False) -> None:
        self.length = length
        self.start: tuple[int, ...] = start_tokens(tokenizer) if bos else ()
        self.delivered = 0
        self._documents = documents
        self._first_only = first_only
        self._room = length - len(self.start)
        if self._room < 1:
            raise InvalidArgument(
                f"chunks of {length} tokens have no room for text after {len(self.start)} special tokens",
                f"ask for a length of at least {len(self.start) + 1}",
            )
        self._longest = 0
        self._pieces = self._cut(tokenizer)

    @property
    def name(self) -> str:
        """The text, for messages and pages: file names, `shipped sample (…)` or the dataset's id."""
        return self._documents.name

    @property
    def text_sha256(self) -> str:
        """Hash of the text: of files and sample as a whole (`text_sha256`), of a dataset the documents read so far."""
        return self._documents.sha256

    def __next__(self) -> Ints:
        chunk = next(self._pieces, None)
        if chunk is not None:
            self.delivered += 1
            return chunk
        if self.delivered == 0:
            raise InvalidArgument(
                f"{self.name}: no document fills a chunk of {self._room} tokens (the longest has {self._longest})",
                "give a longer text or a smaller length",
            )
        raise StopIteration

    def _cut(self, tokenizer: Any) -> Iterator[Ints]:
        for document in self._documents:
            yield from islice(self._cut_document(tokenizer, document), 1 if self._first_only else None)

    def _cut_document(self, tokenizer: Any, document: Iterator[str]) -> Iterator[Ints]:
        held: list[int] = []
        seen = 0
        for piece in document:
            ids = tokenizer(piece, add_special_tokens=False, verbose=False)["input_ids"]
            held += ids
            seen += len(ids)
            whole = len(held) // self._room * self._room
            for first in range(0, whole, self._room):
                yield np.array([*self.start, *held[first : first + self._room]], dtype=np.int64)
            del held[:whole]
        self._longest = max(self._longest, seen)


def chunks(
    tokenizer: Any,
    *,
    length: int,
    files: Sequence[str | os.PathLike[str]] | None = None,
    dataset: str | None = None,
    bos: bool = True,
) -> Chunks:
    """Chunks of `length` token ids of UTF-8 `files`, of a Hugging Face `dataset`, or of the shipped sample.

    `tokenizer` is the model's transformers tokenizer (`model.vocabulary.tokenizer`). `dataset` is `owner/name` or
    `owner/name:config`; its train split is streamed, each row's `text` is a document. `bos=False` leaves the special
    tokens at the start out. Raises InvalidArgument (missing, empty, unreadable or non-UTF-8 file, text too short,
    unknown dataset), MissingExtra (datasets).
    """
    return Chunks(tokenizer, open_documents(files, dataset), length, bos)


def clipped_documents(
    tokenizer: Any,
    *,
    length: int,
    files: Sequence[str | os.PathLike[str]] | None = None,
    dataset: str | None = None,
) -> Chunks:
    """The first `length` token ids of every document that has as many; shorter documents are passed over.

    A document is a file or a row of the `dataset`. The shipped sample, one long book, is read as `chunks` instead: its
    consecutive stretches stand for documents. Arguments, special tokens and errors as for `chunks`.
    """
    whole = files is None and dataset is None
    return Chunks(tokenizer, open_documents(files, dataset), length, bos=True, first_only=not whole)


def start_tokens(tokenizer: Any) -> tuple[int, ...]:
    """The special tokens that the tokenizer puts before a text, found by tokenizing one with and without them."""
    probe = "a"
    bare = list(tokenizer(probe, add_special_tokens=False)["input_ids"])
    full = list(tokenizer(probe, add_special_tokens=True)["input_ids"])
    for first in range(len(full) - len(bare) + 1):
        if full[first : first + len(bare)] == bare:
            return tuple(full[:first])
    raise InvalidArgument(
        "the tokenizer changes the text's own tokens when it adds special ones", "ask for chunks with bos=False"
    )
