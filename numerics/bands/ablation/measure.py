"""The sweep: rank the bands on one text, take the lowest out of the queries, read another text."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
import xarray as xr
from numpy.typing import NDArray

from numerics.bands.ablation.resume import Unfinished
from numerics.bands.ablation.select import SELECTIONS, lowest
from numerics.bands.importance import MEASURED, METRICS, fit, importance, random_importance
from numerics.bands.likelihood import Unembedding, surprisals
from numerics.bands.measure import LENGTH, BandSums, band_coordinates, document_count, rotary_tables, unembedding_of
from numerics.bands.scaling import scale_bands
from numerics.errors import InvalidArgument
from numerics.text import clipped_documents, text_sha256

if TYPE_CHECKING:
    from numerics.models import Model
    from numerics.models.visitor import AttentionCall

Float = NDArray[np.float64]
Bool = NDArray[np.bool_]
Ints = NDArray[np.int64]
Files = Sequence[str | os.PathLike[str]]

FRACTIONS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


def ablate(
    model: Model,
    rank_text: Files,
    text: Files,
    metrics: Sequence[str] = METRICS,
    fractions: Sequence[float] = FRACTIONS,
    select: Sequence[str] = ("global",),
    seeds: int = 3,
    tokens: int | None = None,
    length: int = LENGTH,
    unfinished: str | os.PathLike[str] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> xr.Dataset:
    """Loss of the model on `text` once its least important bands, ranked on `rank_text`, are zeroed in its queries.

    Files and documents as for `band_metrics`: of each text `tokens` tokens (default: two documents) in documents of
    `length`. `metrics`: `activation`, `entropy`, `entropy-signed` (removes first what opposes the head), `fisher`,
    `random`; `select`: `global`, `head` or both; `seeds` rankings at random. `unfinished` is a file that keeps what is
    done: if the run is interrupted, the same call goes on from there. `progress` gets (steps done, in all).

    Returns `nll(metric, select, fraction, seed)`, nats per token, NaN where a metric has no such seed (all but `random`
    have seed 0 alone); `nll_document(…, document)`, whose mean over documents it is; `increase_standard_error` of that
    mean minus the whole model's (NaN with one document); `importance(metric, layer, head, band)` (NaN for `random`,
    drawn anew from its seeds) with coords `frequency` and `wavelength`; `removed(select, fraction)`, how many bands;
    `r_squared` of the entropy importance on the activation importance over all bands, `r_squared_log` of their
    logarithms where both are positive, `log_dropped`, how many bands are not (all three NaN without both metrics).
    Raises InvalidArgument for a model without rotary positions, unusable arguments, or a text on both sides.
    """
    rotary_tables(model)
    points = _points(metrics, fractions, select, seeds)
    rank_text, text = _separate(rank_text, text)
    count = document_count(tokens, length)
    ranking, reading = (
        clipped_documents(model.vocabulary.tokenizer, length=length, files=files) for files in (rank_text, text)
    )
    documents = [torch.as_tensor(ids) for ids in islice(reading, count)]
    steps = count + 1 + len(points)

    def step(done: int) -> None:
        if progress is not None:
            progress(done, steps)

    attrs = {
        **model.provenance(
            f"numerics ablate {model.source} --metrics {','.join(metrics)} --fractions "
            f"{','.join(str(float(fraction)) for fraction in fractions)} --select {','.join(select)} --seeds {seeds} "
            f"--tokens {count * length} --length {length}"
        ),
        "rank_text": ranking.name,
        "rank_text_sha256": ranking.text_sha256,
        "text": reading.name,
        "text_sha256": reading.text_sha256,
        "compute_dtype": model.compute_dtype,
        "length": length,
    }
    arguments = {
        "metrics": list(metrics),
        "fractions": list(fractions),
        "select": list(select),
        "seeds": seeds,
        "tokens": count * length,
    }
    held = Unfinished(unfinished, arguments | {name: value for name, value in attrs.items() if name != "created_by"})
    unembedding = unembedding_of(model)
    values = _ranked(model, unembedding, metrics, ranking, count, held, step)
    step(count)
    table = _empty(model, metrics, list(dict.fromkeys(point.select for point in points)), fractions, seeds, documents)
    for metric in metrics:
        if metric != "random":
            table["importance"].loc[metric] = importance(metric, values[metric.removesuffix("-signed")])
    plain: list[float] = held.kept("whole model", lambda: _losses(model, unembedding, documents, None))
    for number, point in enumerate(points, count + 1):
        step(number)
        ranks = table["importance"].sel(metric=point.metric).values
        if point.metric == "random":
            ranks = random_importance(_frequencies_of_heads(table), point.seed)
        removed = lowest(ranks, point.fraction, point.select)
        found = plain  # with nothing removed it is the model itself: no visitor, the same bits
        if removed.any():
            found = held.kept(repr(tuple(point)), partial(_losses, model, unembedding, documents, removed))
        table["removed"].loc[point.select, point.fraction] = removed.sum()
        table["nll_document"].loc[tuple(point)] = found
    step(count + 1 + len(points))
    losses, increases = table["nll_document"], table["nll_document"] - plain
    table["nll"] = losses.mean("document", skipna=False)
    table["increase_standard_error"] = xr.full_like(table["nll"], math.nan)
    if len(documents) > 1:
        table["increase_standard_error"] = increases.std("document", ddof=1, skipna=False) / math.sqrt(len(documents))
    for name, value in zip(("r_squared", "r_squared_log", "log_dropped"), _fit(values), strict=True):
        table[name] = ((), value)
    ranked = held.done.get("ranking", {"documents": 0})["documents"]
    table.attrs = {**attrs, "rank_documents": ranked, "documents": len(documents)}
    return table


class _Point(NamedTuple):
    """One point of the sweep."""

    metric: str
    select: str
    fraction: float
    seed: int


def _points(metrics: Sequence[str], fractions: Sequence[float], select: Sequence[str], seeds: int) -> list[_Point]:
    for name, given, known in (("metrics", metrics, METRICS), ("selections", select, SELECTIONS)):
        unknown = [one for one in given if one not in known]
        if unknown or not given:
            raise InvalidArgument(f"{name} {', '.join(unknown) or '(none)'} are not known", f"use {', '.join(known)}")
    wrong = [fraction for fraction in fractions if not 0 <= fraction <= 1]
    if wrong or not fractions:
        raise InvalidArgument(f"fractions {wrong or '(none)'} of the bands cannot be removed", "give some from 0 to 1")
    if seeds < 1:
        raise InvalidArgument(f"{seeds} seeds give no random ranking", "ask for one or more")
    return [
        _Point(metric, how, float(fraction), seed)
        for metric in dict.fromkeys(metrics)
        for how in dict.fromkeys(select)
        for fraction in dict.fromkeys(fractions)
        for seed in range(seeds if metric == "random" else 1)
    ]


def _separate(rank_text: Files, text: Files) -> tuple[list[Path], list[Path]]:
    """Both as lists of files, none of which has the content of one of the other list."""
    ranks, reads = ([Path(file) for file in files] for files in (_listed(rank_text), _listed(text)))
    ranked = {text_sha256([file]): file for file in ranks}
    for file in reads:
        same = ranked.get(text_sha256([file]))
        if same is not None:
            raise InvalidArgument(
                f"{same} ranks the bands and {file} of the same content measures the loss: bands chosen on the text "
                "that they are judged on would look dispensable",
                "give two different texts",
            )
    return ranks, reads


def _listed(files: Files) -> Files:
    return [files] if isinstance(files, str | os.PathLike) else files


def _ranked(
    model: Model,
    unembedding: Unembedding,
    metrics: Sequence[str],
    ranking: Iterator[Ints],
    count: int,
    held: Unfinished,
    step: Callable[[int], None],
) -> dict[str, Float]:
    """What the rankings read, summed over up to `count` documents; those of an interrupted run are not run again."""
    measured = [one for one in MEASURED if one in {metric.removesuffix("-signed") for metric in metrics}]
    if not measured:
        return {}
    sums = BandSums(model, measured, unembedding)
    if "ranking" in held.done:
        sums.restore(held.done["ranking"])
    for ids in islice(ranking, sums.documents, count):
        step(sums.documents)
        sums.add(ids)
        held.keep("ranking", sums.state())
    return sums.values


def _losses(model: Model, unembedding: Unembedding, documents: list[torch.Tensor], removed: Bool | None) -> list[float]:
    """Nats per predicted token of each document, with the `removed` bands (layer, head, band) zeroed in q."""

    def read(ids: torch.Tensor) -> float:
        with torch.no_grad():
            hidden = model.forward(ids[None], logits=False)[0]
            return float(surprisals(unembedding, hidden, ids).mean())

    if removed is None:
        return [read(ids) for ids in documents]
    tables = rotary_tables(model)
    kept = [torch.as_tensor(~removed[layer, :, : table.n_bands]) for layer, table in enumerate(tables)]

    def zeroed(call: AttentionCall) -> tuple[torch.Tensor, torch.Tensor]:
        return scale_bands(call.q, kept[call.layer].to(call.q.dtype), tables[call.layer].pairing), call.k

    with model.attention(zeroed):
        return [read(ids) for ids in documents]


def _empty(
    model: Model,
    metrics: Sequence[str],
    select: Sequence[str],
    fractions: Sequence[float],
    seeds: int,
    documents: list[torch.Tensor],
) -> xr.Dataset:
    """The table before anything is measured: NaN."""
    table = band_coordinates(model).assign_coords(
        metric=list(dict.fromkeys(metrics)),
        select=select,
        fraction=[float(fraction) for fraction in dict.fromkeys(fractions)],
        seed=np.arange(seeds if "random" in metrics else 1),
        document=np.arange(len(documents)),
    )
    for name, dims in (
        ("nll_document", ("metric", "select", "fraction", "seed", "document")),
        ("importance", ("metric", "layer", "head", "band")),
    ):
        table[name] = (dims, np.full([table.sizes[dim] for dim in dims], np.nan))
    table["removed"] = (("select", "fraction"), np.zeros((len(select), table.sizes["fraction"]), dtype=np.int64))
    return table


def _frequencies_of_heads(table: xr.Dataset) -> Float:
    """(layer, head, band), NaN where a layer has no such band."""
    return np.repeat(table["frequency"].values[:, None], table.sizes["head"], axis=1)


def _fit(values: dict[str, Float]) -> tuple[float, float, float]:
    if not {"activation", "entropy"} <= set(values):
        return math.nan, math.nan, math.nan
    return fit(importance("activation", values["activation"]), importance("entropy", values["entropy"]))
