"""The ledger as JSON and as one page that opens from disk."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from checks import output
from checks.ledger.entry import TABLES
from checks.ledger.walk import Measured

PAGE = Path(__file__).with_name("page.html")


@dataclass(frozen=True)
class Ledger:
    """What is written: the measured entries of each model, the theorems and formulas without numbers, and by whom."""

    lean: str
    models: Mapping[str, Mapping[str, str]]
    measured: Mapping[str, Sequence[Measured]]
    files: Mapping[str, str]
    explained: Mapping[str, str]
    reasons: Mapping[str, str]
    tables: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def failures(self) -> list[str]:
        """Entries whose worst number is beyond its tolerance, or that no model could say anything about."""
        found = []
        for row in zip(*self.measured.values(), strict=True):
            for model, measured in zip(self.measured, row, strict=True):
                if measured.holds is False:
                    found.append(f"{model}: {measured.entry.claim}: {number(measured.worst)} at {place(measured)}")
        return found

    @property
    def silent(self) -> list[str]:
        """Claims that no model could say anything about: of tables all, of the rest the proven ones."""
        rows = zip(*self.measured.values(), strict=True)
        spoken = (row for row in rows if row[0].entry.theorems or row[0].entry.section == TABLES)
        return [row[0].entry.claim for row in spoken if all(measured.holds is None for measured in row)]


def tier(reason: str) -> str:
    """Of what has no number of its own: a choice is heuristic, what is not built yet is not yet there."""
    if reason.startswith("not yet"):
        return "not yet"
    return "heuristic" if "(heuristic)" in reason else "explained"


def place(measured: Measured) -> str:
    if measured.layer is None:
        return ""
    return f"layer {measured.layer}" if measured.head is None else f"{measured.layer}.{measured.head}"


def number(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.1e}"


def status(measured: Measured) -> str:
    return {True: "holds", False: "fails", None: "does not apply"}[measured.holds]


def as_json(ledger: Ledger) -> dict[str, Any]:
    rows = []
    for row in zip(*ledger.measured.values(), strict=True):
        entry = row[0].entry
        rows.append(
            {
                "claim": entry.claim,
                "section": entry.section,
                "tier": entry.tier,
                "theorems": list(entry.theorems),
                "functions": [f"numerics.{name}" for name in entry.functions],
                "kind": entry.kind,
                "derivation": entry.derivation,
                "models": {
                    model: {
                        "status": status(measured),
                        "worst": None if np.isnan(measured.worst) else measured.worst,
                        "tolerance": None if np.isnan(measured.tolerance) else measured.tolerance,
                        "typical": float(np.median(measured.typical)) if measured.typical else None,
                        "layer": measured.layer,
                        "head": measured.head,
                        "numbers": measured.numbers,
                        "why_not": sorted(set(measured.unsuited)),
                    }
                    for model, measured in zip(ledger.measured, row, strict=True)
                },
            }
        )
    return {
        "lean": ledger.lean,
        "models": {name: dict(attrs) for name, attrs in ledger.models.items()},
        "tables": {name: list(made) for name, made in ledger.tables.items()},
        "entries": rows,
        "theorems_without_a_number": dict(ledger.explained),
        "formulas_without_an_entry": dict(ledger.reasons),
        "tiers": {name: tier(reason) for name, reason in {**ledger.explained, **ledger.reasons}.items()},
    }


def cell(measured: Measured) -> str:
    """One model's column: the worst number, where, and how much of the tolerance it uses."""
    if measured.holds is None:
        return f'<td class="none">{escape("; ".join(sorted(set(measured.unsuited))) or "nothing to compare")}</td>'
    word = "error" if measured.entry.kind == "equality" else "least slack"
    mark = "✓" if measured.holds else "✗"
    typical = number(float(np.median(measured.typical)))
    return (
        f'<td class="{"holds" if measured.holds else "fails"}"><span aria-hidden="true">{mark}</span> '
        f"<b>{number(measured.worst)}</b> {word} at {escape(place(measured))}"
        f"<small>{'allowed' if measured.entry.kind == 'equality' else 'at least −'}"
        f"{' ' if measured.entry.kind == 'equality' else ''}{number(measured.tolerance)}; median {typical}; "
        f"{measured.numbers} numbers</small></td>"
    )


def rows_of(ledger: Ledger) -> str:
    lines: list[str] = []
    section = ""
    for row in zip(*ledger.measured.values(), strict=True):
        entry = row[0].entry
        if entry.section != section:
            section = entry.section
            name = "Tables as the commands save them" if section == TABLES else f"MATH {section}"
            lines.append(f'<tr class="section"><th scope="rowgroup" colspan="{2 + len(row)}">{escape(name)}</th></tr>')
        theorems = "".join(f"<code>{escape(name)}</code> " for name in entry.theorems)
        functions = "".join(f"<code>{escape(name)}</code> " for name in entry.functions)
        lines.append(
            f'<tr class="{entry.tier}"><th scope="row">{escape(entry.claim)}'
            f"<small>{escape(entry.derivation)}</small></th>"
            f'<td><span class="tier">{entry.tier}</span> {theorems}<small>{functions}</small></td>'
            f"{''.join(cell(measured) for measured in row)}</tr>"
        )
    return "\n".join(lines)


def listed(reasons: Mapping[str, str], files: Mapping[str, str] | None = None) -> str:
    lines = []
    for name, reason in reasons.items():
        file = f" <small>{escape(files.get(name, ''))}</small>" if files else ""
        label = f'<span class="tier">{tier(reason)}</span>'
        lines.append(
            f'<tr><th scope="row"><code>{escape(name)}</code></th><td>{label} {escape(reason)}{file}</td></tr>'
        )
    return "\n".join(lines)


def tables_of(ledger: Ledger, model: str) -> str:
    """The commands whose saved tables were measured."""
    made = ledger.tables.get(model, ())
    return "".join(f"<small>table of <code>{escape(command)}</code></small>" for command in made)


def page(ledger: Ledger) -> str:
    rows = list(zip(*ledger.measured.values(), strict=True))
    proven = {name for row in rows for name in row[0].entry.theorems}
    facts = "".join(
        f"<li><b>{escape(name)}</b>: {escape(attrs['model_type'])}, {escape(attrs['positions'])}, weights "
        f"{escape(attrs['dtype'])}, SHA-256 <code>{escape(attrs['sha256'][:12])}…</code>{tables_of(ledger, name)}</li>"
        for name, attrs in ledger.models.items()
    )
    failures = ledger.failures
    verdict = "every measured residual within its tolerance" if not failures else f"{len(failures)} FAILED"
    return Template(PAGE.read_text(encoding="utf-8")).substitute(
        verdict=escape(verdict),
        lean=escape(ledger.lean),
        facts=facts,
        claims=len(rows),
        theorems=len(proven),
        columns="".join(f'<th scope="col">{escape(name)}</th>' for name in ledger.measured),
        rows=rows_of(ledger),
        explained=listed(ledger.explained, ledger.files),
        reasons=listed(ledger.reasons),
    )


def write(ledger: Ledger, out: Path) -> None:
    """`ledger.json` and `ledger.html` in the folder."""
    output.write(out / "ledger.json", json.dumps(as_json(ledger), ensure_ascii=False, indent=1) + "\n")
    output.write(out / "ledger.html", page(ledger))
