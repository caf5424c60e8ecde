"""`python -m checks bench`: paths held to one another, then timed by pytest-benchmark; one result file, one page."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from checks.benchmarks import operations, resident, results
from checks.benchmarks.goals import Goal, Row, Verdict, exponents, verdict
from checks.benchmarks.page import page
from checks.output import folder, write

HERE = Path(__file__).parent
ONE_BAND = "total activation"

GOALS = (
    Goal("profile n=128 D=4096", "qr", "gram", 1.7),
    Goal("kernels of one layer, 32 heads", "by pair", "batched", 10, 256),
    Goal("means of 6 layers, 32 texts", "a walk each", "one walk", 2, 64),
    *(Goal(ONE_BAND, slow, "halfplane", 10, 2**15) for slow in ("tiled", "direct")),
    *(Goal(ONE_BAND, slow, "halfplane", 25, 2**17) for slow in ("tiled", "direct")),
    Goal(ONE_BAND, "torch, chunked", "halfplane", 10, 2**14),
    Goal("entropy", "materialised", "by parts", 20, 2048),
    Goal("entropy", "materialised", "by parts", 100, 2048, of="bytes"),
    Goal("attribution", "node by node", "products", 2, 2**15),
    Goal("fisher", "backward per position", "one backward", 2, 24),
    Goal("composition, 4 layers × 12 heads", "TransformerLens", "n × n products", 5),
    Goal("attention patterns, 4 layers", "TransformerLens", "visitor", 0.8, 256),
)

PRODUCT = ("direct", "halfplane")
"""Paths that the product takes on the host where numba is installed."""


def chooser(rows: Sequence[Row]) -> list[Verdict]:
    """Per length: the best path's median time over that of the path that is taken; at least 1/1.5."""
    from numerics.bands.activation import choose

    found = []
    for length in sorted({row["T"] for row in rows if row["op"] == ONE_BAND}):
        times = {row["path"]: row["p50"] for row in rows if (row["op"], row["T"]) == (ONE_BAND, length)}
        if not set(PRODUCT) <= set(times):
            continue
        taken = choose(length)
        best = min(PRODUCT, key=lambda path: times[path])
        goal = Goal(f"{ONE_BAND}, the chosen path", f"best: {best}", f"chosen: {taken}", 1 / 1.5, length)
        found.append(Verdict(goal, times[best] / times[taken]))
    return found


def run(out: Path, only: Sequence[str]) -> int:
    """0 if all is well, 1 if a case's paths disagree or its memory cannot be measured, 2 for an unusable operation.

    What cannot run here is left out, unless it was asked for by name. Raises UnwritableOutput.
    """
    unknown = [name for name in only if name not in operations.NAMES]
    if unknown:
        print(f"checks: no benchmark {', '.join(unknown)}; use some of {', '.join(operations.NAMES)}")
        return 2
    if find_spec("pytest_benchmark") is None:
        print("checks: pytest-benchmark is not installed; pip install -e '.[test]'")
        return 2
    chosen = list(only)
    for name in only or operations.NAMES:
        reason = operations.missing(name)
        if reason and only:
            print(f"checks: {name} cannot run here: {reason}")
            return 2
        if reason:
            print(f"{name} is left out: {reason}")
        elif not only:
            chosen.append(name)
    folder(out)
    written = timed(chosen)
    if written is None:
        return 1
    wrong, found = written
    peaks: list[dict[str, Any]] = []
    for name in chosen:
        print(f"memory of {name}", flush=True)
        of_name = resident.measured(name)
        if of_name is None:
            print(f"the process that measures the memory of {name} failed, see above")
            wrong = True
        peaks += of_name or []
    rows = results.rows(found, peaks)
    made = result(found, rows)
    write(out / "bench.json", json.dumps(made, indent=1) + "\n")
    write(out / "bench.html", page(made))
    met = [goal["met"] for goal in made["goals"]]
    print(f"{sum(met)} of {len(met)} goals met: {out / 'bench.html'}")
    return 1 if wrong else 0


def timed(chosen: Sequence[str]) -> tuple[bool, results.Written] | None:
    """Whether some paths disagree, and what pytest-benchmark wrote; None where it timed nothing."""
    import pytest

    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "benchmark.json"
        inside = ["-c", str(HERE / "pytest.ini"), "--rootdir", str(HERE.parents[1]), str(HERE / "bench_paths.py")]
        quiet = ["-q", "--no-header", "--no-summary", "--benchmark-quiet", f"--benchmark-json={file}"]
        status = pytest.main([*inside, *quiet, f"--only={','.join(chosen)}"])
        if not file.is_file() or not file.stat().st_size:
            print("nothing was timed")
            return None
        return status != pytest.ExitCode.OK, json.loads(file.read_text(encoding="utf-8"))


def result(written: results.Written, rows: Sequence[Row]) -> dict[str, Any]:
    """What `bench.json` holds."""
    verdicts = [v for v in (verdict(goal, rows) for goal in GOALS) if v.ratio is not None] + chooser(rows)
    made: dict[str, Any] = {
        "machine": results.machine(written),
        "versions": results.versions(),
        "rows": list(rows),
        "exponents": [{"op": op, "path": path, "exponent": value} for (op, path), value in exponents(rows).items()],
        "goals": [
            {
                "op": v.goal.op, "T": v.goal.T, "slow": v.goal.slow, "fast": v.goal.fast,
                "of": v.goal.of, "goal": v.goal.times, "ratio": v.ratio, "met": v.met,
            }
            for v in verdicts
        ],
    }  # fmt: skip
    if any(row["op"].endswith("GPU") for row in rows):
        from checks.benchmarks.operations.activation_gpu import float32_peak, share_of_peak

        name, instructions = float32_peak()
        made["gpu"] = {"name": name, "share_of_peak": share_of_peak(rows, instructions) if name != "none" else {}}
    return made
