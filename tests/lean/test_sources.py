"""Reading Lean sources without Lean: imports, order, theorems, forbidden words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks.lean.failure import LeanFailure
from checks.lean.sources import forbidden, imports, module_order, theorems, without_comments


def library(edges: dict[str, list[str]]) -> dict[str, str]:
    """Sources whose imports are the given edges."""
    return {name: "module\n" + "".join(f"public import {used}\n" for used in uses) for name, uses in edges.items()}


def some_edges(n: int) -> st.SearchStrategy[tuple[int, list[tuple[int, int]]]]:
    """A number of modules and pairs of them."""
    return st.tuples(st.just(n), st.lists(st.tuples(st.integers(0, n), st.integers(0, n))))


@given(st.integers(1, 12).flatmap(some_edges))
def test_every_module_comes_after_what_it_imports(drawn: tuple[int, list[tuple[int, int]]]) -> None:
    n, pairs = drawn
    edges = {f"F.M{i}": sorted({f"F.M{j}" for a, j in pairs if a == i and j < i}) for i in range(n)}
    edges["F"] = sorted(edges)
    order = module_order(library(edges), "F")
    assert sorted(order) == sorted(edges)
    assert order[-1] == "F"
    assert all(order.index(used) < order.index(name) for name, uses in edges.items() for used in uses)


def test_a_file_that_the_root_does_not_reach_is_refused() -> None:
    with pytest.raises(LeanFailure, match=r"^not reachable from F\.lean: F\.Stray$"):
        module_order(library({"F": ["F.A"], "F.A": [], "F.Stray": ["F.A"]}), "F")


def test_an_import_that_does_not_exist_is_refused() -> None:
    with pytest.raises(LeanFailure, match=r"^F\.A imports F\.B, which does not exist$"):
        module_order(library({"F": ["F.A"], "F.A": ["F.B"]}), "F")


def test_an_import_cycle_is_refused() -> None:
    with pytest.raises(LeanFailure, match=r"^import cycle: F\.A → F\.B → F\.A$"):
        module_order(library({"F": ["F.A"], "F.A": ["F.B"], "F.B": ["F.A"]}), "F")


def test_imports_of_other_libraries_are_no_modules_of_ours() -> None:
    assert module_order(library({"F": ["Std", "Formal", "F.A"], "F.A": ["Init.Data.Rat"]}), "F") == ["F.A", "F"]


def test_imports_are_read_in_every_form_and_not_from_comments() -> None:
    source = "module\n/- import A -/\nimport B\npublic import C\npublic meta import D\nimport all E\n-- import G\n"
    assert imports(source) == ["B", "C", "D", "E"]


def test_nested_comments_and_strings_are_blanked_and_lines_stay() -> None:
    source = 'a /- b /- c -/ d\ne -/ f "sorry -- \\" /-" g -- h\ni'
    assert without_comments(source) == 'a \n f "" g \ni'


def test_theorems_are_counted_with_their_namespaces() -> None:
    source = """
namespace Formal
theorem a : True := trivial
@[simp] theorem b.c : True := trivial
/-- theorem not_me -/
private theorem d : True := trivial
section
namespace Expo
protected theorem e : True := trivial
end Expo
end
-- theorem nor_me
def f := 1
end Formal
theorem g : True := trivial
"""
    assert theorems(source) == ["Formal.a", "Formal.b.c", "Formal.d", "Formal.Expo.e", "g"]


@pytest.mark.parametrize("word", ["sorry", "axiom", "native_decide", "implemented_by", "extern", "unsafe", "admit"])
def test_words_that_let_the_untrusted_in_are_found_in_code_only(word: str) -> None:
    assert forbidden(f"theorem a :=\n  {word}\n") == [f"2: {word}"]
    assert forbidden(f'-- {word}\n/- {word} -/\ndef a := "{word}"\ndef {word}s := 1\n') == []
