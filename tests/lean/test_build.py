"""Batches, restarts and reports of the build, with a Lean that is only played."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from checks.lean.build import MODULES_PER_PROCESS, Outcome, batches, build, messages, read_report
from checks.lean.node import LeanOnNode
from checks.lean.watch import Run, watched

LEAN = LeanOnNode(Path("node"), Path("lean"))
MODULES = [f"F.M{i}" for i in range(10)] + ["F"]


def well(modules: Sequence[str]) -> list[str]:
    """What the driver prints when all goes well."""
    lines = ["[DEBUG:A] noise", "LEAN 4.28.0, commit x"]
    for module in modules:
        lines += [f"BEGIN {module.removeprefix('F.')}", "[DEBUG:B] noise", f"MODULE {module} 1500 250 7"]
    return lines


class Played:
    """Plays the driver: `script` says, call by call, how many modules go well before it dies (None: all do)."""

    def __init__(self, *script: int | None) -> None:
        self.script = list(script)
        self.calls: list[list[str]] = []

    def __call__(self, lean: object, folder: Path, mode: str, library: str, modules: Sequence[str]) -> Run:
        self.calls.append(list(modules))
        dies_after = self.script.pop(0) if self.script else None
        if dies_after is None:
            return Run(lines=[*well(modules), "ALL DONE"], peak=3)
        return Run(lines=[*well(modules[:dies_after]), "RuntimeError: memory access out of bounds"], peak=5, status=1)


def test_processes_hold_few_modules_in_order() -> None:
    assert [module for batch in batches(MODULES) for module in batch] == MODULES
    assert max(len(batch) for batch in batches(MODULES)) <= MODULES_PER_PROCESS <= 8


def test_a_build_that_goes_well_reports_every_module() -> None:
    outcome = build(LEAN, Path(), "F", MODULES, run=Played())
    assert outcome.finished
    assert outcome.version == "4.28.0, commit x"
    assert outcome.seconds == dict.fromkeys(MODULES, 1.75)
    assert not messages(outcome)


def test_a_process_that_dies_is_started_again_at_the_first_module_it_owes() -> None:
    played = Played(None, 1)
    outcome = build(LEAN, Path(), "F", MODULES, run=played)
    second = batches(MODULES)[1]
    assert played.calls[1:3] == [second, second[1:]]
    assert outcome.finished
    assert outcome.restarts == 1
    assert set(outcome.seconds) == set(MODULES)
    assert outcome.peak == 5


def test_a_process_that_dies_twice_ends_the_build() -> None:
    played = Played(1, 0)
    outcome = build(LEAN, Path(), "F", MODULES, run=played)
    assert len(played.calls) == 2
    assert not outcome.finished
    assert "RuntimeError: memory access out of bounds" in messages(outcome)["process"]


def test_a_crash_after_the_last_line_is_no_failure() -> None:
    run = Run(lines=[*well(MODULES[:1]), "ALL DONE", "RuntimeError: memory access out of bounds"])
    outcome = build(LEAN, Path(), "F", MODULES[:1], run=lambda *_: run)
    assert outcome.finished
    assert not messages(outcome)


def test_a_refused_module_stops_the_build_and_its_messages_are_kept() -> None:
    lines = ["LEAN 4", "BEGIN M0", "F/M0.lean:1:2: error: no", "  detail", "FAILED F.M0", "STOPPED"]
    outcome = build(LEAN, Path(), "F", MODULES[:2], run=lambda *_: Run(lines=lines))
    assert not outcome.finished
    assert outcome.failed == ["F.M0"]
    assert messages(outcome) == {"M0": ["F/M0.lean:1:2: error: no", "  detail", "FAILED F.M0"]}


def test_findings_of_the_audit_are_kept_although_the_module_builds() -> None:
    outcome = Outcome()
    read_report(["BEGIN M0", "BAD F.gap sorryAx", "BAD axiom F.own", "MODULE F.M0 1 1 2", "ALL DONE"], outcome)
    assert outcome.bad == ["F.gap sorryAx", "axiom F.own"]
    assert messages(outcome) == {"M0": ["BAD F.gap sorryAx", "BAD axiom F.own"]}


def test_the_watchdog_stops_a_process_that_holds_too_much(tmp_path: Path) -> None:
    hungry = "import time; kept = bytearray(400_000_000); time.sleep(60)"
    run = watched([sys.executable, "-c", hungry], tmp_path, {}, limit=200_000_000)
    assert run.stopped_for_memory
    assert run.peak > 200_000_000
    assert run.status != 0
    assert run.seconds < 30


def test_a_process_below_the_limit_is_left_alone(tmp_path: Path) -> None:
    run = watched([sys.executable, "-c", "print('a'); print('b')"], tmp_path, {})
    assert (run.lines, run.status, run.stopped_for_memory) == (["a", "b"], 0, False)


@pytest.mark.parametrize("size", [1, 3, 5, 8, 20])
@pytest.mark.parametrize("count", [0, 1, 5, 11])
def test_batches_of_any_size_keep_the_order_and_are_even(size: int, count: int) -> None:
    made = batches(MODULES[:count], size)
    assert [module for batch in made for module in batch] == MODULES[:count]
    lengths = [len(batch) for batch in made]
    assert all(0 < length <= size for length in lengths)
    assert len(made) == -(-count // size)
    assert max(lengths, default=0) - min(lengths, default=0) <= 1
