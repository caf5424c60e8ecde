"""Every headline theorem and every public formula is accounted for, and the account notices what is missing."""

from __future__ import annotations

from dataclasses import replace

from checks.ledger.coverage import formulas, gaps, headline_theorems, stated_theorems
from checks.ledger.entries import ENTRIES, TABLES
from checks.ledger.reasons import EXPLAINED, REASONS

EVERY = [*ENTRIES, *TABLES]


def test_nothing_is_missing() -> None:
    assert gaps(EVERY, EXPLAINED, REASONS, stated_theorems(), headline_theorems(), formulas()) == []


def test_headlines_are_theorems_of_the_sources() -> None:
    assert set(headline_theorems()) <= stated_theorems()
    assert "Expo.softmax_kernel" in stated_theorems()


def test_what_is_missing_or_made_up_is_named() -> None:
    stated, headlines, public = stated_theorems(), headline_theorems(), formulas()
    unknown = replace(ENTRIES[0], theorems=("frob_spilt",))
    found = gaps([*EVERY, unknown], EXPLAINED, REASONS, stated, headlines, public)
    assert found == ["theorem frob_spilt is not in Formal/"]
    without = [entry for entry in EVERY if "profile_simplex" not in entry.theorems]
    found = gaps(without, EXPLAINED, REASONS, stated, headlines, public)
    assert "theorem profile_simplex is neither measured nor explained" in found
    more = [*public, "forms.coordinates.brand_new"]
    found = gaps(EVERY, EXPLAINED, REASONS, stated, headlines, more)
    assert found == ["formula forms.coordinates.brand_new has no entry and no reason"]
    gone = {**REASONS, "positional.moments.gone": "it was here"}
    found = gaps(EVERY, EXPLAINED, gone, stated, headlines, public)
    assert found == ["reason for positional.moments.gone, which does not exist"]
    twice = {**EXPLAINED, "profile_simplex": "obvious"}
    found = gaps(EVERY, twice, REASONS, stated, headlines, public)
    assert found == ["theorem profile_simplex is measured and explained away"]


def test_walks_count_where_they_are_exported_and_private_functions_never() -> None:
    public = formulas()
    assert "forms.coordinates.split_signs" in public
    assert "head_circuits" in public
    assert not [name for name in public if ".measure." in name or name.rpartition(".")[2].startswith("_")]
