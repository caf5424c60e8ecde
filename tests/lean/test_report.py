"""Table and JSON of a run, and what native Lean prints of axioms."""

from __future__ import annotations

import json
import re
from pathlib import Path

from checks.lean.lake import audit_source, untrusted
from checks.lean.report import LeanReport, ModuleRow, module_rows, table, write_json

ROWS = [ModuleRow("Formal.Algebra", 12, 3.25), ModuleRow("Formal", 0, 0.5)]


def test_the_table_shows_every_module_and_the_sum() -> None:
    assert table(ROWS).splitlines() == [
        "module          theorems  seconds",
        "Formal.Algebra        12      3.2",
        "Formal                 0      0.5",
        "in all                12      3.8",
    ]


def test_modules_that_were_not_built_have_no_row() -> None:
    assert module_rows(["A", "B"], {"A": ["x", "y"], "B": ["z"]}, {"A": 1.0}) == [ModuleRow("A", 2, 1.0)]


def test_the_json_has_the_keys_of_the_contract(tmp_path: Path) -> None:
    file = tmp_path / "new" / "lean.json"
    write_json(LeanReport("node", "4.28.0", ROWS, 12, 0, 0, ["Sorry"], 4.0), file)
    read = json.loads(file.read_text())
    keys = "backend, lean_version, modules, theorems, own_axioms, sorries, fixtures_rejected, seconds"
    assert list(read) == keys.split(", ")
    assert read["modules"][0] == {"module": "Formal.Algebra", "theorems": 12, "seconds": 3.25}
    assert [path.name for path in file.parent.iterdir()] == ["lean.json"]


def test_axioms_beyond_the_three_of_core_are_seen() -> None:
    printed = """'Formal.a' depends on axioms: [propext, Classical.choice, Quot.sound]
'Formal.b' does not depend on any axioms
'Formal.c' depends on axioms: [propext,
 sorryAx]
'Formal.d' depends on axioms: [Formal.own]
"""
    assert untrusted(printed, ["a", "b", "c", "d", "e"], "Formal") == ["c", "d", "e"]


def test_the_audit_asks_for_every_name() -> None:
    source = audit_source("Formal", ["a", "Expo.b"])
    assert re.findall(r"#print axioms (\S+)", source) == ["Formal.a", "Formal.Expo.b"]
    assert source.startswith("import Formal\n")
