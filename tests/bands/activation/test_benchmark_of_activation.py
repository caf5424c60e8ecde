"""The benchmarks check before they time, and write the rows they promise. No time is asserted."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from checks.benchmarks import activation
from numerics.bands.activation import halfplane
from tests.bands.activation.test_tiles import GPU, environment

COLUMNS = {"op", "path", "T", "bands", "p20", "p50", "p80", "bytes"}

ON_A_SMALL_SCALE = """
import pathlib, sys
from checks.benchmarks import activation_gpu as benchmark

benchmark.HEADS, benchmark.BANDS, benchmark.REPEATS, benchmark.CROSSOVER_BANDS = 2, 2, 1, 1
benchmark.LENGTHS, benchmark.CROSSOVER_LENGTHS, benchmark.CHECKED_LENGTHS = [17], [65], [1, 65]
right = benchmark.by_rows
benchmark.by_rows = lambda q, k: 1.01 * benchmark.by_tiles(q, k)
assert benchmark.main(["--out", sys.argv[1]]) == 1  # a wrong path is not timed
assert not pathlib.Path(sys.argv[1]).exists()
benchmark.by_rows = right
sys.exit(benchmark.main(["--out", sys.argv[1]]))
"""


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(activation, "LENGTHS", [128, 1024])
    monkeypatch.setattr(activation, "LONG", 5000)


def test_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert activation.main(["--out", str(tmp_path / "new"), "--repeats", "1"]) == 0
    written = json.loads((tmp_path / "new" / "activation.json").read_text())
    assert {"cpu", "cores", "numpy", "commit"} <= set(written["machine"])
    rows = written["rows"]
    each = ["tiled", "direct", "halfplane", "torch, chunked", "torch, sorted levels", "reference"]
    assert [(row["path"], row["T"]) for row in rows] == [
        *((path, 128) for path in each), *((path, 1024) for path in each), ("halfplane", 5000)
    ]  # fmt: skip
    assert all(set(row) == COLUMNS and 0 < row["p20"] <= row["p50"] <= row["p80"] for row in rows)
    assert "chosen: direct" in capsys.readouterr().out


def test_a_wrong_path_is_not_timed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = halfplane.rows
    monkeypatch.setattr(halfplane, "rows", lambda q, k, window: right(q, k, window) * (1 + 1e-9))
    assert activation.main(["--out", str(tmp_path), "--repeats", "1"]) == 1
    assert list(tmp_path.iterdir()) == []


def test_the_gpu_benchmark_runs(tmp_path: Path) -> None:
    chosen = environment() if GPU else environment(TRITON_INTERPRET="1")
    command = [sys.executable, "-c", ON_A_SMALL_SCALE, str(tmp_path / "new")]
    ran = subprocess.run(command, env=chosen, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr[-4000:]
    written = json.loads((tmp_path / "new" / "activation_gpu.json").read_text())
    assert {"cpu", "gpu", "triton", "torch", "commit"} <= set(written["machine"])
    assert [row["path"] for row in written["rows"]] == ["by rows", "triton", "strips", "triton", "halfplane"]
    assert all(set(row) == COLUMNS for row in written["rows"])
    assert (written["share_of_peak"] is not None) == GPU
