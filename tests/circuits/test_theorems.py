"""Every theorem that the room cites is there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
THEOREMS = set(re.findall(r"^theorem ([\w.']+)", "".join(f.read_text() for f in ROOT.glob("Formal/*.lean")), re.M))


def cited(folder: str) -> set[str]:
    return set(re.findall(r"`Formal\.(\w+)`", "".join(file.read_text() for file in ROOT.glob(f"{folder}/*.py"))))


def test_cited_theorems_are_proved() -> None:
    assert cited("numerics/circuits") | cited("tests/circuits") <= THEOREMS
    assert "no_such_theorem" not in THEOREMS


def test_each_identity_of_the_room_cites_its_theorem() -> None:
    assert {
        "scores_determine_qk", "output_sees_only_ov", "qk_change_of_basis", "ov_change_of_basis",
        "copying_eigenvalue_iff", "copying_trace_powers", "copying_trace", "composition_in_unit_interval",
        "composition_orthonormal_invariant", "composition_scale_invariant", "query_composition_is_score",
        "key_composition_is_score", "virtual_head", "virtual_pattern_is_pattern", "virtual_pattern_causal",
        "path_expansion", "head_output_at_query",
    } <= cited("numerics/circuits")  # fmt: skip
