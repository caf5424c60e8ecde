"""`python -m checks lean`: build `Formal/`, audit it, see that the fixtures are refused."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from checks.lean.build import Lean, Outcome, build, messages
from checks.lean.failure import LeanFailure
from checks.lean.fixtures import FOLDER as FIXTURES
from checks.lean.fixtures import REASONS, rejected_by_lean, rejected_by_reading
from checks.lean.headlines import headlines
from checks.lean.kept import identity, keep, place
from checks.lean.lake import NativeLean, lake_build, untrusted_headlines
from checks.lean.node import lean_on_node
from checks.lean.report import LeanReport, module_rows, table, write_json
from checks.lean.sources import forbidden, module_order, read_sources, theorems
from checks.output import folder, refusing

ROOT = Path(__file__).parents[2]
LIBRARY = "Formal"
BACKENDS = ("auto", "lake", "node")


def scratch_place() -> str:
    """Under Node, Lean sees /home and /tmp only, so what is built lies there."""
    place = str(Path(tempfile.gettempdir()).resolve())
    return place if place.startswith(("/home/", "/tmp")) else "/tmp"


def lay_out(scratch: Path) -> None:
    """Copy sources, fixtures and driver to where Lean works; nothing is built inside the checkout."""
    shutil.copytree(ROOT / LIBRARY, scratch / LIBRARY)
    shutil.copytree(FIXTURES, scratch / "Fixtures")
    for file in (ROOT / f"{LIBRARY}.lean", ROOT / "lean-toolchain", Path(__file__).with_name("Driver.lean")):
        shutil.copy(file, scratch)
    for name in (LIBRARY, "Fixtures"):
        (scratch / "build" / name).mkdir(parents=True)


def complaints(
    sources: Mapping[str, str], outcome: Outcome, order: list[str], rejected: Mapping[str, bool]
) -> list[str]:
    """Everything that keeps the run from being well, a line each."""
    found = [f"{name}, line {line}" for name, text in sources.items() for line in forbidden(text)]
    for name, lines in messages(outcome).items():
        found += [f"{name}: {line}" for line in lines]
    found += [f"{name} was not built" for name in order if name not in outcome.seconds]
    if outcome.stopped_for_memory and not outcome.finished:
        found.append(f"stopped at {outcome.peak / 1e9:.1f} GB by the memory watchdog")
    return found + [f"fixture {name} was not refused for its reason" for name, well in rejected.items() if not well]


def check(backend: str, scratch: Path) -> tuple[LeanReport, list[str]]:
    """One whole run: the report and the complaints."""
    started = time.monotonic()
    sources = read_sources(ROOT, LIBRARY)
    order = module_order(sources, LIBRARY)
    lay_out(scratch)
    lean: Lean = NativeLean() if backend == "lake" else lean_on_node()
    outcome = build(lean, scratch, LIBRARY, order, say=print)
    names = {name: theorems(text) for name, text in sources.items()}
    rows = module_rows(order, names, outcome.seconds)
    print(table(rows))
    extra: list[str] = []
    if backend == "lake":
        passed, printed = lake_build(ROOT)
        extra += [] if passed else [f"lake build: {line}" for line in printed.splitlines()[-20:]]
        shown = [name for row in headlines(ROOT / LIBRARY / "README.md").values() for name in row]
        extra += [
            f"{name} rests on more than the three axioms" for name in untrusted_headlines(ROOT, scratch, LIBRARY, shown)
        ]
    planted = build(lean, scratch, "Fixtures", list(REASONS), mode="each", say=print)
    rejected = rejected_by_lean(planted.said) | rejected_by_reading(sources, LIBRARY)
    bad = complaints(sources, outcome, order, rejected) + extra
    if not bad:
        keep(scratch / "build", LIBRARY, place(sources, LIBRARY, identity(lean, ROOT)))
    report = LeanReport(
        backend=backend,
        lean_version=outcome.version,
        modules=rows,
        theorems=sum(row.theorems for row in rows),
        own_axioms=sum("axiom" in line for line in outcome.bad),
        sorries=sum("sorryAx" in line for line in outcome.bad),
        fixtures_rejected=[name for name, well in rejected.items() if well],
        seconds=round(time.monotonic() - started, 1),
    )
    print(
        f"Lean {report.lean_version.split(',')[0]} ({backend}): {report.theorems} theorems in {len(rows)} modules, "
        f"{report.own_axioms} own axioms, {report.sorries} sorries, "
        f"{len(report.fixtures_rejected)} of {len(rejected)} refusals, {report.seconds:.0f} s, "
        f"peak {max(outcome.peak, planted.peak) / 1e9:.1f} GB, {outcome.restarts + planted.restarts} restarts"
    )
    return report, bad


def run(backend: str = "auto", json_path: Path | None = None) -> int:
    """0 if every module builds, the audit finds nothing and every fixture is refused; 1 if not; 2: wrong option."""
    if backend not in BACKENDS:
        print(f"unknown backend {backend!r}; choose one of {', '.join(BACKENDS)}")
        return 2
    if backend == "lake" and not shutil.which("lake"):
        print("no lake on PATH; install elan, or use --backend node")
        return 2
    if backend == "auto":
        backend = "lake" if shutil.which("lake") else "node"
    if json_path:
        folder(json_path.parent)
    try:
        with tempfile.TemporaryDirectory(prefix="formal-", dir=scratch_place()) as scratch:
            report, bad = check(backend, Path(scratch))
    except LeanFailure as failure:
        print(failure)
        return 1
    if json_path:
        write_json(report, json_path)
    for line in bad:
        print(line)
    return 1 if bad else 0


def lean(
    backend: Annotated[str, typer.Option(help="auto, lake or node.")] = "auto",
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the report as JSON.")] = None,
) -> None:
    """Build and audit the theorems of Formal/ with a real Lean; exit with 1 if anything is wrong."""
    with refusing():
        raise typer.Exit(run(backend, json_file))
