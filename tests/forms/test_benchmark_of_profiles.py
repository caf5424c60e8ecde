"""The benchmark checks before it times, and writes the rows it promises. No time is asserted."""

import json
from pathlib import Path

import numpy as np
import pytest

from checks.benchmarks import profiles
from numerics.forms import reduction


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profiles, "HEAD_DIM", 8)
    monkeypatch.setattr(profiles, "WIDTH", 64)


def test_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert profiles.main(["--out", str(tmp_path / "new"), "--repeats", "2"]) == 0
    written = json.loads((tmp_path / "new" / "profiles.json").read_text())
    assert {"cpu", "cores", "numpy", "commit"} <= set(written["machine"])
    assert [row["path"] for row in written["rows"]] == ["qr", "gram", "gram"]
    for row in written["rows"]:
        assert set(row) == {"op", "path", "T", "bands", "p20", "p50", "p80", "bytes"}
        assert 0 < row["p20"] <= row["p50"] <= row["p80"]
        assert row["bytes"] > 0
    assert "x as fast as qr" in capsys.readouterr().out


def test_a_wrong_path_is_not_timed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = reduction.reduce_by_gram

    def wrong(W_K: np.ndarray, W_Q: np.ndarray) -> reduction.Reduction | None:
        found = right(W_K, W_Q)
        return found and reduction.Reduction(found.key + 1e-8, found.query, found.noise)

    monkeypatch.setattr(reduction, "reduce_by_gram", wrong)
    assert profiles.main(["--out", str(tmp_path), "--repeats", "1"]) == 1
    assert list(tmp_path.iterdir()) == []
