"""Native Lean: `lake build` as a user runs it, and `#print axioms` on the headline theorems."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

TRUSTED_AXIOMS = frozenset({"propext", "Classical.choice", "Quot.sound"})
DEPENDS = re.compile(r"'(\S+)' depends on axioms: \[([^\]]*)\]", re.DOTALL)
FREE = re.compile(r"'(\S+)' does not depend on any axioms")


@dataclass(frozen=True)
class NativeLean:
    """The `lean` of the toolchain that `lean-toolchain` names; elan puts it beside `lake`."""

    def command(self, *arguments: str) -> list[str]:
        return ["lean", "-DElab.async=false", *arguments]

    def environment(self, build: Path) -> dict[str, str]:
        return {**os.environ, "LEAN_PATH": str(build)}


def lake_build(root: Path) -> tuple[bool, str]:
    """Whether `lake build` passes in the checkout, and what it printed."""
    ran = subprocess.run(
        ["lake", "build"], cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    return ran.returncode == 0, ran.stdout


def audit_source(library: str, names: Sequence[str]) -> str:
    """A Lean file that prints the axioms of the given theorems."""
    return "".join([f"import {library}\n", *(f"#print axioms {library}.{name}\n" for name in names)])


def untrusted(printed: str, names: Sequence[str], library: str) -> list[str]:
    """Theorems that use an axiom beyond the three of Lean's core, or of which nothing was printed."""
    axioms = {name: set(re.split(r"[,\s]+", used.strip())) - {""} for name, used in DEPENDS.findall(printed)}
    axioms |= {name: set() for name in FREE.findall(printed)}
    return [name for name in names if not axioms.get(f"{library}.{name}", {"nothing printed"}) <= TRUSTED_AXIOMS]


def untrusted_headlines(root: Path, scratch: Path, library: str, names: Sequence[str]) -> list[str]:
    """Run `#print axioms` on the names with native Lean; the names that are not as they should be."""
    file = scratch / "PrintAxioms.lean"
    file.write_text(audit_source(library, names), encoding="utf-8")
    ran = subprocess.run(
        ["lake", "env", "lean", str(file)],
        cwd=root,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return untrusted(ran.stdout, names, library)
