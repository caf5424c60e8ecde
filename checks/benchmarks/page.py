"""The benchmark page: ratios against their goals, times and memory, growth with length. Opens from disk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import Any

TEMPLATE = Path(__file__).with_name("page.html")


def duration(seconds: float) -> str:
    """With a unit that leaves one to three digits before the point."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def size(count: float | None) -> str:
    if count is None:
        return "–"
    for unit, step in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= step:
            return f"{count / step:.3g} {unit}"
    return f"{count:.0f} B"


def tokens(length: int | None) -> str:
    return "–" if length is None else f"{length:,}".replace(",", "\u202f")


def page(result: Mapping[str, Any]) -> str:
    machine, versions = result["machine"], result["versions"]
    facts = [f"{machine['cpu']}, {machine['cores']} cores", f"Python {machine['python']}"]
    facts += [f"{name} {number}" for name, number in versions.items()]
    return Template(TEMPLATE.read_text(encoding="utf-8")).substitute(
        facts=escape(", ".join(facts)),
        commit=escape(machine["commit"][:12]),
        goals="\n".join(goal_row(goal) for goal in result["goals"]),
        rows="\n".join(time_rows(result["rows"])),
        exponents="\n".join(
            f'<tr><th scope="row">{escape(row["op"])}</th><td>{escape(row["path"])}</td>'
            f'<td class="number">{row["exponent"]:.2f}</td></tr>'
            for row in result["exponents"]
        ),
    )


def goal_row(goal: Mapping[str, Any]) -> str:
    mark, word = ("✓", "met") if goal["met"] else ("✗", "missed")
    what = "time" if goal["of"] == "p50" else "memory"
    return (
        f'<tr class="{word}"><th scope="row">{escape(goal["op"])}</th><td class="number">{tokens(goal["T"])}</td>'
        f"<td>{escape(goal['slow'])} ∕ {escape(goal['fast'])}, {what}</td>"
        f'<td class="number">{goal["ratio"]:.3g}</td><td class="number">{goal["goal"]:.3g}</td>'
        f'<td><span aria-hidden="true">{mark}</span> {word}</td></tr>'
    )


def time_rows(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """One line per path; the operation is named once, and bars show p50 within an operation and length."""
    lines, previous = [], None
    for row in rows:
        group = (row["op"], row["T"], row["bands"])
        longest = max(r["p50"] for r in rows if (r["op"], r["T"], r["bands"]) == group)
        name = escape(row["op"]) if group != previous else ""
        lines.append(
            f'<tr{" class=first" if group != previous else ""}><th scope="row">{name}</th>'
            f'<td class="number">{tokens(row["T"]) if group != previous else ""}</td><td>{escape(row["path"])}</td>'
            f'<td class="bar"><i style="width:{100 * row["p50"] / longest:.1f}%"></i></td>'
            f'<td class="number">{duration(row["p50"])}</td>'
            f'<td class="number">{duration(row["p20"])} – {duration(row["p80"])}</td>'
            f'<td class="number">{size(row["bytes"])}</td></tr>'
        )
        previous = group
    return lines
