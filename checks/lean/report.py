"""The table and the JSON of one run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from checks.output import write


@dataclass(frozen=True)
class ModuleRow:
    """One module: theorems written in its source, seconds of building and auditing it."""

    module: str
    theorems: int
    seconds: float


@dataclass(frozen=True)
class LeanReport:
    """Keys as in the contract; `theorems` counts what is written in the sources, not what Lean generates."""

    backend: str
    lean_version: str
    modules: Sequence[ModuleRow]
    theorems: int
    own_axioms: int
    sorries: int
    fixtures_rejected: Sequence[str]
    seconds: float


def table(rows: Sequence[ModuleRow]) -> str:
    """Module, theorems, seconds, and the sum."""
    width = max([len(row.module) for row in rows] + [len("module")])
    lines = [f"{'module':{width}}  theorems  seconds"]
    lines += [f"{row.module:{width}}  {row.theorems:8d}  {row.seconds:7.1f}" for row in rows]
    total = ModuleRow("in all", sum(row.theorems for row in rows), sum(row.seconds for row in rows))
    return "\n".join([*lines, f"{total.module:{width}}  {total.theorems:8d}  {total.seconds:7.1f}"])


def module_rows(
    order: Sequence[str], theorems: Mapping[str, Sequence[str]], seconds: Mapping[str, float]
) -> list[ModuleRow]:
    """A row per module that was built, in build order."""
    return [ModuleRow(name, len(theorems[name]), seconds[name]) for name in order if name in seconds]


def write_json(report: LeanReport, path: Path) -> None:
    """The report as JSON, whole or not at all."""
    write(path, json.dumps(asdict(report), indent=1) + "\n")
