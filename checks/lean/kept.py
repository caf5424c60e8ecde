"""The compiled modules of a library, kept in the user's cache under the hash of what they were made from.

What builds on the library takes them from here, so that one run of all checks compiles it once. `checks lean` itself
never reads them: it builds and audits afresh, and keeps what it built only if it had nothing to complain of.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from platformdirs import user_cache_path

from checks.lean.build import Lean
from checks.lean.node import LeanOnNode


def identity(lean: Lean, root: Path) -> str:
    """Which Lean it is: compiled modules can be read by the same one only."""
    if isinstance(lean, LeanOnNode):
        return lean.folder.name
    return subprocess.run(lean.command("--version"), cwd=root, capture_output=True, text=True, check=True).stdout


def place(sources: Mapping[str, str], library: str, lean_identity: str) -> Path:
    """Folder of the compiled modules of these sources by this Lean, whether it is there or not."""
    made_from = repr((lean_identity, sorted(sources.items())))
    key = hashlib.sha256(made_from.encode()).hexdigest()[:16]
    return user_cache_path("numerics") / "lean" / f"built-{library}-{key}"


def keep(build: Path, library: str, at: Path) -> None:
    """Put a copy of the library's compiled modules in place, whole or not at all; older ones are thrown away."""
    if at.exists():
        return
    at.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=at.parent) as fresh:
        whole = Path(fresh) / "build"
        shutil.copytree(build / library, whole / library)
        for file in build.glob(f"{library}.*"):
            shutil.copy(file, whole)
        for older in at.parent.glob(f"built-{library}-*"):
            shutil.rmtree(older, ignore_errors=True)
        try:
            os.replace(whole, at)
        except OSError:
            if not at.exists():
                raise
