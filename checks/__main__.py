"""`python -m checks all`: everything that must hold, part by part, with the seconds of each."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from checks.lean.command import lean
from checks.output import refusing

ROOT = Path(__file__).parents[1]
BUILT = ROOT / "build" / "checks"
"""Where `all` puts what its parts write."""
DATASETS = BUILT / "datasets"
"""Where the tests put results of real models, for the ledger to measure."""
ONE_THREAD_EACH = {"OMP_NUM_THREADS": "1"}
"""For tests, two at a time: threads of one would wait for those of the other, some tests twenty times as long."""

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


app.command()(lean)


@app.command()
def certified(
    numbers: Annotated[int, typer.Option(help="Certify at least so many.")] = 240,
    seed: Annotated[int, typer.Option(help="What Hypothesis draws from.")] = 0,
    backend: Annotated[str, typer.Option(help="auto, lake or node.")] = "auto",
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the report as JSON.")] = None,
) -> None:
    """Let Lean's kernel certify numbers that the code gave, and refuse wrong ones; exit with 1 if anything is wrong."""
    from checks.certified.command import run

    with refusing():
        raise typer.Exit(run(numbers, seed, backend, json_file))


@app.command()
def ledger(
    out: Annotated[Path, typer.Option(help="Folder for ledger.json and ledger.html.")],
    models: Annotated[list[str] | None, typer.Argument(metavar="[MODEL]...")] = None,
    text: Annotated[list[Path] | None, typer.Option(help="UTF-8 text file. Default: the shipped sample.")] = None,
    lean: Annotated[Path | None, typer.Option(help="Report of `python -m checks lean --json F`.")] = None,
    datasets: Annotated[
        Path | None, typer.Option(help="Folder of tables of these models, saved by numerics as .nc: measured too.")
    ] = None,
) -> None:
    """Measure every theorem on real models; exit with 1 if a residual, a name or an entry is amiss."""
    from checks.ledger.command import DEFAULT_MODELS, run

    with refusing():
        raise typer.Exit(run(tuple(models or DEFAULT_MODELS), text, out, lean, datasets))


@app.command()
def bench(
    out: Annotated[Path, typer.Option(help="Folder for bench.json and bench.html.")],
    only: Annotated[str | None, typer.Option(help="Operations with commas, such as profiles,activation.")] = None,
) -> None:
    """Time the paths of each operation side by side; exit with 1 if two paths disagree."""
    from checks.benchmarks.command import run

    with refusing():
        raise typer.Exit(run(out, [name for name in (only or "").split(",") if name]))


def parts() -> dict[str, list[str]]:
    """Name of each part and the command that runs it: linter, types, Lean, the tests of each room, the ledger."""
    python = [sys.executable, "-m"]
    pytest = [*python, "pytest", "-q", "-n", "2", "--durations", "5"]
    rooms = sorted(folder for folder in (ROOT / "tests").iterdir() if any(folder.glob("**/test_*.py")))
    alone = sorted((ROOT / "tests").glob("test_*.py"))
    return {
        "lint": [*python, "ruff", "check", "."],
        "format": [*python, "ruff", "format", "--check", "."],
        "types": [*python, "mypy"],
        "theorems": [*python, "checks", "lean", "--json", str(BUILT / "lean.json")],
        "certified numbers": [*python, "checks", "certified", "--json", str(BUILT / "certified.json")],
        **{f"tests of {room.name}": [*pytest, str(room.relative_to(ROOT))] for room in rooms},
        "tests of the whole": [*pytest, *(str(file.relative_to(ROOT)) for file in alone)],
        "ledger": [
            *python, "checks", "ledger", "--out", str(BUILT), "--lean", str(BUILT / "lean.json"),
            "--datasets", str(DATASETS),
        ],
    }  # fmt: skip


@app.command("all")
def run_all(
    only: Annotated[str, typer.Option(help="Run only the parts whose name holds this word.")] = "",
) -> None:
    """Run every part, go on after a failure, and exit with 1 if one failed."""
    if not only:
        shutil.rmtree(DATASETS, ignore_errors=True)  # what the tests saved before
    DATASETS.mkdir(parents=True, exist_ok=True)
    outcome: list[tuple[str, float, bool]] = []
    for name, command in parts().items():
        if only not in name:
            continue
        print(f"== {name}", flush=True)
        started = time.monotonic()
        environment = {**os.environ, **(ONE_THREAD_EACH if "pytest" in command else {})}
        passed = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode == 0
        outcome.append((name, time.monotonic() - started, passed))
    print("\n== seconds per part")
    for name, seconds, passed in outcome:
        print(f"{seconds:8.1f}  {name}{'' if passed else '  FAILED'}")
    print(f"{sum(seconds for _, seconds, _ in outcome):8.1f}  in all")
    if not outcome or not all(passed for _, _, passed in outcome):
        raise typer.Exit(1)


@app.command()
def readme() -> None:
    """Write the generated support table into the README."""
    from numerics.models.support import support_table

    page = ROOT / "README.md"
    start, end = "<!-- support table: generated by `numerics models` -->", "<!-- end of support table -->"
    before, rest = page.read_text(encoding="utf-8").split(start)
    page.write_text(f"{before}{start}\n{support_table()}\n{end}{rest.split(end)[1]}", encoding="utf-8")


@app.command()
def claims(
    record: Annotated[
        Path | None, typer.Option(help="Folder whose ledger.json and bench.json are recorded first, where it has them.")
    ] = None,
) -> None:
    """Write CLAIMS.md and the README's table of speeds from the recorded runs."""
    from checks.claims import RECORDED, write

    RECORDED.mkdir(exist_ok=True)
    for name in ("ledger.json", "bench.json"):
        if record is not None and (record / name).is_file():
            (RECORDED / name).write_text((record / name).read_text(encoding="utf-8"), encoding="utf-8", newline="\n")
    write()


@app.command()
def picture(
    report: Annotated[Path, typer.Argument(help="Folder that `numerics report` wrote.")] = Path("report"),
) -> None:
    """Photograph a report for the README."""
    from checks.chromium import chromium

    with chromium() as browser:
        page = browser.new_page(viewport={"width": 1120, "height": 1210}, device_scale_factor=1.5)
        page.goto((report / "index.html").resolve().as_uri())
        page.wait_for_selector("#tetrahedron .plot canvas")
        page.evaluate("document.querySelector('#tetrahedron-title').scrollIntoView()")
        page.wait_for_timeout(2000)  # until the slowest of software renderers has drawn the scene
        page.screenshot(path=ROOT / "docs" / "report.png")


@app.callback()
def common() -> None:
    """Checks of the project, run from a checkout."""


if __name__ == "__main__":
    app()
