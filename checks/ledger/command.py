"""`python -m checks ledger`: every theorem against the numbers of real models."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from checks.ledger import tables
from checks.ledger.coverage import formulas, gaps, headline_theorems, stated_theorems
from checks.ledger.entries import ENTRIES, TABLES
from checks.ledger.reasons import EXPLAINED, REASONS
from checks.ledger.report import Ledger, write
from checks.ledger.walk import Measured, measure
from checks.output import folder
from numerics.errors import InvalidArgument

DEFAULT_MODELS = ("gemma-3-270m", "minilm")
UNBUILT = "nobody yet: run `python -m checks lean --json F` and pass `--lean F`"


def lean_words(report: Path | None) -> str:
    """Which Lean checked the theorems, from the report of `python -m checks lean --json`."""
    if report is None:
        return UNBUILT
    try:
        found = json.loads(report.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidArgument(f"{report} is no report of Lean ({error})", "write one: checks lean --json F") from None
    version = str(found["lean_version"]).split(",")[0]
    return (
        f"Lean {version} ({found['backend']}), {found['theorems']} theorems, {found['own_axioms']} axioms of their own"
    )


def run(
    models: Sequence[str],
    text: Sequence[Path] | None,
    out: Path,
    lean: Path | None = None,
    datasets: Path | None = None,
) -> int:
    """0 if everything is accounted for and within its tolerance, else 1.

    Tables of the models among `datasets` are measured as they were saved; without any, nothing is said of tables.
    """
    from tqdm import tqdm

    from numerics.models import load_model

    checked_by, headlines = lean_words(lean), headline_theorems()
    saved = [] if datasets is None else tables.read(datasets)
    folder(out)
    missing = gaps([*ENTRIES, *TABLES], EXPLAINED, REASONS, stated_theorems(), headlines, formulas())
    measured: dict[str, list[Measured]] = {}
    attrs: dict[str, dict[str, str]] = {}
    made: dict[str, list[str]] = {}
    for reference in models:
        model = load_model(reference, dtype="float64")
        with tqdm(desc=f"ledger of {model.name}", unit="layer", disable=None, leave=False) as bar:

            def advance(done: int, total: int, bar: tqdm = bar) -> None:
                bar.total = total
                bar.update(done - bar.n)

            measured[model.name] = measure(model, ENTRIES, text, advance)
        measured[model.name] += tables.measure(saved, TABLES, model.sha256)
        attrs[model.name] = model.provenance("python -m checks ledger")
        made[model.name] = tables.created_by(saved, model.sha256)
    ledger = Ledger(checked_by, attrs, measured, headlines, EXPLAINED, REASONS, made)
    write(ledger, out)
    expected = [entry.claim for entry in ENTRIES] + [entry.claim for entry in TABLES if datasets is not None]
    if tuple(models) != DEFAULT_MODELS:
        expected = []
    silent = [f"applies to none of {', '.join(measured)}: {claim}" for claim in ledger.silent if claim in expected]
    complaints = missing + ledger.failures + silent
    for line in complaints:
        print(line)
    statements = len(ENTRIES) + len(TABLES)
    print(f"{statements} statements on {', '.join(measured)}, {len(complaints)} complaints: {out / 'ledger.html'}")
    return 1 if complaints else 0
