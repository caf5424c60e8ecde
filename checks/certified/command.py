"""`python -m checks certified`: numbers that the code gave, evaluated again by Lean's kernel from the definitions."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from checks.certified.drawing import numbers_of
from checks.certified.modules import LIBRARY, Module, numbers_module, plants_module
from checks.certified.statements import Number, Subject
from checks.certified.subjects import SUBJECTS
from checks.lean.build import REPORT, Lean, Outcome, build
from checks.lean.command import BACKENDS, ROOT, lay_out, scratch_place
from checks.lean.command import LIBRARY as FORMAL
from checks.lean.failure import LeanFailure
from checks.lean.kept import identity, keep, place
from checks.lean.lake import NativeLean
from checks.lean.node import lean_on_node
from checks.lean.sources import module_order, read_sources
from checks.output import folder, write

NUMBERS, SEED = 240, 0
REFUSED = "error: Tactic `decide` failed for proposition"
ERROR = re.compile(r"^\S+\.lean:(\d+):\d+: error")


@dataclass(frozen=True)
class CertifiedSubject:
    """What became of one subject."""

    code: Sequence[str]
    way: str
    definitions: Sequence[str]
    certified: int
    wrong_number_refused: bool


@dataclass(frozen=True)
class CertifiedReport:
    """`sha256` is that of the module of numbers."""

    backend: str
    lean_version: str
    seed: int
    subjects: Mapping[str, CertifiedSubject]
    certified: int
    refused: int
    sha256: str
    peak_bytes: int
    seconds: float


def draw_all(count: int, seed: int) -> dict[Subject, list[Number]]:
    """At least `count` numbers in all, as many of each subject, but few of long ones."""
    few = [subject.at_most for subject in SUBJECTS if subject.at_most]
    share = max(1, -(-(count - sum(few)) // (len(SUBJECTS) - len(few))))
    return {subject: numbers_of(subject, subject.at_most or share, seed) for subject in SUBJECTS}


def errors(said: Sequence[str]) -> dict[int, str]:
    """Line of the source → the first error that Lean has there."""
    found: dict[int, str] = {}
    for line in said:
        match = ERROR.match(line)
        if match:
            found.setdefault(int(match[1]), line)
    return found


def certified(module: Module, said: Sequence[str]) -> tuple[set[str], list[str]]:
    """Names of the theorems that Lean accepted and audited, and what it has against the module, a line each.

    Nothing is certified by a module that Lean did not come to the end of, or of which the audit has something to say.
    """
    wrong, lines = errors(said), module.text.splitlines()
    complaints = [line for line in said if line.startswith("BAD ")]
    audited = [int(match[4]) for match in map(REPORT.match, said) if match and match[1] == module.name]
    if audited and audited[0] < len(module.theorems):
        complaints.append(f"the audit met {audited[0]} of {len(module.theorems)} theorems of {module.name}")
    if not audited and f"FAILED {module.name}" not in said:
        complaints.append(f"{module.name} was not built: {' '.join(said)[-200:]}")
    accepted = {name for line, name in module.theorems.items() if line not in wrong}
    refusals = [f"refused: {lines[line - 1]} ({why.split('error: ', 1)[-1]})" for line, why in wrong.items()]
    if not audited and not wrong and not complaints:
        complaints.append(f"{module.name} failed and Lean does not say why")
    return (set() if complaints else accepted), refusals + complaints


def refused(said: Sequence[str], planted: Mapping[int, str]) -> tuple[set[str], list[str]]:
    """Subjects whose wrong number was refused for being wrong, and what else is not as it should be."""
    wrong = errors(said)
    well = {subject for line, subject in planted.items() if REFUSED in wrong.get(line, "")}
    complaints = [f"wrong number of {subject!r} was not refused" for subject in planted.values() if subject not in well]
    complaints += [f"beside the wrong numbers also refused: {wrong[line]}" for line in wrong if line not in planted]
    return well, complaints


def library_built(lean: Lean, scratch: Path) -> None:
    """Lay out the scratch folder with the compiled library, taken from the cache or built and kept there."""
    sources = read_sources(ROOT, FORMAL)
    order = module_order(sources, FORMAL)
    lay_out(scratch)
    kept = place(sources, FORMAL, identity(lean, ROOT))
    if kept.exists():
        shutil.copytree(kept, scratch / "build", dirs_exist_ok=True)
        return
    outcome = build(lean, scratch, FORMAL, order, say=print)
    if not outcome.finished or outcome.bad or any(module not in outcome.seconds for module in order):
        raise LeanFailure("the library does not build; run: python -m checks lean")
    keep(scratch / "build", FORMAL, kept)


def judged(lean: Lean, scratch: Path, modules: Sequence[Module]) -> Outcome:
    """What Lean says of the modules, in one process."""
    for room in (scratch / LIBRARY, scratch / "build" / LIBRARY):
        room.mkdir(parents=True)
    for module in modules:
        (scratch / f"{module.name.replace('.', '/')}.lean").write_text(module.text, encoding="utf-8")
    return build(lean, scratch, LIBRARY, [module.name for module in modules], mode="each", say=print)


def check(backend: str, scratch: Path, count: int, seed: int) -> tuple[CertifiedReport, list[str]]:
    """One whole run: the report and the complaints."""
    started = time.monotonic()
    numbers = draw_all(count, seed)
    stated, (plants, planted) = numbers_module(numbers), plants_module(numbers)
    print(f"{sum(len(found) for found in numbers.values())} numbers drawn, {time.monotonic() - started:.0f} s")
    lean: Lean = NativeLean() if backend == "lake" else lean_on_node()
    library_built(lean, scratch)
    outcome = judged(lean, scratch, [stated, plants])
    said = {f"{LIBRARY}.{short}": lines for short, lines in outcome.said.items()}
    accepted, bad = certified(stated, said.get(stated.name, []))
    well, complaints = refused(said.get(plants.name, []), planted)
    rows = {}
    for subject, found in numbers.items():
        labels = numbers_module({subject: found}).theorems.values()
        rows[subject.name] = CertifiedSubject(
            subject.code,
            subject.way,
            subject.definitions,
            sum(label in accepted for label in labels),
            subject.name in well,
        )
    report = CertifiedReport(
        backend=backend,
        lean_version=outcome.version,
        seed=seed,
        subjects=rows,
        certified=len(accepted),
        refused=len(well),
        sha256=hashlib.sha256(stated.text.encode()).hexdigest(),
        peak_bytes=outcome.peak,
        seconds=round(time.monotonic() - started, 1),
    )
    if outcome.stopped_for_memory and not outcome.finished:
        complaints.append(f"stopped at {outcome.peak / 1e9:.1f} GB by the memory watchdog")
    return report, bad + complaints


def table(report: CertifiedReport) -> str:
    """Subject, numbers certified, whether its wrong number was refused, how its code was run."""
    width = max(len(name) for name in report.subjects)
    lines = [f"{'subject':{width}}  certified  wrong one  way"]
    for name, row in report.subjects.items():
        refusal = "refused" if row.wrong_number_refused else "PASSED"
        lines.append(f"{name:{width}}  {row.certified:9d}  {refusal:9}  {row.way}")
    return "\n".join(lines)


def run(numbers: int = NUMBERS, seed: int = SEED, backend: str = "auto", json_path: Path | None = None) -> int:
    """0 if Lean certifies every number and refuses every wrong one; 1 if not; 2: wrong option."""
    if backend not in BACKENDS:
        print(f"unknown backend {backend!r}; choose one of {', '.join(BACKENDS)}")
        return 2
    if numbers < 1:
        print(f"{numbers} numbers certify nothing; ask for 1 or more")
        return 2
    if backend == "lake" and not shutil.which("lake"):
        print("no lake on PATH; install elan, or use --backend node")
        return 2
    if backend == "auto":
        backend = "lake" if shutil.which("lake") else "node"
    if json_path:
        folder(json_path.parent)
    try:
        with tempfile.TemporaryDirectory(prefix="certified-", dir=scratch_place()) as scratch:
            report, bad = check(backend, Path(scratch), numbers, seed)
    except LeanFailure as failure:
        print(failure)
        return 1
    print(table(report))
    print(
        f"Lean {report.lean_version.split(',')[0]} ({backend}): {report.certified} numbers certified, "
        f"{report.refused} of {len(report.subjects)} wrong ones refused, seed {seed}, {report.seconds:.0f} s, "
        f"peak {report.peak_bytes / 1e9:.1f} GB"
    )
    if json_path:
        write(json_path, json.dumps(asdict(report), indent=1, ensure_ascii=False) + "\n")
    for line in bad:
        print(line)
    return 1 if bad else 0
