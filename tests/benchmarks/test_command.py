"""A whole run over made-up operations: what is timed, what is not, what is written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from checks.benchmarks import command, resident

ROOT = Path(__file__).parents[2]

TOY = """
import sys, types
from pathlib import Path
import numpy as np
from checks.benchmarks import operations, resident
from checks.benchmarks.case import Case, apart
from checks.benchmarks.command import run

order = []

def build():
    def call(name, value):
        order.append(name)
        return [value]
    return {"slow": lambda: call("slow", 1.0), "fast": lambda: call("fast", 1.0)}

def wrong():
    return {"slow": lambda: [1.0], "fast": lambda: [1.1]}

toy, bad, absent = (types.ModuleType(name) for name in ("toy", "bad", "absent"))
toy.CASES = tuple(Case("sorting", ("slow", "fast"), build, apart(1e-9), T=T, turns=3, rounds=2) for T in (8, 16, 32))
bad.CASES = (Case("guessing", ("slow", "fast"), wrong, apart(1e-9)),)
absent.CASES, absent.missing = (), lambda: "it has no engine"
for module in (toy, bad, absent):
    sys.modules[f"checks.benchmarks.operations.{module.__name__}"] = module
operations.NAMES[:] = ["toy", "bad", "absent"]
resident.measured = lambda name: None if sys.argv[3:] else [{"op": "sorting", "T": 8, "path": "fast", "bytes": 77}]
status = run(Path(sys.argv[1]), [name for name in sys.argv[2].split(",") if name])
print("ORDER", " ".join(order))
raise SystemExit(status)
"""


def toy_run(out: Path, only: str, *without: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", TOY, str(out), only, *without]
    # pytest-benchmark does not time within a worker of pytest-xdist, which the run of these tests may be.
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)


def test_paths_take_turns_and_their_rows_are_written(tmp_path: Path) -> None:
    ran = toy_run(tmp_path / "new", "toy")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    found = json.loads((tmp_path / "new" / "bench.json").read_text())
    assert [(row["op"], row["path"], row["T"], row["bytes"]) for row in found["rows"]] == [
        ("sorting", path, T, 77 if (path, T) == ("fast", 8) else None) for T in (8, 16, 32) for path in ("slow", "fast")
    ]
    for row in found["rows"]:
        assert set(row) == {"op", "path", "T", "bands", "p20", "p50", "p80", "bytes"}
        assert 0 < row["p20"] <= row["p50"] <= row["p80"]
    assert {"cpu", "cores", "system", "python", "commit"} == set(found["machine"])
    assert "pytest-benchmark" in found["versions"]
    assert "<polyline" in (tmp_path / "new" / "bench.html").read_text()
    order = next(line for line in ran.stdout.splitlines() if line.startswith("ORDER")).split()[1:]
    # Checked once; in the first turn each is warmed up, then two calls a turn.
    one_case = ["slow", "fast"] + ["slow"] * 3 + ["fast"] * 3 + (["slow"] * 2 + ["fast"] * 2) * 2
    assert order == one_case * 3


def test_paths_that_disagree_are_not_timed(tmp_path: Path) -> None:
    ran = toy_run(tmp_path / "new", "toy,bad")
    assert ran.returncode == 1, ran.stdout
    found = json.loads((tmp_path / "new" / "bench.json").read_text())
    assert {row["op"] for row in found["rows"]} == {"sorting"}
    assert "guessing: slow, fast; apart by 1.0e+08 of what is allowed" in ran.stdout


def test_times_are_kept_where_memory_cannot_be_measured_and_the_run_fails(tmp_path: Path) -> None:
    ran = toy_run(tmp_path, "toy", "without memory")
    assert ran.returncode == 1
    assert "the process that measures the memory of toy failed" in ran.stdout
    assert [row["bytes"] for row in json.loads((tmp_path / "bench.json").read_text())["rows"]] == [None] * 6


def test_a_process_that_fails_measures_nothing() -> None:
    assert resident.measured("no such operation") is None


def test_nothing_is_written_where_nothing_was_timed(tmp_path: Path) -> None:
    ran = toy_run(tmp_path / "new", "bad")
    assert ran.returncode == 1
    assert list((tmp_path / "new").iterdir()) == []


def test_what_cannot_run_here_is_left_out_or_refused_by_name(tmp_path: Path) -> None:
    ran = toy_run(tmp_path / "new", "")
    assert "absent is left out: it has no engine" in ran.stdout
    assert ran.returncode == 1  # for the wrong path alone
    refused = toy_run(tmp_path / "no", "absent")
    assert refused.returncode == 2
    assert "absent cannot run here: it has no engine" in refused.stdout
    assert not (tmp_path / "no").exists()


def test_an_unknown_operation_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.run(tmp_path, ["sorting"]) == 2
    assert "use some of profiles" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


SIXTEEN_MIB = """
import ctypes, sys
import numpy as np
from numba import njit
import torch
from checks.benchmarks.resident import NO_HUGE_PAGES, peak

ctypes.CDLL(None).prctl(NO_HUGE_PAGES, 1, 0, 0, 0)

@njit
def compiled():
    return np.ones(2**21).sum()

for call in (lambda: np.ones(2**21).sum(), lambda: torch.ones(2**21, dtype=torch.float64).sum(), compiled, lambda: 1):
    call()
    print(peak(call))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_the_peak_counts_numpy_torch_and_compiled_code() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", SIXTEEN_MIB], env=resident.environment(), capture_output=True, text=True, check=True
    )
    *arrays, nothing = (int(line) for line in ran.stdout.split())
    # The kernel counts pages in batches, of at most 64 pages for each of two threads.
    slack = 2 * 64 * 4096
    assert all(abs(found - 2**24) <= slack for found in arrays), arrays
    assert nothing <= slack
