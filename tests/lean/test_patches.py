"""The patches of Lean's glue: each matches once or is refused."""

from __future__ import annotations

import pytest

from checks.lean.failure import LeanFailure
from checks.lean.patches import PATCHES, Patch, patched

GLUE = "head;" + ";".join(patch.old for patch in PATCHES) + ";tail"


def test_every_patch_is_applied_and_nothing_else_changes() -> None:
    assert patched(GLUE) == "head;" + ";".join(patch.new for patch in PATCHES) + ";tail"


@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.why[:20])
def test_a_glue_without_the_text_is_refused(patch: Patch) -> None:
    with pytest.raises(LeanFailure, match="holds 0 times"):
        patched(GLUE.replace(patch.old, "something else"))


@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.why[:20])
def test_a_glue_with_the_text_twice_is_refused(patch: Patch) -> None:
    with pytest.raises(LeanFailure, match="holds 2 times"):
        patched(GLUE + patch.old)
