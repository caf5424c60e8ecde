"""Sources that must be refused, each for its own reason: if one passes, the check itself is broken."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from checks.lean.failure import LeanFailure
from checks.lean.sources import forbidden, module_order

FOLDER = Path(__file__).with_name("fixtures")

ERROR = re.compile(r"^\S+\.lean:\d+:\d+: error")

# Fixture → what Lean, or the audit, has to say of it.
REASONS: Mapping[str, str] = {
    "Sorry": r"^BAD Formal\.planted_gap sorryAx$",
    "Axiom": r"^BAD axiom Formal\.planted$",
    "FalseTheorem": r"FalseTheorem\.lean:6:\d+: error: `grind` failed",
    "WrongNumber": r"WrongNumber\.lean:7:\d+: error: Tactic `decide` failed for proposition",
    "CompiledTrust": r"^BAD planted_compiled_trust ofReduceBool$",
}
# Fixtures that the reading of the sources must refuse, by the word that gives them away.
WORDS: Mapping[str, str] = {
    "Sorry": "sorry",
    "Axiom": "axiom",
    "CompiledTrust": "native_decide",
    "Swapped": "implemented_by",
}
STRAY = "Stray"


def refused_for(why: str, lines: Sequence[str]) -> bool:
    """Whether the reason was given, and no error for another one."""
    errors = [line for line in lines if ERROR.match(line)]
    return any(re.search(why, line) for line in lines) and all(re.search(why, line) for line in errors)


def rejected_by_lean(said: Mapping[str, Sequence[str]]) -> dict[str, bool]:
    """For each fixture that Lean was given, whether it was refused for its own reason."""
    return {name: refused_for(why, said.get(name, ())) for name, why in REASONS.items()}


def rejected_by_reading(sources: Mapping[str, str], root: str) -> dict[str, bool]:
    """For each fixture that reading gives away, whether it is refused for its own reason."""
    refused = {
        f"{name} (read)": any(
            line.endswith(f" {word}") for line in forbidden((FOLDER / f"{name}.lean").read_text(encoding="utf-8"))
        )
        for name, word in WORDS.items()
    }
    planted = {**sources, f"{root}.{STRAY}": (FOLDER / f"{STRAY}.lean").read_text(encoding="utf-8")}
    try:
        module_order(planted, root)
    except LeanFailure as failure:
        refused[STRAY] = str(failure) == f"not reachable from {root}.lean: {root}.{STRAY}"
    else:
        refused[STRAY] = False
    return refused
