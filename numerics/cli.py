"""The command `numerics`: arguments, progress bars and messages. No mathematics."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from numerics.errors import InvalidArgument, NumericsError

if TYPE_CHECKING:
    import xarray as xr

app = typer.Typer(
    help="Labelled tables and pictures of the attention heads of real language models.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

DEFAULT_MODEL = "gemma-3-270m"
MODEL_HELP = "A packaged name (gemma-3-270m, minilm), a local folder, a .gguf file or a Hugging Face id."
SPACED = "16 spaced"
DISTANCES_HELP = (
    "Distances query − key, such as 0,1,2 or 0:128:16 (START:STOP:STEP, STOP included). Rotary models only."
)

Form = Annotated[str, typer.Option(help="raw, or folded: with the norm before attention.", metavar="raw|folded")]
Revision = Annotated[str | None, typer.Option(help="Branch, tag or commit of a Hugging Face id.")]


def main() -> None:
    """Entry point: an unusable input is one line on stderr and exit status 2."""
    try:
        app()
    except NumericsError as error:
        print(f"numerics: {error}", file=sys.stderr)
        raise SystemExit(2) from None


@app.callback(invoke_without_command=True)
def common(
    version: Annotated[bool, typer.Option("--version", help="Print the version.", is_eager=True)] = False,
) -> None:
    if version:
        from numerics import __version__

        print(__version__)
        raise typer.Exit


@app.command()
def profile(
    model: Annotated[str, typer.Argument(help=MODEL_HELP)],
    out: Annotated[Path, typer.Option(help="Table to write: .nc, .csv or .parquet.")],
    form: Form = "raw",
    distances: Annotated[str, typer.Option(help=DISTANCES_HELP)] = "0",
    revision: Revision = None,
) -> None:
    """Profile of the bilinear form of every head, as a table."""
    from numerics import results

    deltas = whole_numbers(distances)
    results.check_writable(out)
    dataset = _profile(model, revision, form, deltas)
    results.save(dataset, out)
    print(out)


@app.command()
def kernels(
    model: Annotated[str, typer.Argument(help=MODEL_HELP)],
    out: Annotated[Path, typer.Option(help="Table to write: .nc, .csv or .parquet.")],
    text: Annotated[
        list[Path] | None, typer.Option(help="UTF-8 text file; may be given several times. Default: a shipped sample.")
    ] = None,
    dataset: Annotated[str | None, typer.Option(help="Hugging Face dataset id, instead of text files.")] = None,
    samples: Annotated[int, typer.Option(help="Chunks of text that the means are taken over.")] = 500,
    length: Annotated[int, typer.Option(help="Tokens per chunk.")] = 256,
    skip: Annotated[int, typer.Option(help="First positions left out of every kernel.")] = 5,
    query_texts: Annotated[int, typer.Option(help="Further chunks that the queries are taken from.")] = 20,
    queries: Annotated[str, typer.Option(help="Query positions, such as 31,63 or 15:255:16.")] = SPACED,
    revision: Revision = None,
) -> None:
    """Positional kernels, effective token counts and softmax denominators of every head, as a table."""
    from numerics import results
    from numerics.models import load_model
    from numerics.positional import positional_kernels

    places = None if queries == SPACED else whole_numbers(queries)
    results.check_writable(out)
    with _said(f"opening {model}"):
        opened = load_model(model, dtype="float32", revision=revision)  # half precision would blur the kernels
    with _progress(f"kernels of {opened.name}", "text") as progress:
        found = positional_kernels(opened, text, dataset, samples, length, skip, query_texts, places, progress)
    results.save(found, out)
    print(out)


@app.command()
def report(
    models: Annotated[
        list[str] | None, typer.Argument(help=MODEL_HELP + " Or a .nc file of another command.", metavar="[MODEL]...")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of the site.")] = Path("report"),
    form: Form = "raw",
    distances: Annotated[
        str | None, typer.Option(help=DISTANCES_HELP, show_default="fifteen from 0 to 128 on rotary models, else 0")
    ] = None,
    revision: Revision = None,
) -> None:
    """Pictures and tables of models as a static site; open its index.html."""
    from numerics import results
    from numerics.report import check_place, write

    deltas = None if distances is None else whole_numbers(distances)
    check_place(out)
    datasets = [
        results.load(model) if model.endswith(".nc") else _profile(model, revision, form, deltas)
        for model in models or [DEFAULT_MODEL]
    ]
    print(write(datasets, out))


@app.command()
def models() -> None:
    """Table of the architectures that can be read."""
    from numerics.models.support import support_table

    print(support_table())


def _profile(reference: str, revision: str | None, form: str, distances: tuple[int, ...] | None) -> xr.Dataset:
    """Profile one model with a progress bar; without `distances`, the report's own on rotary models."""
    from numerics.forms import profile
    from numerics.models import load_model
    from numerics.report import DEFAULT_DISTANCES

    if form not in ("raw", "folded"):
        raise InvalidArgument(f"form {form!r} is not known", "use raw or folded")
    with _said(f"opening {reference}"):
        model = load_model(reference, revision=revision)
    if distances is None:
        distances = DEFAULT_DISTANCES if "rotary" in model.positions.scheme else (0,)
    with _progress(f"profiles of {model.name}", "layer") as progress:
        return profile(model, "folded" if form == "folded" else "raw", distances, progress)


def whole_numbers(text: str) -> tuple[int, ...]:
    """`0,1,4:12:4` → (0, 1, 4, 8, 12): lists with commas, ranges START:STOP:STEP with STOP included."""
    numbers: list[int] = []
    for part in text.split(","):
        try:
            bounds = [int(number) for number in part.split(":")]
        except ValueError:
            bounds = []
        if len(bounds) == 1:
            numbers += bounds
        elif len(bounds) in (2, 3) and bounds[1] >= bounds[0] and (len(bounds) == 2 or bounds[2] > 0):
            start, stop, step = (*bounds, 1)[:3]
            numbers += range(start, stop + 1, step)
        else:
            raise InvalidArgument(
                f"{part!r} is neither a whole number nor a range", "write numbers like 0,1,2 or a range like 0:128:16"
            )
    return tuple(dict.fromkeys(numbers))


@contextmanager
def _said(what: str) -> Iterator[None]:
    """Say on a terminal what is being waited for."""
    if sys.stderr.isatty():
        print(f"{what} …", file=sys.stderr)
    yield


@contextmanager
def _progress(what: str, unit: str) -> Iterator[Callable[[int, int], None]]:
    """A progress bar on stderr, on a terminal only; the block calls it with (done, in all)."""
    from tqdm import tqdm

    with tqdm(desc=what, unit=unit, disable=None, leave=False) as bar:

        def advance(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield advance
