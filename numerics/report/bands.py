"""Metrics of rotary bands as the compact JSON that the browser draws, and the table of heads that follows from them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from numerics.errors import InvalidArgument
from numerics.report.encode import rounded, significant
from numerics.report.required import require

Float = NDArray[np.float64]

METRICS = ("activation", "entropy", "fisher")
"""What a dataset of bands may hold; one of them at least."""
BAND = ("layer", "head", "band")
HEAD = ("layer", "head")
KIND = "a dataset of bands"
PASS = "pass what numerics.band_metrics returns"

# Digits of sums over a text, which span orders of magnitude.
DIGITS = 4
# Decimals of the numbers of a head, per metric.
COLUMNS = {"band": 0, "wavelength": 2, "top_share": 4, "unrotated_share": 4}
TOP = 8
"""The share of the largest 1/8 of a head's bands is shown: 1/8 if all bands are equal, 1 if few hold everything."""


def bands(dataset: xr.Dataset) -> dict[str, Any]:
    """What the page of bands draws.

    `values` are flat per metric, index `(layer·heads + head)·bands + band`, null where a layer has no such band;
    `wavelength` in tokens, index `layer·bands + band`; `columns` hold the numbers of each head per metric, index
    `layer·heads + head`, as `unrotated` and `entropy_change` do; `there` is null where the layer lacks the head.
    """
    _check(dataset)
    size = dataset.sizes
    metrics = [metric for metric in METRICS if metric in dataset]
    return {
        "layers": int(size["layer"]),
        "heads": int(size["head"]),
        "bands": int(size["band"]),
        "there": there(*(dataset[metric].transpose(*BAND).to_numpy() for metric in metrics)),
        "metrics": metrics,
        "values": {metric: significant(dataset[metric].transpose(*BAND).to_numpy(), DIGITS) for metric in metrics},
        "unrotated": {metric: significant(_unrotated(dataset, metric), DIGITS) for metric in _with_rest(dataset)},
        "columns": {
            metric: {name: rounded(column, COLUMNS[name]) for name, column in summary(dataset, metric).items()}
            for metric in metrics
        },
        "wavelength": significant(wavelengths(dataset), DIGITS),
        "entropy_change": _of_heads(dataset, "entropy_change"),
        "residual": largest(dataset, "residual"),
        "documents": whole(dataset, "documents"),
        "length": whole(dataset, "length"),
    }


def head_table(dataset: xr.Dataset) -> pd.DataFrame:
    """One row per head: `summary` of each metric, and what the dataset holds per head, in every digit."""
    _check(dataset)
    layers, heads = (dataset[name].to_numpy() for name in HEAD)
    columns: dict[str, Any] = {
        "model": dataset.attrs.get("model", ""),
        "layer": np.repeat(layers, len(heads)),
        "head": np.tile(heads, len(layers)),
    }
    metrics = [metric for metric in METRICS if metric in dataset]
    for metric in metrics:
        columns |= {f"{metric}_{name}": column.ravel() for name, column in summary(dataset, metric).items()}
    for name, variable in dataset.data_vars.items():
        if set(variable.dims) == set(HEAD):
            columns[str(name)] = variable.transpose(*HEAD).to_numpy().ravel()
    held = there(*(dataset[metric].transpose(*BAND).to_numpy() for metric in metrics))
    return pd.DataFrame(columns)[[code is not None for code in held]].reset_index(drop=True)


def summary(dataset: xr.Dataset, metric: str) -> dict[str, Float]:
    """Per head (layer, head) of one metric x, NaN where all is missing or zero.

    `band`: the one of largest |x|, and its `wavelength`. `top_share`: what the ⌈B/8⌉ largest |x| are of Σ|x|.
    `unrotated_share`: |x| of the dims that do not rotate over all |x|, where the dataset holds it.
    """
    sizes = np.abs(dataset[metric].transpose(*BAND).to_numpy().astype(np.float64))
    found = np.isfinite(sizes)
    present = np.where(found, sizes, 0.0)
    total = present.sum(axis=-1)
    empty = total == 0
    largest = present.argmax(axis=-1)
    ordered = -np.sort(-present, axis=-1)
    counts = -(-found.sum(axis=-1, keepdims=True) // TOP)
    top = np.where(np.arange(sizes.shape[-1]) < counts, ordered, 0.0).sum(axis=-1)
    columns = {
        "band": np.where(empty, np.nan, dataset["band"].to_numpy()[largest]),
        "wavelength": np.where(empty, np.nan, np.take_along_axis(wavelengths(dataset), largest, axis=-1)),
        "top_share": np.where(empty, np.nan, top / np.where(empty, 1.0, total)),
    }
    if metric in _with_rest(dataset):
        rest = np.abs(_unrotated(dataset, metric))
        whole_sum = total + rest
        columns["unrotated_share"] = np.where(whole_sum > 0, rest / np.where(whole_sum > 0, whole_sum, 1.0), np.nan)
    return columns


def there(*values: Float) -> list[int | None]:
    """Per (layer, head), flat: 1, or None where the head has no number in any of `values` (layer, head, band)."""
    held = np.any([np.isfinite(one).any(axis=-1) for one in values], axis=0)
    return [1 if one else None for one in held.ravel().tolist()]


def wavelengths(dataset: xr.Dataset) -> Float:
    """Wavelengths in tokens (layer, band); infinite ones, of bands that stand still, are not finite here either."""
    return np.asarray(dataset["wavelength"].transpose("layer", "band").to_numpy(), dtype=np.float64)


def whole(dataset: xr.Dataset, name: str) -> int | None:
    """A whole number among the attrs."""
    return int(dataset.attrs[name]) if name in dataset.attrs else None


def _with_rest(dataset: xr.Dataset) -> list[str]:
    return [m for m in METRICS if m in dataset and f"{m}_unrotated" in dataset]


def _unrotated(dataset: xr.Dataset, metric: str) -> Float:
    return np.asarray(dataset[f"{metric}_unrotated"].transpose(*HEAD).to_numpy(), dtype=np.float64)


def _of_heads(dataset: xr.Dataset, name: str) -> list[float | None] | None:
    return significant(dataset[name].transpose(*HEAD).to_numpy(), DIGITS) if name in dataset else None


def largest(dataset: xr.Dataset, name: str) -> float | None:
    """The largest of a variable in two digits; None where it is missing or holds no number."""
    values = dataset[name].to_numpy() if name in dataset else np.array(np.nan)
    return significant(np.nanmax(values), 2)[0] if np.isfinite(values).any() else None


def _check(dataset: xr.Dataset) -> None:
    wanted: dict[str, tuple[str, ...]] = {metric: BAND for metric in METRICS if metric in dataset}
    wanted |= {f"{metric}_unrotated": HEAD for metric in METRICS if f"{metric}_unrotated" in dataset}
    require(dataset, KIND, {**wanted, "wavelength": ("layer", "band")}, PASS)
    if any(dataset.sizes[dim] == 0 for dim in BAND):
        raise InvalidArgument(f"{KIND} holds no band", "measure at least one head")
