"""The fixtures are judged by their own reason, and a fixture that passes is seen."""

from __future__ import annotations

import pytest

from checks.lean import fixtures
from checks.lean.command import LIBRARY, ROOT
from checks.lean.sources import read_sources

SAID = {
    "Sorry": [
        "Fixtures/Sorry.lean:5:16: warning: declaration uses `sorry`",
        "BAD Formal.planted_gap sorryAx",
        "MODULE Fixtures.Sorry 1 1 2",
    ],
    "Axiom": [
        "BAD Formal.planted_axiom own axiom Formal.planted",
        "BAD axiom Formal.planted",
        "MODULE Fixtures.Axiom 1 1 1",
    ],
    "FalseTheorem": ["Fixtures/FalseTheorem.lean:6:52: error: `grind` failed", "FAILED Fixtures.FalseTheorem"],
    "WrongNumber": [
        "Fixtures/WrongNumber.lean:7:105: error: Tactic `decide` failed for proposition",
        "FAILED Fixtures.WrongNumber",
    ],
    "CompiledTrust": ["BAD planted_compiled_trust ofReduceBool", "MODULE Fixtures.CompiledTrust 1 1 2"],
}


def test_what_lean_said_refuses_every_fixture() -> None:
    assert fixtures.rejected_by_lean(SAID) == dict.fromkeys(fixtures.REASONS, True)


@pytest.mark.parametrize("name", fixtures.REASONS)
def test_a_fixture_that_passes_is_seen(name: str) -> None:
    said = {**SAID, name: [f"MODULE Fixtures.{name} 1 1 1"]}
    assert fixtures.rejected_by_lean(said) == {other: other != name for other in fixtures.REASONS}


@pytest.mark.parametrize("name", fixtures.REASONS)
def test_a_fixture_refused_for_another_reason_is_seen(name: str) -> None:
    said = {
        **SAID,
        name: [f"Fixtures/{name}.lean:1:0: error: object file of module Formal.Algebra does not exist", "FAILED x"],
    }
    assert not fixtures.rejected_by_lean(said)[name]


def test_a_right_number_that_is_refused_too_is_seen() -> None:
    error = "Fixtures/WrongNumber.lean:5:96: error: Tactic `decide` failed for proposition"
    assert not fixtures.rejected_by_lean({**SAID, "WrongNumber": [error, *SAID["WrongNumber"]]})["WrongNumber"]


def test_a_fixture_of_which_nothing_was_said_is_seen() -> None:
    assert fixtures.rejected_by_lean({}) == dict.fromkeys(fixtures.REASONS, False)


def test_reading_alone_refuses_its_fixtures() -> None:
    refused = fixtures.rejected_by_reading(read_sources(ROOT, LIBRARY), LIBRARY)
    assert set(refused) == {*(f"{name} (read)" for name in fixtures.WORDS), fixtures.STRAY}
    assert all(refused.values())


def test_every_fixture_file_is_judged() -> None:
    files = {file.stem for file in fixtures.FOLDER.glob("*.lean")}
    assert files == {*fixtures.REASONS, *fixtures.WORDS, fixtures.STRAY}
