"""The file of an interrupted run: what it holds, and whose it is."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numerics.bands.ablation.resume import Unfinished
from numerics.errors import InvalidArgument, UnwritableOutput


@given(st.lists(st.floats(allow_nan=False), max_size=5))
def test_floats_come_back_to_the_last_bit(tmp_path_factory: pytest.TempPathFactory, values: list[float]) -> None:
    file = tmp_path_factory.mktemp("unfinished") / "x.unfinished"
    Unfinished(file, {"seeds": 3}).keep("point", [*values, math.nan])
    held = Unfinished(file, {"seeds": 3}).kept("point", lambda: pytest.fail("computed again"))
    assert np.array_equal(held, [*values, math.nan], equal_nan=True)
    assert [str(value) for value in held[:-1]] == [str(value) for value in values]
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_another_run_is_refused_by_name_and_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "x.unfinished"
    Unfinished(file, {"seeds": 3, "text": "a", "select": ["global"]}).keep("point", 1)
    before = file.read_bytes()
    with pytest.raises(InvalidArgument, match="another seeds, text; run that again"):
        Unfinished(file, {"seeds": 4, "text": "b", "select": ("global",)})
    with pytest.raises(InvalidArgument, match="another length"):
        Unfinished(file, {"seeds": 3, "text": "a", "select": ["global"], "length": 9})
    assert file.read_bytes() == before


@pytest.mark.parametrize("content", ["", "{", "[]", '{"arguments": 3, "done": {}}', '{"done": {}}'])
def test_a_file_of_something_else_is_not_touched(tmp_path: Path, content: str) -> None:
    file = tmp_path / "x.unfinished"
    file.write_text(content)
    with pytest.raises(InvalidArgument, match="not the file of an interrupted run"):
        Unfinished(file, {"seeds": 3})
    assert file.read_text() == content


def test_a_write_that_fails_keeps_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "x.unfinished"
    Unfinished(file, {"seeds": 3}).keep("first", 1)

    def full(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    held = Unfinished(file, {"seeds": 3})
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", full)
        with pytest.raises(UnwritableOutput, match="No space left"):
            held.keep("second", 2)
    assert Unfinished(file, {"seeds": 3}).done == {"first": 1}
    assert [path.name for path in tmp_path.iterdir()] == [file.name]


def test_without_a_path_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    held = Unfinished(None, {"seeds": 3})
    assert held.kept("point", lambda: 5) == held.kept("point", lambda: 6) == 5
    assert list(tmp_path.iterdir()) == []
