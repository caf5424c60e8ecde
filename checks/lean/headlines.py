"""The headline theorems: the names that `Formal/README.md` puts in its map."""

from __future__ import annotations

import re
from pathlib import Path

ROW = re.compile(r"^\|[^|]*\|\s*`(\w+)\.lean`\s*\|(.*)\|\s*$", re.MULTILINE)


def headlines(readme: Path) -> dict[str, list[str]]:
    """File (without `.lean`) → the theorem names its row of the map shows."""
    return {file: re.findall(r"`([^`]+)`", cell) for file, cell in ROW.findall(readme.read_text(encoding="utf-8"))}
