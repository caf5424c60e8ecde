"""The command `numerics`: arguments, progress bars and messages. No mathematics."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from numerics.errors import InvalidArgument, NumericsError

if TYPE_CHECKING:
    import xarray as xr

    from numerics.models import Model

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
Out = Annotated[Path, typer.Option(help="Table to write: .nc, .csv or .parquet.")]
Text = Annotated[
    list[Path] | None, typer.Option(help="UTF-8 text file; may be given several times. Default: a shipped sample.")
]
Dataset = Annotated[str | None, typer.Option(help="Hugging Face dataset id, instead of text files.")]
Tokens = Annotated[
    int | None, typer.Option(help="Tokens read of each text, in documents of --length.", show_default="two documents")
]
DocumentLength = Annotated[
    int, typer.Option("--length", help="Tokens per document: longer ones are clipped, shorter ones passed over.")
]
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
    out: Out,
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
    out: Out,
    text: Text = None,
    dataset: Dataset = None,
    samples: Annotated[int, typer.Option(help="Chunks of text that the means are taken over.")] = 500,
    length: Annotated[int, typer.Option(help="Tokens per chunk.")] = 256,
    skip: Annotated[int, typer.Option(help="First positions left out of every kernel.")] = 5,
    query_texts: Annotated[int, typer.Option(help="Further chunks that the queries are taken from.")] = 20,
    queries: Annotated[str, typer.Option(help="Query positions, such as 31,63 or 15:255:16.")] = SPACED,
    revision: Revision = None,
) -> None:
    """Positional kernels, effective token counts and softmax denominators of every head, as a table."""
    from numerics import results
    from numerics.positional import positional_kernels

    places = None if queries == SPACED else whole_numbers(queries)
    results.check_writable(out)
    opened = _opened(model, revision)
    with _progress(f"kernels of {opened.name}", "text") as progress:
        found = positional_kernels(opened, text, dataset, samples, length, skip, query_texts, places, progress)
    results.save(found, out)
    print(out)


@app.command()
def bands(
    model: Annotated[str, typer.Argument(help=MODEL_HELP)],
    out: Out,
    text: Text = None,
    dataset: Dataset = None,
    tokens: Tokens = None,
    length: DocumentLength = 2048,
    metrics: Annotated[
        str, typer.Option(help="What is measured: some of activation,entropy,fisher.")
    ] = "activation,entropy",
    revision: Revision = None,
) -> None:
    """Activation, entropy attribution and Fisher information of every rotary band of every head, as a table."""
    from numerics import results
    from numerics.bands import band_metrics

    results.check_writable(out)
    opened = _opened(model, revision)
    with _progress(f"bands of {opened.name}", "text") as progress:
        found = band_metrics(opened, text, dataset, tokens, length, metrics.split(","), progress)
    results.save(found, out)
    print(out)


@app.command()
def attribute(
    model: Annotated[str, typer.Argument(help=MODEL_HELP)],
    text: Annotated[str, typer.Option(help="The text itself.")],
    layer: Annotated[int, typer.Option(help="Layer of the head, from 0.")],
    head: Annotated[int, typer.Option(help="The head, from 0.")],
    query: Annotated[int, typer.Option(help="Position of the query token; negative ones count from the end.")] = -1,
    out: Annotated[
        Path | None,
        typer.Option(help="Table to write: .nc, .csv or .parquet.", show_default="without --page CSV on stdout"),
    ] = None,
    page: Annotated[Path | None, typer.Option(help="Folder of a site to write with a picture of it.")] = None,
    revision: Revision = None,
) -> None:
    """What each rotary band contributes to the attention that one token of a text gives to each earlier one."""
    from numerics import results
    from numerics.bands import attribute as attribute_pairs

    if out is not None:
        results.check_writable(out)
    if page is not None:
        from numerics.report import check_place, write

        check_place(page)
    found = attribute_pairs(_opened(model, revision), text, layer, head, query)
    if out is not None:
        results.save(found, out)
        print(out)
    if page is not None:
        print(write([found], page))
    if out is None and page is None:
        results.to_table(found).to_csv(sys.stdout, index=False, lineterminator="\n")


@app.command()
def ablate(
    model: Annotated[str, typer.Argument(help=MODEL_HELP)],
    rank_text: Annotated[
        list[Path], typer.Option(help="UTF-8 text file that the bands are ranked on; may be given several times.")
    ],
    text: Annotated[
        list[Path],
        typer.Option(help="Another UTF-8 text file, that the loss is measured on; may be given several times."),
    ],
    out: Out,
    metrics: Annotated[
        str, typer.Option(help="What the bands are ranked by.")
    ] = "activation,entropy,entropy-signed,fisher,random",
    fractions: Annotated[
        str, typer.Option(help="Shares of the bands removed, such as 0.1,0.4 or 0:0.9:0.1 (0.9 included).")
    ] = "0:0.9:0.1",
    select: Annotated[
        str,
        typer.Option(
            help="Lowest bands of the whole model, of each head, or both: global,head.", metavar="global|head"
        ),
    ] = "global",
    seeds: Annotated[int, typer.Option(help="Rankings at random.")] = 3,
    tokens: Tokens = None,
    length: DocumentLength = 2048,
    revision: Revision = None,
) -> None:
    """Loss of the model on one text once its least important bands on another are removed, as a table.

    Interrupted, the same command goes on where it stopped: OUT.unfinished beside the table holds what is done.
    """
    from numerics import results
    from numerics.bands import ablate as ablate_bands

    shares = decimal_numbers(fractions)
    results.check_writable(out)
    unfinished = out.with_name(f"{out.name}.unfinished")
    opened = _opened(model, revision)
    with _progress(f"ablations of {opened.name}", "step") as progress:
        found = ablate_bands(
            opened, rank_text, text, metrics.split(","), shares, select.split(","), seeds, tokens, length, unfinished,
            progress,
        )  # fmt: skip
    results.save(found, out)
    unfinished.unlink(missing_ok=True)
    print(out)


@app.command()
def circuits(
    model: Annotated[str, typer.Argument(help=MODEL_HELP)],
    out: Out,
    period: Annotated[int, typer.Option(help="Random tokens that are repeated.")] = 64,
    copies: Annotated[int, typer.Option(help="How often they stand in a text.")] = 2,
    seeds: Annotated[int, typer.Option(help="Texts, each of its own tokens.")] = 4,
    pairs: Annotated[
        str | None, typer.Option(help="Heads whose token pairs and virtual heads are wanted, such as 5.1,11.2.")
    ] = None,
    text: Text = None,
    dataset: Dataset = None,
    whole_vocabulary: Annotated[
        bool,
        typer.Option("--whole-vocabulary", help="All tokens in pairs and in direct copying, not some."),
    ] = False,
    form: Annotated[
        str, typer.Option(help="folded: with the norms before attention and logits; or raw.", metavar="folded|raw")
    ] = "folded",
    texts: Annotated[int, typer.Option(help="Chunks of text for the in-context-learning score; 0 for none.")] = 16,
    revision: Revision = None,
) -> None:
    """Behaviours, copying and composition of every head, as a table."""
    from numerics import results
    from numerics.circuits import head_circuits

    if form not in ("raw", "folded"):
        raise InvalidArgument(f"form {form!r} is not known", "use raw or folded")
    results.check_writable(out)
    opened = _opened(model, revision)
    with _progress(f"circuits of {opened.name}", "step") as progress:
        found = head_circuits(
            opened,
            period,
            copies,
            seeds,
            pairs,
            text,
            dataset,
            whole_vocabulary,
            "raw" if form == "raw" else "folded",
            texts,
            progress,
        )
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


def _opened(reference: str, revision: str | None) -> Model:
    """A model that is to be run: in float32, as half precision would blur what is measured."""
    from numerics.models import load_model

    with _said(f"opening {reference}"):
        return load_model(reference, dtype="float32", revision=revision)


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
    return tuple(int(number) for number in _numbers(text, int, "whole number", "0,1,2 or a range like 0:128:16"))


def decimal_numbers(text: str) -> tuple[float, ...]:
    """`0:0.9:0.1` → (0.0, 0.1, …, 0.9): as `whole_numbers`, counted in decimals, so that 0.3 is 0.3."""
    return tuple(float(number) for number in _numbers(text, Decimal, "number", "0.1,0.4 or a range like 0:0.9:0.1"))


def _numbers(text: str, parse: Callable[[str], int | Decimal], kind: str, example: str) -> tuple[Decimal, ...]:
    numbers: list[Decimal] = []
    for part in text.split(","):
        try:
            bounds = [Decimal(parse(number)) for number in part.split(":")]
        except (ValueError, InvalidOperation):
            bounds = []
        if len(bounds) == 1:
            bounds *= 2
        start, stop, step = (*bounds, Decimal(1))[:3] if len(bounds) in (2, 3) else (Decimal("nan"),) * 3
        if not all(number.is_finite() for number in (start, stop, step)) or stop < start or step <= 0:
            raise InvalidArgument(f"{part!r} is neither a {kind} nor a range", f"write numbers like {example}")
        numbers += [start + count * step for count in range(int((stop - start) // step) + 1)]
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
