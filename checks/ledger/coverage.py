"""What the ledger has to account for: every headline theorem and every public formula, by number or by reason."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from types import FunctionType
from typing import Any

import numerics
from checks.lean.headlines import headlines
from checks.lean.sources import read_sources, theorems
from checks.ledger.entry import Entry

ROOT = Path(__file__).parents[2]
ROOMS = ("forms", "positional", "bands", "circuits")
LIBRARY = "Formal"


def stated_theorems(root: Path = ROOT) -> set[str]:
    """Names, without the library's own, of every theorem written in the Lean sources."""
    return {
        name.removeprefix(f"{LIBRARY}.") for text in read_sources(root, LIBRARY).values() for name in theorems(text)
    }


def headline_theorems(root: Path = ROOT) -> dict[str, str]:
    """Headline theorem → its file."""
    return {
        name: f"{LIBRARY}/{file}.lean"
        for file, names in headlines(root / LIBRARY / "README.md").items()
        for name in names
    }


def formulas(root: Path = ROOT) -> list[str]:
    """Public functions of the rooms, `forms.coordinates.split_signs`, …; of the walks those the package exports."""
    names = [name for name in numerics.__all__ if isinstance(getattr(numerics, name), FunctionType)]
    for room in ROOMS:
        for file in sorted((root / "numerics" / room).rglob("*.py")):
            if file.name == "measure.py":
                continue
            module = ".".join(file.relative_to(root / "numerics").with_suffix("").parts).removesuffix(".__init__")
            tree = ast.parse(file.read_text(encoding="utf-8"))
            functions = (node.name for node in tree.body if isinstance(node, ast.FunctionDef))
            names += [f"{module}.{name}" for name in functions if not name.startswith("_")]
    return names


def reason_for(name: str, reasons: Mapping[str, str]) -> str | None:
    """The reason given for the function itself or for the module that it is in."""
    return reasons.get(name) or reasons.get(name.rpartition(".")[0])


def gaps(
    entries: Sequence[Entry[Any]],
    explained: Mapping[str, str],
    reasons: Mapping[str, str],
    stated: Collection[str],
    headlines: Collection[str],
    public: Collection[str],
) -> list[str]:
    """A line for everything that is unaccounted for, unknown, or accounted for twice."""
    measured = {theorem for entry in entries for theorem in entry.theorems}
    covered = {function for entry in entries for function in entry.functions}
    known = measured | set(explained)
    modules = {name.rpartition(".")[0] for name in public}
    unreasoned = (name for name in public if name not in covered and reason_for(name, reasons) is None)
    return [
        *(f"theorem {name} is not in {LIBRARY}/" for name in sorted(known - set(stated))),
        *(f"theorem {name} is neither measured nor explained" for name in headlines if name not in known),
        *(f"theorem {name} is measured and explained away" for name in sorted(measured & set(explained))),
        *(f"formula {name} does not exist" for name in sorted(covered - set(public))),
        *(f"formula {name} has no entry and no reason" for name in unreasoned),
        *(f"reason for {name}, which does not exist" for name in sorted(set(reasons) - set(public) - modules)),
        *(f"formula {name} has an entry and a reason" for name in sorted(covered & set(reasons))),
    ]
