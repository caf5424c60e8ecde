"""Chunks are the text, cut: nothing lost but the tail, nothing twice, special tokens only at the start."""

from __future__ import annotations

import hashlib
import io
import itertools
import lzma
import re
import sys
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from importlib.resources import files as package_files
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numerics.errors import InvalidArgument, MissingExtra
from numerics.text import chunks, clipped_documents, split, text_sha256
from numerics.text import documents as documents_module
from numerics.text.documents import pieces

Make = Callable[[str], Any]


def write(folder: Path, text: str | bytes, name: str = "a.txt") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@given(
    length=st.integers(3, 9), text=st.text(st.sampled_from("ab \né"), min_size=9, max_size=80), piece=st.integers(1, 40)
)
def test_chunks_joined_are_the_text(
    tokenizer: Make, tmp_path_factory: pytest.TempPathFactory, length: int, text: str, piece: int
) -> None:
    text = "x" + text  # not blank
    path = write(tmp_path_factory.mktemp("text"), text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(documents_module, "PIECE", piece)
        got = list(chunks(tokenizer("bos"), length=length, files=[path]))
    assert all(chunk.shape == (length,) and chunk.dtype == np.int64 and chunk[0] == 0 for chunk in got)
    joined = np.concatenate([chunk[1:] for chunk in got])
    expected = tokenizer("none")(text)["input_ids"]
    assert len(expected) - (length - 1) < len(joined) <= len(expected)
    assert joined.tolist() == expected[: len(joined)]


@pytest.mark.parametrize(("kind", "start"), [("none", ()), ("bos", (0,)), ("bert", (0,)), ("end", ()), ("two", (0, 1))])
def test_start_is_what_the_tokenizer_itself_puts_there(
    tokenizer: Make, tmp_path: Path, kind: str, start: tuple[int, ...]
) -> None:
    path = write(tmp_path, "abcdefghij")
    stream = chunks(tokenizer(kind), length=4, files=[path])
    assert stream.start == start
    first = next(stream)
    assert tuple(first[: len(start)]) == start
    assert (first[len(start) :] > 1).all(), "a special token inside"
    assert (next(chunks(tokenizer(kind), length=4, files=[path], bos=False)) > 1).all()


def test_chunks_do_not_cross_files(tokenizer: Make, tmp_path: Path) -> None:
    paths = [write(tmp_path, "aaaaa", "a"), write(tmp_path, "b", "b"), write(tmp_path, "ccccc", "c")]
    make = tokenizer("none")
    got = [make.decode(chunk) for chunk in chunks(make, length=2, files=paths)]
    assert got == ["aa", "aa", "cc", "cc"]


def test_a_byte_order_mark_and_windows_line_ends_are_no_text(tokenizer: Make, tmp_path: Path) -> None:
    make = tokenizer("none")
    path = write(tmp_path, "\ufeffab\r\ncd")
    assert make.decode(next(chunks(make, length=5, files=path))) == "ab\ncd"


def test_one_path_is_one_file(tokenizer: Make, tmp_path: Path) -> None:
    path = str(write(tmp_path, "abcdef"))
    assert chunks(tokenizer("none"), length=3, files=path).name == "a.txt"  # type: ignore[arg-type]


@given(text=st.text(st.sampled_from("ab \n"), max_size=60), size=st.integers(1, 20))
def test_pieces_joined_are_the_text_and_break_between_words(text: str, size: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(documents_module, "PIECE", size)
        got = list(pieces(io.StringIO(text)))
    assert "".join(got) == text
    assert all(got)


def test_a_word_is_not_torn_and_keeps_its_space() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(documents_module, "PIECE", 10)
        assert list(pieces(io.StringIO("one two three\nfour five"))) == ["one two", " three\n", "four", " five"]


def test_memory_does_not_grow_with_the_text(tokenizer: Make, tmp_path: Path) -> None:
    """Peak over 64 pieces against that over 4: the same, up to a piece (tokens of one piece are 65536 ints)."""
    make, peaks = tokenizer("none"), []
    for count in (4, 64):
        path = write(tmp_path, "some words\n" * (count * documents_module.PIECE // 11))
        tracemalloc.start()
        for _ in chunks(make, length=256, files=[path]):
            pass
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0]


# -- the shipped sample -----------------------------------------------------------------------------------------------


def test_sample_is_plain_english_of_more_than_2_mb(tokenizer: Make) -> None:
    make = tokenizer("bos")
    stream = chunks(make, length=52)
    assert make.decode(next(stream)[1:]) == "In the beginning God created the heaven and the ear"
    packed = package_files("numerics.text").joinpath("sample", "kjv.txt.xz").read_bytes()
    text = lzma.decompress(packed).decode("ascii")
    assert len(text) > 2e6
    assert len(packed) < 1e6
    assert not re.search(r"\d", text), "a label of a verse is left"
    assert text.endswith("The grace of our Lord Jesus Christ be with you all. Amen.\n")
    assert hashlib.sha256(text.encode()).hexdigest() == text_sha256() == stream.text_sha256
    assert package_files("numerics.text").joinpath("sample", "NOTICE.txt").read_text().startswith("kjv.txt.xz: ")
    # The bytes that were shipped first: results carry this hash, so the text must not change unnoticed.
    assert text_sha256() == "58e4107f8a7a8f3d1201f5e4d71102ff1818bf9e8a3a7ce4e7c506b4e243489a"


# -- hashes -----------------------------------------------------------------------------------------------------------


def test_hash_of_one_file_is_that_of_its_bytes(tokenizer: Make, tmp_path: Path) -> None:
    path = write(tmp_path, "abc\r\n")
    assert text_sha256([path]) == hashlib.sha256(b"abc\r\n").hexdigest()
    assert chunks(tokenizer("none"), length=2, files=[path]).text_sha256 == text_sha256([path])


def test_hash_of_files_knows_where_one_ends(tmp_path: Path) -> None:
    a, b, c = write(tmp_path, "ab", "a"), write(tmp_path, "c", "b"), write(tmp_path, "abc", "c")
    hashes = {text_sha256([a, b]), text_sha256([b, a]), text_sha256([c]), text_sha256([a])}
    assert len(hashes) == 4
    lines = "".join(hashlib.sha256(path.read_bytes()).hexdigest() + "\n" for path in (a, b))
    assert text_sha256([a, b]) == hashlib.sha256(lines.encode()).hexdigest()


# -- parts ------------------------------------------------------------------------------------------------------------


def test_parts_never_overlap(tokenizer: Make, tmp_path: Path) -> None:
    make = tokenizer("bos")
    stream = chunks(make, length=3, files=[write(tmp_path, "0123456789")])
    estimate, query = split(stream, (3, 2))
    assert [[make.decode(chunk[1:]) for chunk in part] for part in (estimate, query)] == [
        ["01", "23", "45"],
        ["67", "89"],
    ]


def test_a_part_cannot_be_read_out_of_turn(tokenizer: Make, tmp_path: Path) -> None:
    stream = chunks(tokenizer("none"), length=1, files=[write(tmp_path, "0123456789")])
    estimate, query = split(stream, (3, 2))
    next(estimate)
    with pytest.raises(InvalidArgument, match="one after the other"):
        next(query)


def test_a_text_with_too_few_chunks_says_how_many_it_has(tokenizer: Make, tmp_path: Path) -> None:
    stream = chunks(tokenizer("none"), length=2, files=[write(tmp_path, "0123456789")])
    with pytest.raises(InvalidArgument, match=r"a\.txt holds 5 chunks of 2 tokens, 7 are needed"):
        list(itertools.chain(*split(stream, (3, 4))))
    with pytest.raises(InvalidArgument, match="one or more each"):
        split(stream, (3, 0))


# -- documents --------------------------------------------------------------------------------------------------------


@given(
    texts=st.lists(st.text(st.sampled_from("ab \né"), min_size=1, max_size=30), min_size=1, max_size=5),
    length=st.integers(2, 9),
    piece=st.integers(1, 12),
)
def test_clipped_documents_are_the_beginnings_of_those_long_enough(
    tokenizer: Make, tmp_path_factory: pytest.TempPathFactory, texts: list[str], length: int, piece: int
) -> None:
    texts = ["x" + text for text in texts]  # not blank
    folder = tmp_path_factory.mktemp("text")
    paths = [write(folder, text, f"{place}.txt") for place, text in enumerate(texts)]
    tokens = [tokenizer("none")(text)["input_ids"] for text in texts]
    expected = [[0, *ids[: length - 1]] for ids in tokens if len(ids) >= length - 1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(documents_module, "PIECE", piece)
        stream = clipped_documents(tokenizer("bos"), length=length, files=paths)
        if expected:
            assert [document.tolist() for document in stream] == expected
        else:
            with pytest.raises(InvalidArgument, match=f"longest has {max(map(len, tokens))}"):
                next(stream)


def test_a_clipped_document_is_read_no_further_than_needed(
    tokenizer: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents_module, "PIECE", 4)
    make = tokenizer("none")
    read: list[str] = []

    def recorded(piece: str, **options: Any) -> Any:
        read.append(piece)
        return make(piece, **options)

    stream = clipped_documents(recorded, length=3, files=[write(tmp_path, "abcdefgh" * 50)])
    read.clear()  # the probes for special tokens
    assert [make.decode(ids) for ids in stream] == ["abc"]
    assert read == ["abcd"]


def test_rows_of_a_dataset_are_clipped_and_the_sample_is_read_on(
    tokenizer: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(monkeypatch, [{"text": "aaaaa"}, {"text": "b"}, {"text": "cc"}])
    make = tokenizer("none")
    stream = clipped_documents(make, length=2, dataset="owner/name")
    assert [make.decode(ids) for ids in stream] == ["aa", "cc"]
    assert stream.text_sha256 == hashlib.sha256(b"aaaaa\0b\0cc\0").hexdigest()
    sample = clipped_documents(make, length=6)
    assert [make.decode(next(sample)) for _ in range(2)] == ["In the", " begin"]


# -- what is wrong, on one line ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty; give a file"),
        (b" \n\t\n", "nothing but white space; give"),
        (b"abc \xff\xfe", r"is not UTF-8 text \(byte 0xff\); convert it: iconv"),
        ("naïve".encode("latin-1"), r"is not UTF-8 text \(byte 0xef\)"),
        (b"abc", r"no document fills a chunk of 9 tokens \(the longest has 3\); give a longer text"),
    ],
)
def test_unusable_files(tokenizer: Make, tmp_path: Path, content: bytes, message: str) -> None:
    path = write(tmp_path, content)
    with pytest.raises(InvalidArgument, match=message) as caught:
        list(chunks(tokenizer("bos"), length=10, files=[path]))
    assert "\n" not in str(caught.value)


def test_what_is_no_file_is_refused_before_anything_runs(tokenizer: Make, tmp_path: Path) -> None:
    make = tokenizer("bos")
    with pytest.raises(InvalidArgument, match="there is no text file"):
        chunks(make, length=4, files=[write(tmp_path, "abc"), tmp_path / "missing"])
    with pytest.raises(InvalidArgument, match="is a folder"):
        chunks(make, length=4, files=[tmp_path])
    with pytest.raises(InvalidArgument, match="no text file is given"):
        chunks(make, length=4, files=[])
    with pytest.raises(InvalidArgument, match="both text files and a dataset"):
        chunks(make, length=4, files=[write(tmp_path, "abc")], dataset="owner/name")
    with pytest.raises(InvalidArgument, match="no room for text after 1 special tokens"):
        chunks(make, length=1)
    with pytest.raises(InvalidArgument, match="cannot be read"):
        text_sha256([tmp_path / "missing"])


# -- datasets ---------------------------------------------------------------------------------------------------------


def serve(patch: pytest.MonkeyPatch, rows: Iterable[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Put a `datasets` package in place that streams `rows`; returns the list of its calls."""
    calls: list[tuple[Any, ...]] = []

    def load_dataset(name: str, config: str | None, *, split: str, streaming: bool) -> Any:
        calls.append((name, config, split, streaming))
        if name == "no/such":
            raise FileNotFoundError("Couldn't reach the hub\nand more lines")
        return iter(rows)

    patch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset))  # type: ignore[arg-type]
    return calls


def test_documents_of_a_dataset(tokenizer: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = serve(monkeypatch, [{"text": "aaaaa"}, {"text": ""}, {"text": "bbbb"}, {"text": "c"}])
    make = tokenizer("none")
    stream = chunks(make, length=2, dataset="owner/name:config")
    assert calls == [("owner/name", "config", "train", True)]
    assert make.decode(next(stream)) == "aa"
    assert stream.text_sha256 == hashlib.sha256(b"aaaaa\0").hexdigest(), "the hash is of what was read"
    assert [make.decode(chunk) for chunk in stream] == ["aa", "bb", "bb"]
    assert stream.text_sha256 == hashlib.sha256(b"aaaaa\0\0bbbb\0c\0").hexdigest()


def test_unusable_datasets(tokenizer: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    make = tokenizer("none")
    serve(monkeypatch, [{"content": "aaaaa", "id": 3}])
    with pytest.raises(InvalidArgument, match=r"no text in a column 'text' \(columns: content, id\)"):
        next(chunks(make, length=2, dataset="owner/name"))
    with pytest.raises(InvalidArgument, match=r"no/such cannot be opened \(Couldn't reach the hub\)"):
        chunks(make, length=2, dataset="no/such")


def test_a_dataset_that_breaks_off(tokenizer: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    def rows() -> Iterator[dict[str, Any]]:
        yield {"text": "aa"}
        raise ConnectionError("gone")

    serve(monkeypatch, rows())
    stream = chunks(tokenizer("none"), length=2, dataset="owner/name")
    next(stream)
    with pytest.raises(InvalidArgument, match=r"owner/name cannot be read on \(gone\)"):
        next(stream)


def test_datasets_need_their_extra(tokenizer: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    make = tokenizer("none")
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingExtra, match="'datasets'"):
        chunks(make, length=2, dataset="owner/name")
