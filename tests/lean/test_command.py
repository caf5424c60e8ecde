"""What keeps a run from being well, the options of the command, and native Lean played by a script."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from checks.lean import command, lake
from checks.lean.build import Outcome

SOURCES = {"F.A": "theorem a : True := trivial\n", "F": "import F.A\n"}
WELL = {"Sorry": True}


def built() -> Outcome:
    """A build in which everything went well."""
    return Outcome(
        finished=True, seconds={"F.A": 1.0, "F": 1.0}, said={"A": ["MODULE F.A 1 1 1"], "F": ["MODULE F 1 1 0"]}
    )


def test_a_run_in_which_all_went_well_has_no_complaint() -> None:
    assert command.complaints(SOURCES, built(), ["F.A", "F"], WELL) == []


def test_a_forbidden_word_is_a_complaint_although_lean_accepts_it() -> None:
    sources = {**SOURCES, "F.A": "\n@[implemented_by b] def a := 1\n"}
    assert command.complaints(sources, built(), ["F.A", "F"], WELL) == ["F.A, line 2: implemented_by"]


def test_a_finding_of_the_audit_is_a_complaint() -> None:
    outcome = built()
    outcome.said["A"].append("BAD F.a sorryAx")
    assert command.complaints(SOURCES, outcome, ["F.A", "F"], WELL) == ["A: BAD F.a sorryAx"]


def test_a_module_that_was_not_built_is_a_complaint() -> None:
    outcome = built()
    del outcome.seconds["F"]
    assert command.complaints(SOURCES, outcome, ["F.A", "F"], WELL) == ["F was not built"]


def test_a_fixture_that_passes_is_a_complaint() -> None:
    found = command.complaints(SOURCES, built(), ["F.A", "F"], {"Sorry": False})
    assert found == ["fixture Sorry was not refused for its reason"]


def test_a_process_that_the_watchdog_stopped_is_a_complaint_unless_its_second_start_went_through() -> None:
    outcome = built()
    outcome.stopped_for_memory, outcome.peak = True, 3_900_000_000
    assert command.complaints(SOURCES, outcome, ["F.A", "F"], WELL) == []
    outcome.finished = False
    assert command.complaints(SOURCES, outcome, ["F.A", "F"], WELL) == ["stopped at 3.9 GB by the memory watchdog"]


def test_an_unknown_backend_is_wrong_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.run("native") == 2
    assert capsys.readouterr().out == "unknown backend 'native'; choose one of auto, lake, node\n"


def test_lake_that_is_not_there_is_wrong_input(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert command.run("lake") == 2


def test_lean_works_where_the_glue_can_see_it() -> None:
    assert command.scratch_place().startswith(("/home/", "/tmp"))


def test_sources_fixtures_and_driver_are_laid_out_together(tmp_path: Path) -> None:
    command.lay_out(tmp_path)
    for name in (
        "Formal.lean",
        "Formal/Algebra.lean",
        "Fixtures/Sorry.lean",
        "Driver.lean",
        "build/Formal",
        "build/Fixtures",
    ):
        assert (tmp_path / name).exists()


def played_lake(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Put a `lake` on PATH that does what the script says."""
    file = folder / "lake"
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.parametrize(("status", "passes"), [(0, True), (1, False)])
def test_lake_build_passes_or_not(status: int, passes: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    played_lake(tmp_path, monkeypatch, f'echo "$@"; exit {status}')
    assert lake.lake_build(tmp_path) == (passes, "build\n")


def test_headline_theorems_are_asked_of_lean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    played_lake(tmp_path, monkeypatch, "echo \"'Formal.a' depends on axioms: [propext, Formal.own]\"")
    assert lake.untrusted_headlines(tmp_path, tmp_path, "Formal", ["a"]) == ["a"]
    assert (tmp_path / "PrintAxioms.lean").read_text() == "import Formal\n#print axioms Formal.a\n"
