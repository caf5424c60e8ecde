"""Positional kernels of every head of a model: two walks over text, one to estimate, one to query."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from numerics.errors import InvalidArgument
from numerics.positional import embedded, first_layer, spread
from numerics.positional.embedded import Embedded
from numerics.positional.layer import DEVIATIONS, Layer
from numerics.positional.survival import Survival
from numerics.text import chunks, split

if TYPE_CHECKING:
    from numerics.models import Model
    from numerics.models.visitor import AttentionCall

Float = NDArray[np.float64]
Bool = NDArray[np.bool_]
Ints = NDArray[np.int64]

QUERIES = 16
BATCH = 8
SHIFTS = (1, 16, 64)
SHIFTED_TEXTS = 8


def positional_kernels(
    model: Model,
    text: Sequence[str | os.PathLike[str]] | None = None,
    dataset: str | None = None,
    samples: int = 500,
    length: int = 256,
    skip: int = 5,
    query_texts: int = 20,
    queries: Sequence[int] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> xr.Dataset:
    """Positional kernels, effective token counts and softmax denominators of every head.

    `text`: files (default: the shipped sample), or a Hugging Face `dataset`; `samples` chunks of `length` tokens give
    the means, the next `query_texts` chunks the queries; the first `skip` positions are left out of every kernel;
    `queries` are positions (default 16, evenly spaced up to the last). `progress` gets (texts done, texts in all).

    Returns the row `kernels` of the contract; `kernel_kind` is an attr. What it names there and how it is found:
    `denominator(layer, head, query, text)` is Z of every query text; `exceedance(layer, head, deviation)` the share of
    texts and queries with `|Z − E Z|` at least so many predicted standard deviations, beside the bounds `chebyshev` and
    `hoeffding` for independent contents (means over the same rows; contents drawn from those of the text itself).
    `tv_kernel_P(layer, head)` is the TV of the kernel with a mean key per position, where `kernel_kind` is mean-key;
    `kernel_gallery` holds kernels of single texts. `substitution(text, head, substituted)` is Z in the first layer of a
    causal model with learned positions, the token ' the' put at positions 500 to 600, for texts longer than that.
    Raises InvalidArgument for unusable lengths, counts or queries, and what `numerics.text` raises.
    """
    places = _queries(model, length, skip, queries)
    _check_counts(samples, query_texts)
    stream = chunks(model.vocabulary.tokenizer, length=length, files=text, dataset=dataset)
    estimation_texts, querying_texts = split(stream, (samples, query_texts))
    layers = [layer_of(model, layer, places, length, skip) for layer in range(model.n_layers)]
    done, total = 0, samples + query_texts

    def count(texts: int) -> None:
        nonlocal done
        done += texts
        if progress is not None:
            progress(done, total)

    for batch in _batches(estimation_texts, BATCH):
        _run(model, batch, lambda call: layers[call.layer].estimate(call))
        count(len(batch))
    kept: list[Ints] = []
    for ids in querying_texts:
        _run(model, ids[None], lambda call, ids=ids: layers[call.layer].query(call, ids))  # type: ignore[misc]
        kept.append(ids)
        count(1)
    table = _table(model, layers, places, length, skip)
    survival = _content_survival(model, layers, kept[:SHIFTED_TEXTS], length)
    if survival is not None:
        table["content_survival"] = survival
    arguments = f"--samples {samples} --length {length} --skip {skip} --query-texts {query_texts}"
    table.attrs = {
        **model.provenance(f"numerics kernels {model.source} {arguments} --queries {','.join(map(str, places))}"),
        "text": stream.name,
        "text_sha256": stream.text_sha256,
        "compute_dtype": model.compute_dtype,
        "kernel_kind": layers[0].kind,
        "samples": samples,
        "skip": skip,
    }
    first = layers[0].first
    if first is not None:  # c² of the first-layer approximation: of the texts, as used, and of the vocabulary
        table.attrs["content_length"] = float(np.mean(first.content_lengths))
        table.attrs["content_length_vocabulary"] = first_layer.content_length(first.token_part)
    return table


def layer_of(model: Model, layer: int, queries: Ints, length: int, skip: int) -> Layer:
    """The accumulator of a layer before any text."""
    heads, starts = model.heads(layer), layer == 0 and model.positions.learned
    first = Embedded.of(model.vocabulary, heads, queries, skip) if starts else None
    return Layer(heads, model.positions.rotary(layer), queries, length, skip, first)


# -- the table -------------------------------------------------------------------------------------------------------

DIMS: dict[str, tuple[str, ...]] = {
    "kernel": ("head", "query", "key"),
    "kernel_gallery": ("head", "gallery_query", "gallery_text", "key"),
    "denominator": ("head", "query", "text"),
    **dict.fromkeys(("exceedance", "chebyshev", "hoeffding"), ("head", "deviation")),
    "kernel_variation": ("head", "other"),
    "positional_share": (),
    "standard_error": ("position",),
    **dict.fromkeys(
        ("etc", "etc_texts_sd", "denominator_mean", "denominator_sd", "denominator_sd_predicted"), ("head", "query")
    ),
}


def _table(model: Model, layers: list[Layer], queries: Ints, length: int, skip: int) -> xr.Dataset:
    found = [layer.results() for layer in layers]
    table = xr.Dataset(
        coords={
            "layer": np.arange(len(layers)),
            "head": np.arange(model.n_heads),
            "query": queries,
            "key": np.arange(length),
            "position": np.arange(length),
            "deviation": np.array(DEVIATIONS),
            "gallery_query": queries[layers[0].gallery],
        }
    )
    for name in dict.fromkeys(name for results in found for name in results):
        if name == "tv_first_layer":
            table[name] = (("head", "query"), found[0][name])
        elif name == "substitution":
            table[name] = (("text", "head", "substituted"), found[0][name])
            table = table.assign_coords(substituted=embedded.SUBSTITUTED)
        elif all(name in results for results in found):
            values = np.stack([np.asarray(results[name]) for results in found])
            table[name] = (("layer", *DIMS.get(name, ("head",))), values)
    far = np.arange(length) if all(layer.heads.causal for layer in layers) else np.arange(1 - length, length)
    profiles = [
        spread.distance_profile(results["kernel"].astype(np.float64), queries, layer.allowed, far)
        for results, layer in zip(found, layers, strict=True)
    ]
    table["distance_profile"] = (("layer", "head", "distance"), np.stack(profiles))
    table = table.assign_coords(distance=far)
    if model.stacks is not None:
        table = table.assign_coords(stack=("layer", list(model.stacks)))
    return table


def _content_survival(model: Model, layers: list[Layer], texts: list[Ints], length: int) -> xr.DataArray | None:
    """Per layer and shift; None where the model does not take positions."""
    if not model.takes_positions:
        return None
    shifts = [shift for shift in SHIFTS if 2 * shift <= length]
    kept = length - max(shifts)
    sums = {(layer.heads.layer, shift): Survival() for layer in layers for shift in shifts}
    for ids in texts:
        content: dict[int, Float] = {}

        def keep(call: AttentionCall, content: dict[int, Float] = content) -> None:
            content[call.layer] = call.x[0].double().numpy() - layers[call.layer].moments.mean[:kept]

        _run(model, ids[None, :kept], keep)
        for shift in shifts:

            def compare(call: AttentionCall, shift: int = shift, content: dict[int, Float] = content) -> None:
                mean = layers[call.layer].moments.mean[shift : shift + kept]
                sums[call.layer, shift].add(content[call.layer], call.x[0].double().numpy() - mean)

            _run(model, ids[None, :kept], compare, np.arange(shift, shift + kept))
    values = [[sums[layer.heads.layer, shift].value for shift in shifts] for layer in layers]
    return xr.DataArray(values, dims=("layer", "shift"), coords={"shift": shifts})


# -- running the model -----------------------------------------------------------------------------------------------


def _run(model: Model, ids: Ints, visit: Callable[[AttentionCall], None], positions: Ints | None = None) -> None:
    import torch

    places = None if positions is None else torch.as_tensor(positions)
    with torch.no_grad(), model.attention(visit):
        model.forward(torch.as_tensor(ids), places, logits=False)


def _batches(texts: Iterator[Ints], size: int) -> Iterator[Ints]:
    batch: list[Ints] = []
    for ids in texts:
        batch.append(ids)
        if len(batch) == size:
            yield np.stack(batch)
            batch = []
    if batch:
        yield np.stack(batch)


def _queries(model: Model, length: int, skip: int, queries: Sequence[int] | None) -> Ints:
    limit = model.positions.limit
    if limit is not None and length > limit:
        raise InvalidArgument(f"{model.name} has {limit} positions, {length} are asked for", f"use a length ≤ {limit}")
    if skip < 0 or length < skip + 3:
        raise InvalidArgument(
            f"texts of {length} tokens leave no queries after the first {skip}", "use longer texts, or skip fewer"
        )
    if queries is None:
        spaced = np.unique(np.round(length * np.arange(1, QUERIES + 1) / QUERIES).astype(np.int64) - 1)
        places = spaced[spaced > skip]
    else:
        places = np.array(sorted(set(queries)), dtype=np.int64)
    outside = [int(n) for n in places if not skip < n < length]
    if outside or len(places) < 2:
        raise InvalidArgument(
            f"queries at {outside or places.tolist()} cannot be used with length {length} and skip {skip}",
            f"give two or more positions from {skip + 1} to {length - 1}",
        )
    return places


def _check_counts(samples: int, query_texts: int) -> None:
    if samples < 2 or query_texts < 2:
        raise InvalidArgument(
            f"{samples} samples and {query_texts} query texts give no spread", "ask for two or more of each"
        )
