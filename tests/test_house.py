"""The house: an import only ever points down, and rooms of one floor do not import each other."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "numerics"

FLOORS = [
    {"errors"},
    {"results"},
    {"models", "text"},
    {"forms", "positional", "bands", "circuits"},
    {"survey", "testing"},
    {"report"},
    {"cli"},
]
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
# Who opens the door: the package itself and its command import lazily from everywhere.
DOORS = {"__init__", "__main__"}
MODULES = sorted(PACKAGE.rglob("*.py"))


def room_of(module: Path) -> str:
    return module.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_rooms(module: Path) -> Iterator[str]:
    """First name below `numerics` of every import of a module, those inside functions too."""
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "numerics":
            parts = node.module.split(".")
            yield from parts[1:2] if len(parts) > 1 else [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            yield from (
                parts[1] for a in node.names if (parts := a.name.split("."))[0] == "numerics" and len(parts) > 1
            )


def allowed(room: str, imported: str) -> bool:
    return imported in (room, "__version__") or FLOOR[imported] < FLOOR[room]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: str(module.relative_to(PACKAGE)))
def test_imports_point_down(module: Path) -> None:
    room = room_of(module)
    if room in DOORS:
        return
    assert room in FLOOR, f"{room} has no floor"
    upwards = [imported for imported in imported_rooms(module) if not allowed(room, imported)]
    assert upwards == []


def test_the_check_sees_an_import_that_points_up_or_sideways() -> None:
    assert not allowed("models", "forms")
    assert not allowed("forms", "positional")
    assert not allowed("forms", "report")
    assert allowed("report", "forms")
    assert allowed("forms", "models")


def test_only_the_walks_know_a_model() -> None:
    """In the rooms of formulas, a model is walked in `measure.py` alone."""
    for room in FLOORS[3]:
        for module in (PACKAGE / room).glob("**/*.py"):
            tree = ast.parse(module.read_text(encoding="utf-8"))
            imports = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
            names = {alias.name for node in imports for alias in node.names}
            assert "Model" not in names or module.name == "measure.py", module
