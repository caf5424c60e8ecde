"""A check refuses a place that it cannot write to before it works, and its files appear whole."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from checks.output import folder, write
from numerics.errors import UnwritableOutput

ROOT = Path(__file__).parents[1]


def test_a_folder_is_made_and_one_that_cannot_be_is_refused(tmp_path: Path) -> None:
    assert folder(tmp_path / "a" / "b").is_dir()
    assert list((tmp_path / "a" / "b").iterdir()) == []
    (tmp_path / "file").write_text("mine")
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(UnwritableOutput, match=r"cannot write in .*; name another folder"):
            folder(place)
    assert (tmp_path / "file").read_text() == "mine"


def test_a_file_is_replaced_in_one_step(tmp_path: Path) -> None:
    write(tmp_path / "x.json", "old")
    write(tmp_path / "x.json", "new\n")
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == {"x.json": b"new\n"}


@pytest.mark.parametrize(
    "command",
    [
        ["bench", "--only", "entropy", "--out", "{}"],
        ["ledger", "--out", "{}"],
        ["lean", "--json", "{}/lean.json"],
        ["certified", "--json", "{}/certified.json"],
    ],
)
def test_every_check_refuses_at_once_a_place_that_is_a_file(command: list[str], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    arguments = [word.format(tmp_path / "file") for word in command]
    ran = subprocess.run(
        [sys.executable, "-m", "checks", *arguments], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )
    assert ran.returncode == 2, ran.stdout + ran.stderr
    (line,) = ran.stderr.splitlines()
    assert line.startswith("checks: cannot write in ")
    assert ran.stdout == ""
