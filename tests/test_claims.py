"""CLAIMS.md and the README's table of speeds are those of the recorded runs, and these of the present entries."""

from __future__ import annotations

import copy
import re

import pytest

from checks import claims
from checks.benchmarks.command import GOALS
from checks.ledger.entries import ENTRIES, TABLES
from checks.ledger.reasons import EXPLAINED


def test_the_pages_are_those_of_the_recorded_runs() -> None:
    """If this fails: `python -m checks claims`."""
    ledger, bench = claims.recorded("ledger"), claims.recorded("bench")
    assert (claims.ROOT / "CLAIMS.md").read_text(encoding="utf-8") == claims.claims(ledger, bench)
    readme = (claims.ROOT / "README.md").read_text(encoding="utf-8")
    assert claims.with_speed(readme, bench) == readme


def test_the_recorded_ledger_is_of_the_present_entries() -> None:
    """If this fails: run the ledger again and record it."""
    ledger = claims.recorded("ledger")
    found = [(entry["claim"], entry["theorems"], entry["functions"]) for entry in ledger["entries"]]
    assert found == [
        (e.claim, list(e.theorems), [f"numerics.{name}" for name in e.functions]) for e in (*ENTRIES, *TABLES)
    ]
    assert ledger["theorems_without_a_number"] == EXPLAINED
    assert all(model["status"] != "fails" for entry in ledger["entries"] for model in entry["models"].values())


def test_the_recorded_benchmark_has_every_goal() -> None:
    """If this fails: run the benchmarks again and record them."""
    found = {(g["op"], g["T"], g["slow"], g["fast"], g["of"], g["goal"]) for g in claims.recorded("bench")["goals"]}
    assert {(g.op, g.T, g.slow, g.fast, g.of, g.times) for g in GOALS} <= found


def test_what_fails_or_is_missed_is_said() -> None:
    ledger, bench = copy.deepcopy(claims.recorded("ledger")), copy.deepcopy(claims.recorded("bench"))
    first = next(iter(ledger["entries"][0]["models"].values()))
    first["status"] = "fails"
    bench["goals"][0] = {**bench["goals"][0], "met": False}
    page = claims.claims(ledger, bench)
    assert "**fails**" in page
    assert "**missed**" in page


@pytest.mark.parametrize("name", ["ledger", "bench"])
def test_records_hold_no_path_of_a_machine(name: str) -> None:
    text = (claims.RECORDED / f"{name}.json").read_text(encoding="utf-8")
    assert re.findall(r"(?<![\w.])/[a-z]+/", text) == []
