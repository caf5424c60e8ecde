"""Positional kernels as the compact JSON that the browser draws."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from numerics import results
from numerics.errors import InvalidArgument
from numerics.positional.denominators import STABLE_UP_TO
from numerics.positional.groups import SHARED_WITHIN, UNLIKE_FROM
from numerics.positional.spread import LOCAL_UP_TO, UNIFORM_FROM
from numerics.report.encode import rounded, significant
from numerics.report.required import require

CATEGORIES = ("local", "slow decay", "uniform")
HEAD = ("layer", "head")
ROW = ("layer", "head", "query")
DIMS = {"kernel": (*ROW, "key"), "etc": ROW, "category": HEAD, "peak_offset": HEAD}
NEEDS = tuple(DIMS)
KIND = "a dataset of positional kernels"
PASS = "pass what numerics.positional_kernels returns"

# Decimals of the numbers of a head: what the page prints.
DECIMALS = {
    "peak_offset": 0,
    "tv_kernel": 4,
    "tv_kernel_P": 4,
    "tv_uniform": 4,
    "sink_mass": 4,
    "equivariance": 4,
    "consistency": 4,
    "key_bias_share": 4,
    "unrotated_share": 4,
    "denominator_decay": 4,
    "group": 0,
}
# Digits of numbers that span orders of magnitude.
DIGITS = 4
SHARE_DECIMALS = 4
VARIATION_DECIMALS = 3
# Curves over queries, with their names in the page.
CURVES = {
    "etc": "etc",
    "etc_texts_sd": "etc_sd",
    "denominator_mean": "mean",
    "denominator_sd": "sd",
    "denominator_sd_predicted": "predicted",
}


def half_floats(values: object) -> list[str | None]:
    """The float16 numbers of each item along the first axis, little-endian, as base64; None where all are missing.

    Relative error ≤ 2⁻¹¹ from 6.1e-5 up to 65504, absolute ≤ 2⁻²⁵ below: 2 ⅔ bytes for three digits, NaN included.
    """
    array: NDArray[np.float64] = np.asarray(values, dtype=np.float64)
    return [
        None if np.isnan(item).all() else base64.b64encode((item + 0.0).astype("<f2").tobytes()).decode("ascii")
        for item in array
    ]


def kernels(dataset: xr.Dataset) -> dict[str, Any]:
    """What the page of positional kernels draws. Numbers of a head are flat, index `layer·heads + head`.

    `kernel` and `distance_profile` hold, per head, what `half_floats` gives: kernels query by query. `curves` are flat,
    index `(layer·heads + head)·queries + query`. `category` and `contextual` index `categories` and `criteria`; null
    marks a place where the model has no head.
    """
    _check(dataset)
    size = dataset.sizes
    flat = size["layer"] * size["head"]
    values = dataset["kernel"].transpose(*DIMS["kernel"]).to_numpy().reshape(flat, -1)
    categories, category = _codes(dataset, "category", CATEGORIES)
    criteria, contextual = _codes(dataset, "contextual", ())
    there = np.array([code is not None for code in category])
    columns = {
        name: rounded(np.where(there, dataset[name].transpose(*HEAD).to_numpy().ravel(), np.nan), decimals)
        for name, decimals in DECIMALS.items()
        if name in dataset and set(dataset[name].dims) == set(HEAD)
    }
    return {
        "layers": int(size["layer"]),
        "heads": int(size["head"]),
        "stack": [str(s) for s in dataset["stack"].to_numpy()] if "stack" in dataset.coords else None,
        "queries": [int(n) for n in dataset["query"].to_numpy()],
        "keys": [int(n) for n in dataset["key"].to_numpy()],
        "skip": int(dataset.attrs.get("skip", 0)),
        "samples": int(dataset.attrs["samples"]) if "samples" in dataset.attrs else None,
        "kind": _kind(dataset),
        "kernel": half_floats(values),
        "curves": {
            short: significant(dataset[name].transpose(*ROW).to_numpy(), DIGITS)
            for name, short in CURVES.items()
            if name in dataset
        },
        "columns": columns,
        "categories": categories,
        "category": category,
        "criteria": criteria,
        "contextual": contextual,
        "variation": _variation(dataset),
        "distances": [int(d) for d in dataset["distance"].to_numpy()] if "distance_profile" in dataset else None,
        "distance_profile": _distance_profile(dataset, flat),
        "gallery": _gallery(dataset, flat),
        "denominators": _denominators(dataset, flat),
        "strays": _strays(dataset),
        "substitution": _substitution(dataset),
        "positional_share": _optional(dataset, "positional_share", ("layer",)),
        "shifts": [int(s) for s in dataset["shift"].to_numpy()] if "content_survival" in dataset else None,
        "content_survival": _optional(dataset, "content_survival", ("layer", "shift")),
        "tv_first_layer": _optional(dataset, "tv_first_layer", ("head", "query")),
        "thresholds": {
            "local": LOCAL_UP_TO,
            "uniform": UNIFORM_FROM,
            "stable": STABLE_UP_TO,
            "shared": SHARED_WITHIN,
            "unlike": UNLIKE_FROM,
        },
    }


def head_table(dataset: xr.Dataset) -> pd.DataFrame:
    """One row per head; the profile over distances, which would repeat each row hundreds of times, is left out."""
    return results.to_table(dataset.drop_vars("distance_profile", errors="ignore"))


def _check(dataset: xr.Dataset) -> None:
    require(dataset, KIND, DIMS, PASS, coordinates=("query", "key"))
    if 0 in dataset["kernel"].shape:
        raise InvalidArgument(f"{KIND} holds no kernel", "measure at least one head and query")


def _codes(dataset: xr.Dataset, name: str, known: tuple[str, ...]) -> tuple[list[str], list[int | None]]:
    """The texts in use, the known ones first, and their number for each head; None for the empty text."""
    if name not in dataset:
        return list(known), []
    texts = [str(text) for text in dataset[name].transpose(*HEAD).to_numpy().ravel()]
    names = [*known, *sorted(set(texts) - set(known) - {""})]
    code = {text: i for i, text in enumerate(names)}
    return names, [code.get(text) for text in texts]


def _kind(dataset: xr.Dataset) -> str | None:
    kind = dataset.attrs.get("kernel_kind")
    return None if kind is None else str(kind)


def _optional(dataset: xr.Dataset, name: str, dims: tuple[str, ...]) -> list[int | float | None] | None:
    return rounded(dataset[name].transpose(*dims).to_numpy(), SHARE_DECIMALS) if name in dataset else None


def _variation(dataset: xr.Dataset) -> list[list[int | float | None]] | None:
    """Per layer the TV of each pair of heads, flat."""
    if "kernel_variation" not in dataset:
        return None
    values = dataset["kernel_variation"].transpose("layer", "head", "other").to_numpy()
    return [rounded(layer, VARIATION_DECIMALS) for layer in values]


def _gallery(dataset: xr.Dataset, flat: int) -> dict[str, Any] | None:
    """Per head the kernels of single texts, query by query and text by text."""
    if "kernel_gallery" not in dataset:
        return None
    values = dataset["kernel_gallery"].transpose("layer", "head", "gallery_query", "gallery_text", "key").to_numpy()
    return {
        "queries": [int(n) for n in dataset["gallery_query"].to_numpy()],
        "values": half_floats(values.reshape(flat, -1)),
    }


def _denominators(dataset: xr.Dataset, flat: int) -> list[list[float | None]] | None:
    """Per head Z of every text, text by text and query by query."""
    if "denominator" not in dataset:
        return None
    values = dataset["denominator"].transpose("layer", "head", "text", "query").to_numpy().reshape(flat, -1)
    return [significant(head, DIGITS) for head in values]


def _strays(dataset: xr.Dataset) -> dict[str, Any] | None:
    """How often Z strays so many predicted standard deviations, and the bounds: flat, head by head."""
    if "exceedance" not in dataset:
        return None
    names = ("exceedance", "chebyshev", "hoeffding")
    columns = {name: significant(dataset[name].transpose(*HEAD, "deviation").to_numpy(), DIGITS) for name in names}
    return {"deviations": dataset["deviation"].to_numpy().tolist(), **columns}


def _substitution(dataset: xr.Dataset) -> dict[str, Any] | None:
    """Per head of the first layer the denominators of one query token put at many positions, text by text."""
    if "substitution" not in dataset:
        return None
    values = dataset["substitution"].transpose("head", "text", "substituted").to_numpy()
    return {
        "positions": [int(n) for n in dataset["substituted"].to_numpy()],
        "values": [significant(head, DIGITS) for head in values],
    }


def _distance_profile(dataset: xr.Dataset, flat: int) -> list[str | None] | None:
    if "distance_profile" not in dataset:
        return None
    return half_floats(dataset["distance_profile"].transpose("layer", "head", "distance").to_numpy().reshape(flat, -1))
