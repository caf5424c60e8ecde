"""The benchmark page: ratios against their goals, times and memory, growth with length. Opens from disk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from checks.benchmarks.growth import charts
from checks.benchmarks.units import duration, size, tokens

TEMPLATE = Path(__file__).with_name("page.html")


def page(result: Mapping[str, Any]) -> str:
    machine, versions = result["machine"], result["versions"]
    facts = [f"{machine['cpu']}, {machine['cores']} cores", machine["system"], f"Python {machine['python']}"]
    facts += [f"{name} {number}" for name, number in versions.items()]
    return Template(TEMPLATE.read_text(encoding="utf-8")).substitute(
        facts=escape(", ".join(facts)),
        commit=escape(machine["commit"]),
        gpu=gpu_line(result.get("gpu")),
        goals="\n".join(goal_row(goal) for goal in result["goals"]),
        rows="\n".join(time_rows(result["rows"])),
        charts=charts(result["rows"]),
        exponents="\n".join(
            f'<tr><th scope="row">{escape(row["op"])}</th><td>{escape(row["path"])}</td>'
            f'<td class="number">{row["exponent"]:.2f}</td></tr>'
            for row in result["exponents"]
        ),
    )


def gpu_line(gpu: Mapping[str, Any] | None) -> str:
    """What the tiles reach of the GPU's float32 peak; empty without one."""
    if gpu is None:
        return ""
    shares = "; ".join(f"{tokens(int(T))} tokens: {100 * share:.0f} %" for T, share in gpu["share_of_peak"].items())
    reached = f" Share of its float32 peak that the tiles reach: {shares}." if shares else ""
    return f"<p>GPU: {escape(gpu['name'])}.{reached}</p>"


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
