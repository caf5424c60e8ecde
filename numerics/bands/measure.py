"""Metrics of every band of a model over documents: total activation, entropy attribution, Fisher information."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Callable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import xarray as xr
from numpy.typing import NDArray

from numerics.bands.activation import total_activation, unrotated_activation
from numerics.bands.entropy import entropy_attribution
from numerics.bands.fisher import gradients_at_factors, sampler
from numerics.bands.importance import MEASURED
from numerics.bands.likelihood import Unembedding, gradient_at_hidden
from numerics.bands.scaling import scale_bands
from numerics.bands.split import band_pairs
from numerics.errors import InvalidArgument
from numerics.models import RotaryTable
from numerics.text import clipped_documents

if TYPE_CHECKING:
    from numerics.models import Model
    from numerics.models.visitor import AttentionCall

Float = NDArray[np.float64]
Ints = NDArray[np.int64]

LENGTH = 2048
DOCUMENTS = 2
"""Documents that are read where no number of tokens is asked for."""


def band_metrics(
    model: Model,
    text: Sequence[str | os.PathLike[str]] | None = None,
    dataset: str | None = None,
    tokens: int | None = None,
    length: int = LENGTH,
    metrics: Sequence[str] = ("activation", "entropy"),
    progress: Callable[[int, int], None] | None = None,
) -> xr.Dataset:
    """Metrics of every rotary band of every head, summed over documents.

    `text`: files, each a document, or a Hugging Face `dataset`, each row a document, or else the shipped sample. Of the
    documents with at least `length` tokens the first `length` are read, `tokens` in all (default: two documents), one
    document at a time. `metrics`: `activation`, `entropy`, `fisher`. `progress` gets (documents done, in all).

    Returns `activation(layer, head, band)` = Σ |σ q_b·k_b| over queries and keys and `activation_unrotated(layer,
    head)` of the dims that do not rotate; `entropy` and `entropy_unrotated`, in nats, summed over queries with their
    sign, which together are `entropy_change(layer, head)` = Σ (H − log N) ≤ 0, up to `residual(layer, head)`, the
    largest of any block of rows; `fisher(layer, head, band)`, the sum of squared gradients of the documents. Coords
    `frequency` (radians per token) and `wavelength` = 2π/frequency (tokens), both (layer, band). A layer with fewer
    bands than another is padded with NaN. Raises InvalidArgument for a model without rotary positions, unusable counts
    or metrics, and what `numerics.text` raises.
    """
    rotary_tables(model)
    count = document_count(tokens, length)
    sums = BandSums(model, metrics, unembedding_of(model) if "fisher" in metrics else None)
    stream = clipped_documents(model.vocabulary.tokenizer, length=length, files=text, dataset=dataset)
    for ids in islice(stream, count):
        sums.add(ids)
        if progress is not None:
            progress(sums.documents, count)
    table = band_coordinates(model)
    for name, values in sums.values.items():
        table[name] = (("layer", "head", "band")[: values.ndim], values)
    arguments = f"--tokens {count * length} --length {length} --metrics {','.join(metrics)}"
    table.attrs = {
        **model.provenance(f"numerics bands {model.source} {arguments}"),
        "text": stream.name,
        "text_sha256": stream.text_sha256,
        "compute_dtype": model.compute_dtype,
        "length": length,
        "documents": sums.documents,
    }
    return table


def rotary_tables(model: Model) -> list[RotaryTable]:
    """The rotary table of every layer. Raises InvalidArgument for a model that has none."""
    tables = [model.positions.rotary(layer) for layer in range(model.n_layers)]
    found = [table for table in tables if table is not None]
    if len(found) < len(tables):
        raise InvalidArgument(
            f"{model.name} is not rotary in every layer (its positions: {model.positions.scheme}), so its scores have "
            "no frequency bands",
            "use a rotary model",
        )
    return found


def band_coordinates(model: Model) -> xr.Dataset:
    """A table without variables: layers, heads and bands, with the frequency and wavelength of each band."""
    tables = rotary_tables(model)
    frequency = np.full((len(tables), max(table.n_bands for table in tables)), np.nan)
    for layer, table in enumerate(tables):
        frequency[layer, : table.n_bands] = table.frequencies
    return xr.Dataset(
        coords={
            "layer": np.arange(len(tables)),
            "head": np.arange(model.n_heads),
            "band": np.arange(frequency.shape[-1]),
            "frequency": (("layer", "band"), frequency),
            "wavelength": (("layer", "band"), 2 * math.pi / frequency),
        }
    )


def document_count(tokens: int | None, length: int) -> int:
    """How many documents of `length` tokens are read: as many as `tokens` hold. Raises InvalidArgument."""
    if length < 2:
        raise InvalidArgument(f"documents of {length} tokens have no next token", "use a length of 2 or more")
    if tokens is None:
        return DOCUMENTS
    if tokens < length:
        raise InvalidArgument(
            f"{tokens} tokens do not hold one document of {length}", "ask for more tokens, or for a smaller length"
        )
    return tokens // length


def unembedding_of(model: Model) -> Unembedding:
    """The model's unembedding in the dtype that it runs in."""
    ends = dataclasses.replace(model.vocabulary)  # a copy: the float64 table goes when it has been cast
    dtype = getattr(torch, model.compute_dtype)
    assert ends.W_U is not None, "rotary models are decoders"
    bias = None if ends.b_U is None else torch.as_tensor(ends.b_U, dtype=dtype)
    return Unembedding(torch.as_tensor(ends.W_U, dtype=dtype), bias, ends.logit_scale, ends.logit_softcap)


class BandSums:
    """Sums of the measured `metrics` over documents: `values`, each (layer, head[, band]), NaN where no band is."""

    def __init__(self, model: Model, metrics: Sequence[str], unembedding: Unembedding | None) -> None:
        unknown = [metric for metric in metrics if metric not in MEASURED]
        if unknown or not metrics:
            raise InvalidArgument(
                f"metrics {', '.join(unknown) or '(none)'} cannot be measured", f"use some of {', '.join(MEASURED)}"
            )
        self.model = model
        self.tables = rotary_tables(model)
        self.documents = 0
        self.values: dict[str, Float] = {}
        self._unembedding = unembedding if "fisher" in metrics else None
        heads = (model.n_layers, model.n_heads)
        for metric in MEASURED:
            if metric in metrics:
                self.values[metric] = np.zeros((*heads, max(table.n_bands for table in self.tables)))
                for layer, table in enumerate(self.tables):
                    self.values[metric][layer, :, table.n_bands :] = np.nan
            if metric in metrics and metric != "fisher":
                self.values[f"{metric}_unrotated"] = np.zeros(heads)
        if "entropy" in metrics:
            self.values |= {"entropy_change": np.zeros(heads), "residual": np.zeros(heads)}

    def add(self, ids: Ints) -> None:
        """Add one document (T,)."""
        text = torch.as_tensor(ids)
        if "activation" in self.values or "entropy" in self.values:
            with torch.no_grad(), self.model.attention(self._observe):
                self.model.forward(text[None], logits=False)
        if self._unembedding is not None:
            targets = sampler(seed=self.documents)
            gradients = factor_gradients(self.model, self._unembedding, text, targets)
            for layer, gradient in enumerate(gradients):
                self.values["fisher"][layer, :, : gradient.shape[-1]] += np.square(gradient)
        self.documents += 1

    def state(self) -> dict[str, Any]:
        """All of it as lists and numbers, for JSON."""
        return {"documents": self.documents} | {name: values.tolist() for name, values in self.values.items()}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a `state`."""
        self.documents = state["documents"]
        self.values = {name: np.array(state[name], dtype=np.float64) for name in self.values}

    def _observe(self, call: AttentionCall) -> None:
        table, layer, values = self.tables[call.layer], call.layer, self.values
        q, k = call.q[0].double().numpy(), call.k[0].double().numpy()
        for name, x in (("q", q), ("k", k)):
            finite = np.isfinite(x).all(axis=(1, 2))
            if not finite.all():
                raise InvalidArgument(
                    f"{self.model.name}: {name} of layer {layer}, head {int(np.argmin(finite))} is NaN or infinite",
                    "run the model in float32, and check its checkpoint",
                )
        bands: dict[str, Any] = {"n_bands": table.n_bands, "pairing": table.pairing}
        score: dict[str, Any] = {"scale": call.scale, "window": call.window}
        if "activation" in values:
            values["activation"][layer, :, : table.n_bands] += total_activation(q, k, **bands, **score)
            q_rest, k_rest = (band_pairs(x, **bands)[1] for x in (q, k))
            if q_rest.shape[-1]:
                values["activation_unrotated"][layer] += unrotated_activation(q_rest, k_rest, **score)
        if "entropy" in values:
            found = entropy_attribution(q, k, **bands, **score, softcap=call.softcap)
            values["entropy"][layer, :, : table.n_bands] += found.bands
            values["entropy_unrotated"][layer] += found.unrotated
            values["entropy_change"][layer] += found.entropy
            values["residual"][layer] = np.maximum(values["residual"][layer], found.residual)


def factor_gradients(
    model: Model, unembedding: Unembedding, ids: torch.Tensor, choose: Callable[[torch.Tensor], torch.Tensor]
) -> list[Float]:
    """Per layer the gradient (H, B) of `Σ_j log f(s_j, θ)[t_j]` at θ = 1, s_j the prefixes of `ids` (T,).

    `choose` picks t from `log f`, see `gradient_at_hidden`.
    """
    tables = rotary_tables(model)
    shapes = [(model.n_heads, table.n_bands) for table in tables]
    factors = [torch.ones(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]

    def scaled(call: AttentionCall) -> tuple[torch.Tensor, torch.Tensor]:
        return scale_bands(call.q, factors[call.layer], tables[call.layer].pairing), call.k

    with torch.enable_grad(), model.attention(scaled):
        hidden = model.forward(ids[None], logits=False)[0]
        gradient = gradient_at_hidden(unembedding, hidden, choose)
    return [found.numpy() for found in gradients_at_factors(hidden, gradient, factors)]
