"""`python -m checks bench`: every benchmark, each after its own correctness check, in one result file and one page."""

from __future__ import annotations

import importlib
import json
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from checks.benchmarks.goals import Goal, Row, Verdict, exponents, verdict
from checks.benchmarks.page import page
from checks.benchmarks.peers import MISSING
from checks.benchmarks.timing import machine

OPERATIONS = ("profiles", "kernels", "activation", "entropy", "attribution", "fisher", "peers")
PACKAGES = ("numpy", "scipy", "torch", "transformers", "numba")
ONE_BAND = "total activation"

GOALS = (
    Goal("profile n=128 D=4096", "qr", "gram", 1.7),
    Goal("kernels of one layer, 32 heads", "by pair", "batched", 10),
    Goal("means of 6 layers, 32 texts", "a walk each", "one walk", 2),
    *(Goal(ONE_BAND, slow, "halfplane", 10, 2**15) for slow in ("tiled", "direct")),
    *(Goal(ONE_BAND, slow, "halfplane", 25, 2**17) for slow in ("tiled", "direct")),
    Goal(ONE_BAND, "torch, chunked", "halfplane", 10, 2**14),
    Goal("entropy", "materialised", "by parts", 20, 2048),
    Goal("entropy", "materialised", "by parts", 100, 2048, of="bytes"),
    Goal("attribution", "node by node", "products", 2, 2**15),
    Goal("fisher", "backward per position", "one backward", 2, 24),
    Goal("composition, 4 layers × 12 heads", "TransformerLens", "n × n products", 5),
    Goal("attention patterns, 4 layers", "TransformerLens", "visitor", 0.5, 256),
)


PRODUCT = ("direct", "halfplane")
"""Paths that the product takes on the host where numba is installed."""


def chooser(rows: Sequence[Row]) -> list[Verdict]:
    """Per length: the best path's median time over that of the path that is taken; at least 1/1.5."""
    from numerics.bands.activation import choose

    found = []
    for length in sorted({row["T"] for row in rows if row["op"] == ONE_BAND}):
        times = {row["path"]: row["p50"] for row in rows if (row["op"], row["T"]) == (ONE_BAND, length)}
        taken = choose(length)
        best = min(PRODUCT, key=lambda path: times[path])
        goal = Goal(f"{ONE_BAND}, the chosen path", f"best: {best}", f"chosen: {taken}", 1 / 1.5, length)
        found.append(Verdict(goal, times[best] / times[taken]))
    return found


def run(out: Path, only: Sequence[str]) -> int:
    """0 if every benchmark's paths agree, 1 if one's do not, 2 for an operation that is not known.

    Peers that are not installed are left out, unless they were asked for by name.
    """
    unknown = [name for name in only if name not in OPERATIONS]
    if unknown:
        print(f"checks: no benchmark {', '.join(unknown)}; use some of {', '.join(OPERATIONS)}")
        return 2
    out.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = []
    failed = []
    for name in only or OPERATIONS:
        print(f"== {name}", flush=True)
        status = importlib.import_module(f"checks.benchmarks.{name}").main(["--out", str(out)])
        if status == MISSING and not only:
            continue
        if status:
            failed.append(name)
            continue
        rows += json.loads((out / f"{name}.json").read_text(encoding="utf-8"))["rows"]
    verdicts = [v for v in (verdict(goal, rows) for goal in GOALS) if v.ratio is not None] + chooser(rows)
    result = {
        "machine": machine(),
        "versions": {name: version(name) for name in PACKAGES},
        "rows": rows,
        "exponents": [{"op": op, "path": path, "exponent": value} for (op, path), value in exponents(rows).items()],
        "goals": [
            {
                "op": v.goal.op, "T": v.goal.T, "slow": v.goal.slow, "fast": v.goal.fast,
                "of": v.goal.of, "goal": v.goal.times, "ratio": v.ratio, "met": v.met,
            }
            for v in verdicts
        ],
    }  # fmt: skip
    for file, text in (("bench.json", json.dumps(result, indent=1) + "\n"), ("bench.html", page(result))):
        partial = out / f".{file}.partial"
        partial.write_text(text, encoding="utf-8", newline="\n")
        partial.replace(out / file)
    missed = [v for v in verdicts if v.met is False]
    print(f"{len(verdicts) - len(missed)} of {len(verdicts)} goals met: {out / 'bench.html'}")
    for name in failed:
        print(f"{name}: no rows, see above")
    return 1 if failed else 0
