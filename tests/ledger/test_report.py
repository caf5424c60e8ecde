"""What is written: numbers where they were found, a failure that cannot be overlooked, no markup from names."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from checks.ledger import command
from checks.ledger.entries import ENTRIES
from checks.ledger.report import Ledger, tier, write
from checks.ledger.walk import Measured
from numerics.errors import NumericsError
from tests.positional.walked import save_text, save_walkable

EVIL = "<script>alert(1)</script>"
ATTRS = {"model_type": "gpt2", "positions": "none", "dtype": "float32", "sha256": "ab" * 32}


def measured(worst: float, tolerance: float, kind: str = "equality", layer: int | None = 3) -> Measured:
    entry = replace(ENTRIES[0], kind=kind, claim=f"a claim {EVIL}")  # type: ignore[arg-type]
    return Measured(entry, worst, layer, 7, tolerance, 12, [worst])


def ledger(*rows: Measured, model: str = "m") -> Ledger:
    return Ledger("Lean 4", {model: ATTRS}, {model: rows}, {}, {"some_lemma": "why & how"}, {"a.b": "because"})


def test_an_equality_fails_above_and_an_inequality_below() -> None:
    assert [measured(w, 1e-12).holds for w in (0.0, 1e-12, 1.1e-12)] == [True, True, False]
    assert [measured(w, 1e-12, "inequality").holds for w in (5.0, -1e-12, -1.1e-12)] == [True, True, False]
    assert measured(np.nan, np.nan).holds is None


def test_json_says_where_and_how_much(tmp_path: Path) -> None:
    write(ledger(measured(2e-9, 1e-12), measured(np.nan, np.nan, layer=None)), tmp_path)
    rows = json.loads((tmp_path / "ledger.json").read_text())["entries"]
    found = rows[0]["models"]["m"]
    assert (found["status"], found["worst"], found["tolerance"]) == ("fails", 2e-9, 1e-12)
    assert (found["layer"], found["head"], found["numbers"]) == (3, 7, 12)
    assert rows[1]["models"]["m"]["status"] == "does not apply"
    assert rows[1]["models"]["m"]["worst"] is None


def test_tiers_of_what_has_no_number() -> None:
    words = ["not yet: no formula", "a choice (heuristic): x", "a lemma"]
    assert [tier(reason) for reason in words] == ["not yet", "heuristic", "explained"]


def test_the_page_shows_a_failure_and_escapes_names(tmp_path: Path) -> None:
    write(ledger(measured(2e-9, 1e-12), model=EVIL), tmp_path)
    page = (tmp_path / "ledger.html").read_text()
    assert "1 FAILED" in page
    assert "2.0e-09" in page
    assert "at 3.7" in page
    assert EVIL not in page
    assert "why &amp; how" in page
    assert "http" not in page.replace("http-equiv", ""), "the page asks the network for something"


@pytest.fixture(scope="module")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    folder = tmp_path_factory.mktemp("tiny")
    return str(save_walkable("llama", folder / "llama")), save_text(folder / "words.txt", 2000)


def test_the_command_writes_both_files_and_exits_with_1_on_a_residual(
    tiny_model: tuple[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model, text = tiny_model
    assert command.run([model], [text], tmp_path / "well") == 0
    assert (tmp_path / "well" / "ledger.html").is_file()
    strict = replace(ENTRIES[0], tolerance=1e-30)
    monkeypatch.setattr(command, "ENTRIES", (strict, *ENTRIES[1:]))
    assert command.run([model], [text], tmp_path / "ill") == 1
    assert ENTRIES[0].claim in capsys.readouterr().out


def test_an_unknown_model_and_a_missing_report_of_lean_are_wrong_inputs(tmp_path: Path) -> None:
    with pytest.raises(NumericsError):
        command.run([str(tmp_path / "nothing")], None, tmp_path)
    with pytest.raises(NumericsError, match="no report of Lean"):
        command.run([str(tmp_path / "nothing")], None, tmp_path, tmp_path / "lean.json")
