"""What the Lean sources say of themselves: modules, imports, theorems, forbidden words. Pure functions on text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from checks.lean.failure import LeanFailure

IMPORT = re.compile(r"^(?:public\s+)?(?:meta\s+)?import\s+(?:all\s+)?(\S+)", re.MULTILINE)
THEOREM = re.compile(
    r"^(?:@\[[^\]]*\]\s*)*(?:(?:private|protected|public|noncomputable)\s+)*(?:theorem|lemma)\s+(\S+)", re.MULTILINE
)
FORBIDDEN = re.compile(
    r"\b(sorry|admit|axiom|native_decide|implemented_by|extern|unsafe|csimp|debug\.skipKernelTC|reduceBool|trustCompiler)\b"
)


def without_comments(source: str) -> str:
    """The text with comments (nested ones too) and string literals blanked; line numbers stay."""
    kept: list[str] = []
    depth = at = 0
    while at < len(source):
        pair = source[at : at + 2]
        if pair == "/-" or (depth and pair == "-/"):
            depth += 1 if pair == "/-" else -1
            at += 2
        elif depth:
            kept.append("\n" if source[at] == "\n" else "")
            at += 1
        elif pair == "--":
            end = source.find("\n", at)
            at = len(source) if end < 0 else end
        elif source[at] == '"':
            at += 1
            while at < len(source) and source[at] != '"':
                at += 2 if source[at] == "\\" else 1
            kept.append('""')
            at += 1
        else:
            kept.append(source[at])
            at += 1
    return "".join(kept)


def imports(source: str) -> list[str]:
    """Names of the modules a source imports, in order."""
    return IMPORT.findall(without_comments(source))


def theorems(source: str) -> list[str]:
    """Names of the theorems written in a source, with their namespaces."""
    names: list[str] = []
    inside: list[str] = []
    word = re.compile(r"^(?:(?:noncomputable\s+)?(namespace|section|end)\b[ \t]*(\S*)|.*)$")
    for line in without_comments(source).splitlines():
        opened = word.match(line.removeprefix("@[expose] ").removeprefix("public "))
        if opened and opened[1] in ("namespace", "section"):
            inside.append(opened[2] if opened[1] == "namespace" else "")
        elif opened and opened[1] == "end" and inside:
            inside.pop()
        found = THEOREM.match(line)
        if found:
            names.append(".".join([part for part in inside if part] + [found[1]]))
    return names


def forbidden(source: str) -> list[str]:
    """`line: word` for every word that would let something untrusted in, outside comments and strings."""
    lines = without_comments(source).splitlines()
    return [f"{number}: {word}" for number, line in enumerate(lines, 1) for word in FORBIDDEN.findall(line)]


def read_sources(folder: Path, root: str) -> dict[str, str]:
    """Text of `root.lean` and of every file under `root/`, by module name."""
    files = [folder / f"{root}.lean", *sorted((folder / root).glob("**/*.lean"))]
    return {
        ".".join(file.relative_to(folder).with_suffix("").parts): file.read_text(encoding="utf-8") for file in files
    }


def module_order(sources: Mapping[str, str], root: str) -> list[str]:
    """The modules so that each comes after those it imports, the root last.

    Raises `LeanFailure` for a module the root does not reach, an import of the library that does not exist, a cycle.
    """
    order: list[str] = []
    open_: list[str] = []

    def visit(name: str, importer: str) -> None:
        if name in order:
            return
        if name in open_:
            raise LeanFailure(f"import cycle: {' → '.join([*open_[open_.index(name) :], name])}")
        if name not in sources:
            raise LeanFailure(f"{importer} imports {name}, which does not exist")
        open_.append(name)
        for imported in imports(sources[name]):
            if imported == root or imported.startswith(f"{root}."):
                visit(imported, name)
        open_.pop()
        order.append(name)

    visit(root, "the library")
    unreached = sorted(set(sources) - set(order))
    if unreached:
        raise LeanFailure(f"not reachable from {root}.lean: {', '.join(unreached)}")
    return order
