"""Build and audit modules with Lean, in processes that each hold a few of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Protocol

from checks.lean.watch import Run, watched

# Compiled modules are read and never given back: a process that holds many grows past any small machine.
MODULES_PER_PROCESS = 3
NOISE = re.compile(r"^(\[DEBUG|LEAN_PATH|\s+- /|\s+mainModule\?|\s*$)")
REPORT = re.compile(r"^MODULE (\S+) (\d+) (\d+) (\d+)$")


class Lean(Protocol):
    """How Lean is called: natively, or under Node."""

    def command(self, *arguments: str) -> list[str]: ...

    def environment(self, build: Path) -> dict[str, str]: ...


@dataclass
class Outcome:
    """What Lean said of a list of modules."""

    version: str = ""
    seconds: dict[str, float] = field(default_factory=dict)
    said: dict[str, list[str]] = field(default_factory=dict)
    finished: bool = False
    peak: int = 0
    restarts: int = 0
    stopped_for_memory: bool = False

    @property
    def bad(self) -> list[str]:
        """The audit's findings: `declaration sorryAx`, `axiom name`, …"""
        return [line.removeprefix("BAD ") for lines in self.said.values() for line in lines if line.startswith("BAD ")]

    @property
    def failed(self) -> list[str]:
        """Names of the modules that Lean refused."""
        return [line.split()[1] for lines in self.said.values() for line in lines if line.startswith("FAILED ")]


def read_report(lines: Sequence[str], outcome: Outcome) -> None:
    """Add what one process printed to the outcome."""
    short: str | None = None
    for line in lines:
        report = REPORT.match(line)
        if line.startswith("LEAN "):
            outcome.version = line.removeprefix("LEAN ")
        elif line.startswith("BEGIN "):
            short = line.split()[1]
            outcome.said[short] = []
        elif line in ("ALL DONE", "STOPPED"):
            return
        elif short is not None and not NOISE.match(line):
            outcome.said[short].append(line)
            if report:
                outcome.seconds[report[1]] = (int(report[2]) + int(report[3])) / 1000


def short_name(module: str, library: str) -> str:
    """`Formal.Profile` is `Profile` to the driver; the root keeps its name."""
    return module.removeprefix(f"{library}.")


def batches(modules: Sequence[str], size: int = MODULES_PER_PROCESS) -> list[list[str]]:
    """The modules in order, at most `size` per process and as even as can be: a process costs its start-up."""
    processes = -(-len(modules) // size)
    edges = [len(modules) * process // processes for process in range(processes + 1)] if processes else [0]
    return [list(modules[start:end]) for start, end in pairwise(edges)]


def run_driver(lean: Lean, folder: Path, mode: str, library: str, modules: Sequence[str]) -> Run:
    """One process of the driver over the modules; the last line tells whether it went through."""
    names = [short_name(module, library) for module in modules]
    command = lean.command("--run", "Driver.lean", mode, library, *names)
    return watched(command, folder, lean.environment(folder / "build"))


def build(
    lean: Lean,
    folder: Path,
    library: str,
    modules: Sequence[str],
    mode: str = "stop",
    say: Callable[[str], None] = lambda line: None,
    run: Callable[[Lean, Path, str, str, Sequence[str]], Run] = run_driver,
) -> Outcome:
    """Build and audit the modules in order; a process that dies is started again once, at the first module it owes."""
    outcome = Outcome(finished=True)
    for batch in batches(modules, MODULES_PER_PROCESS if mode == "stop" else len(modules)):
        owed, again = list(batch), True
        while owed:
            ran = run(lean, folder, mode, library, owed)
            read_report(ran.lines, outcome)
            outcome.peak = max(outcome.peak, ran.peak)
            outcome.stopped_for_memory |= ran.stopped_for_memory
            if "ALL DONE" in ran.lines:
                break
            if "STOPPED" in ran.lines or not again:
                outcome.finished = False
                if "STOPPED" not in ran.lines:
                    outcome.said.setdefault("process", []).extend(ran.lines[-8:])
                return outcome
            owed = [module for module in owed if module not in outcome.seconds]
            again = False
            outcome.restarts += 1
            say(f"Lean died; again from {owed[0]}" if owed else "Lean died after its last module")
    return outcome


def messages(outcome: Outcome) -> Mapping[str, list[str]]:
    """Per module that is not well, what Lean said: errors and findings of the audit."""
    unwell = ("FAILED", "BAD")
    return {
        name: [line for line in lines if not line.startswith("MODULE ")]
        for name, lines in outcome.said.items()
        if name == "process" or any(line.startswith(unwell) for line in lines)
    }
