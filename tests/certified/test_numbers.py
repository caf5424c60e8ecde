"""What is drawn: of every subject, the same by seed, well formed, and what the shipped float64 code gives."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from types import FunctionType
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from checks.certified import draws
from checks.certified.drawing import inputs, numbers_of
from checks.certified.modules import module, numbers_module, plants_module, slug, theorem
from checks.certified.statements import Number, Subject, fraction, matrix, number, pairs, truths, vector
from checks.certified.subjects import SUBJECTS, activation, circuits, forms, kernels, scores
from checks.lean.command import ROOT
from checks.lean.sources import forbidden, read_sources, without_comments

COUNT = 10
FORMAL = "\n".join(without_comments(text) for text in read_sources(ROOT, "Formal").values())


@pytest.fixture(scope="module")
def drawn() -> dict[Subject, list[Number]]:
    return {subject: numbers_of(subject, COUNT, 0) for subject in SUBJECTS}


def test_every_subject_gives_as_many_different_numbers_as_are_asked_for(drawn: dict[Subject, list[Number]]) -> None:
    for subject, found in drawn.items():
        assert len(found) == len(set(found)) == COUNT, subject.name


def test_every_kind_of_number_that_a_subject_gives_is_among_the_first() -> None:
    subject = Subject("kinds", (), (), (), "", st.integers(0, 99).map(lambda n: [number(f"{k}/{n}", n) for k in "abc"]))
    for count in (3, 7):
        kinds = [found.formal[0] for found in numbers_of(subject, count, 0)]
        assert kinds == list("abcabcabc")[:count]


def test_numbers_are_not_all_trivial(drawn: dict[Subject, list[Number]]) -> None:
    for subject, found in drawn.items():
        assert len({one.value for one in found} - {Fraction(0), Fraction(1)}) >= 2, subject.name


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.name)
def test_the_same_seed_gives_the_same_numbers_and_another_one_others(subject: Subject) -> None:
    assert numbers_of(subject, COUNT, 3) == numbers_of(subject, COUNT, 3)
    assert numbers_of(subject, COUNT, 3) != numbers_of(subject, COUNT, 4)


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.name)
def test_definitions_exist_and_are_used(subject: Subject, drawn: dict[Subject, list[Number]]) -> None:
    text = " ".join(found.formal for found in drawn[subject])
    for name in subject.definitions:
        assert re.search(rf"^(noncomputable )?(def|structure|inductive) {name}\b", FORMAL, re.MULTILINE), name
        assert re.search(rf"(?<![\w])(Formal\.)?{name}(?!\w)", text), name


def test_the_code_that_is_named_exists() -> None:
    from importlib import import_module

    for subject in SUBJECTS:
        assert subject.code
        for path in subject.code:
            room, name = f"numerics.{path}".rsplit(".", 1)
            assert callable(getattr(import_module(room), name)), path


def test_names_of_subjects_are_different() -> None:
    assert len({slug(subject.name) for subject in SUBJECTS}) == len(SUBJECTS)


# ---- the same numbers from the code as it ships, in float64


def floating(function: Callable[..., Any], **instead: Any) -> Callable[..., Any]:
    """Stands for `exactly`: the function as it ships. A constant stays what it is, a stand-in for a function not."""
    replaced = {name: value for name, value in instead.items() if callable(value)}
    if not replaced:
        return function
    assert isinstance(function, FunctionType)
    surroundings = {**function.__globals__, **replaced}
    return FunctionType(function.__code__, surroundings, None, function.__defaults__, function.__closure__)


def floats(values: Any) -> Any:
    """Stands for `exact`."""
    return np.asarray(values, dtype=np.float64)


@pytest.fixture
def in_float64(monkeypatch: pytest.MonkeyPatch) -> None:
    for place in (draws, activation, circuits, forms, kernels, scores):
        for name, stand_in in (("exact", floats), ("exactly", floating), ("Exact", float)):
            if hasattr(place, name):
                monkeypatch.setattr(place, name, stand_in)


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.name)
def test_the_shipped_code_in_float64_gives_the_same_numbers_to_rounding(
    subject: Subject, request: pytest.FixtureRequest
) -> None:
    certified = inputs(subject, 4 * COUNT, 1)
    request.getfixturevalue("in_float64")
    shipped = inputs(subject, 4 * COUNT, 1)
    # At most some hundred operations on numbers of at most a few hundred: 1e-11 absolute is far above their rounding,
    # and far below the difference of two different numbers (their denominators are at most in the millions).
    assert [float(one.value) for drawn in shipped for one in drawn] == pytest.approx(
        [float(one.value) for drawn in certified for one in drawn], rel=1e-11, abs=1e-11
    )


# ---- the text


@pytest.mark.parametrize(
    ("value", "text"), [(Fraction(-3, 4), "-3/4"), (2, "2"), (0.25, "1/4"), (np.float64(-1), "-1"), (np.int64(7), "7")]
)
def test_a_rational_is_written_as_lean_reads_it(value: object, text: str) -> None:
    assert fraction(value) == text


def test_lists_are_written_as_lean_reads_them() -> None:
    assert vector([1, Fraction(1, 2)]) == "(vec [(1, 1), (1, 2)])"
    assert matrix(np.array([[1.0, -2.0], [0.5, 0.0]])) == "(mat [[(1, 1), (-2, 1)], [(1, 2), (0, 1)]])"
    assert pairs([(1, 2), (3, Fraction(-1, 3))]) == "(duo [(1, 1), (2, 1), (3, 1), (-1, 3)])"
    assert truths(np.array([True, False])) == "(truth [true, false])"


def test_off_by_one_is_one_more_in_the_numerator() -> None:
    assert Number("x", Fraction(8, 3)).off_by_one() == Number("x", Fraction(3))
    assert Number("x", Fraction(2)).off_by_one() == Number("x", Fraction(3))


def test_every_line_of_the_module_that_states_a_number_is_known(drawn: dict[Subject, list[Number]]) -> None:
    made = numbers_module(drawn)
    lines = made.text.splitlines()
    stated = [line for line in lines if line.startswith("theorem ")]
    assert len(stated) == len(made.theorems) == len(set(made.theorems.values())) == COUNT * len(SUBJECTS)
    for line, name in made.theorems.items():
        assert lines[line - 1].startswith(f"theorem {name} : ")
    by_name = {name: lines[line - 1] for line, name in made.theorems.items()}
    for subject, found in drawn.items():
        for place, stated in enumerate(found):
            name = f"{slug(subject.name)}_{place}"
            assert by_name[name] == theorem(name, stated)


def test_the_module_is_well_formed(drawn: dict[Subject, list[Number]]) -> None:
    text = numbers_module(drawn).text
    assert text.startswith("module\npublic import Formal.")
    for room in re.findall(r"^public import Formal\.(\w+)$", text, re.MULTILINE):
        assert (ROOT / "Formal" / f"{room}.lean").exists()
    for line in text.splitlines():
        for opening, closing in ("()", "[]", "⟨⟩"):
            assert line.count(opening) == line.count(closing), line
        if line.startswith("theorem "):
            assert line.endswith(" := by decide +kernel")
    assert not forbidden(text)


def test_of_every_subject_one_wrong_number_is_planted_beside_the_right_one(
    drawn: dict[Subject, list[Number]],
) -> None:
    made, planted = plants_module(drawn)
    lines = made.text.splitlines()
    assert list(planted.values()) == [subject.name for subject in SUBJECTS]
    for line, subject in zip(planted, SUBJECTS, strict=True):
        right, wrong = lines[line - 2], lines[line - 1]
        last = drawn[subject][-1]
        assert right == theorem(f"{slug(subject.name)}_right", last)
        assert wrong == theorem(f"{slug(subject.name)}_off_by_one", last.off_by_one())


def test_a_module_imports_what_its_subjects_need() -> None:
    made = module("M", "Title.", SUBJECTS[:1], [])
    assert made.name == "Certified.M"
    assert f"public import Formal.{SUBJECTS[0].imports[0]}\n" in made.text
