"""The map in `Formal/README.md` names files and theorems that exist."""

from __future__ import annotations

from checks.lean.command import LIBRARY, ROOT
from checks.lean.headlines import headlines
from checks.lean.sources import forbidden, module_order, read_sources, theorems

SOURCES = read_sources(ROOT, LIBRARY)
MAP = headlines(ROOT / LIBRARY / "README.md")


def test_every_headline_theorem_exists_in_its_file() -> None:
    assert MAP
    for file, names in MAP.items():
        written = theorems(SOURCES[f"{LIBRARY}.{file}"])
        missing = [name for name in names if f"{LIBRARY}.{name}" not in written]
        assert names
        assert not missing, f"{file}.lean does not hold {missing}"


def test_every_file_is_in_the_map_and_reached_from_the_root() -> None:
    assert {f"{LIBRARY}.{file}" for file in MAP} | {LIBRARY} == set(module_order(SOURCES, LIBRARY))


def test_no_source_holds_a_word_that_lets_the_untrusted_in() -> None:
    assert {name: found for name, text in SOURCES.items() if (found := forbidden(text))} == {}


def test_every_file_opens_with_its_statement_source_encoding_and_deviations() -> None:
    for name, text in SOURCES.items():
        if name != LIBRARY:
            opening = text[: text.index("@[expose] public section")]
            assert "/-! # " in opening, name
            for word in ("MATH section", "Encoding", "Deviations", "Main results"):
                assert word in opening, (name, word)


def test_no_theorem_is_written_twice() -> None:
    names = [name for text in SOURCES.values() for name in theorems(text)]
    assert len(names) == len(set(names))
