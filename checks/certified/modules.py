"""The text of the Lean modules, and which line of them states what."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from checks.certified.statements import Number, Subject, fraction

LIBRARY = "Certified"

OPENING = """module
{imports}
/-! {title} `(1, 2)` in a list stands for 1/2: Lean reads a list of divisions six times as slowly. -/
set_option autoImplicit false
@[expose] public section
namespace Formal.Certified
noncomputable def entry (l : List (Int × Nat)) (i : Nat) : Rat := mkRat (l.getD i (0, 1)).1 (l.getD i (0, 1)).2
noncomputable def vec {{n : Nat}} (l : List (Int × Nat)) : Fin n → Rat := fun i => entry l i.val
noncomputable def mat {{n m : Nat}} (l : List (List (Int × Nat))) : Fin n → Fin m → Rat :=
  fun i => vec (l.getD i.val [])
noncomputable def duo {{n : Nat}} (l : List (Int × Nat)) : Fin n → Rat × Rat :=
  fun i => (entry l (2 * i.val), entry l (2 * i.val + 1))
noncomputable def truth {{n : Nat}} (l : List Bool) : Fin n → Bool := fun i => l.getD i.val false
"""
CLOSING = "end Formal.Certified\nend\n"


@dataclass(frozen=True)
class Module:
    """A source and, for each of its lines that states a number, the name of the theorem."""

    name: str
    text: str
    theorems: Mapping[int, str]


def slug(name: str) -> str:
    return re.sub(r"\W+", "_", name).lower()


def theorem(name: str, stated: Number) -> str:
    """One line. A theorem with a name, not an `example`, so that the audit of the driver meets it."""
    return f"theorem {name} : {stated.formal} = {fraction(stated.value)} := by decide +kernel"


def module(name: str, title: str, subjects: Iterable[Subject], stated: Sequence[tuple[str, Number]]) -> Module:
    """The module that states the named numbers."""
    rooms = sorted({room for subject in subjects for room in subject.imports})
    imports = "\n".join(f"public import Formal.{room}" for room in rooms)
    opening = OPENING.format(imports=imports, title=title)
    first = opening.count("\n") + 1
    lines = [theorem(label, found) for label, found in stated]
    text = opening + "".join(f"{line}\n" for line in lines) + CLOSING
    return Module(f"{LIBRARY}.{name}", text, {first + place: label for place, (label, _) in enumerate(stated)})


def numbers_module(numbers: Mapping[Subject, Sequence[Number]]) -> Module:
    """Every number that the code gave."""
    stated = [
        (f"{slug(subject.name)}_{place}", found)
        for subject, all_of_it in numbers.items()
        for place, found in enumerate(all_of_it)
    ]
    return module("Numbers", "Numbers that the code gave.", numbers, stated)


def plants_module(numbers: Mapping[Subject, Sequence[Number]]) -> tuple[Module, dict[int, str]]:
    """For each subject its last number and the same off by one; with the lines that must be refused, and their subject.

    The right one beside it shows that the wrong one is refused for being wrong, not for want of a definition.
    """
    stated = [
        entry
        for subject, all_of_it in numbers.items()
        for entry in (
            (f"{slug(subject.name)}_right", all_of_it[-1]),
            (f"{slug(subject.name)}_off_by_one", all_of_it[-1].off_by_one()),
        )
    ]
    found = module("Plants", "Of each pair the second is wrong and must be refused.", numbers, stated)
    subjects = {f"{slug(subject.name)}_off_by_one": subject.name for subject in numbers}
    return found, {line: subjects[label] for line, label in found.theorems.items() if label in subjects}
