"""Attribution of one query's attention to keys and bands, as the compact JSON that the browser draws."""

from __future__ import annotations

from typing import Any

import pandas as pd
import xarray as xr

from numerics.errors import InvalidArgument
from numerics.report.bands import largest, whole
from numerics.report.encode import significant
from numerics.report.required import require

PAIR = ("key", "band")
DIMS = {"attribution": PAIR, "probability": ("key",), "token": ("key",)}
NEEDS = tuple(DIMS)
KIND = "a dataset of an attribution"
PASS = "pass what numerics.attribute returns"

DIGITS = 4


def attribution(dataset: xr.Dataset) -> dict[str, Any]:
    """What the page of attributions draws: `values` flat, index `key·bands + band`; `wavelength` in tokens per band."""
    _check(dataset)
    rest = dataset["attribution_unrotated"].to_numpy() if "attribution_unrotated" in dataset else None
    token = dataset.attrs.get("query_token")
    return {
        "layer": whole(dataset, "layer"),
        "head": whole(dataset, "head"),
        "query": whole(dataset, "query"),
        "query_token": None if token is None else str(token),
        "keys": [int(key) for key in dataset["key"].to_numpy()],
        "tokens": [str(token) for token in dataset["token"].to_numpy()],
        "bands": int(dataset.sizes["band"]),
        "wavelength": significant(dataset["wavelength"].to_numpy(), DIGITS),
        "values": significant(dataset["attribution"].transpose(*PAIR).to_numpy(), DIGITS),
        "unrotated": None if rest is None else significant(rest, DIGITS),
        "probability": significant(dataset["probability"].to_numpy(), DIGITS),
        "residual": largest(dataset, "residual"),
    }


def key_table(dataset: xr.Dataset) -> pd.DataFrame:
    """One row per key: its token, its attention, and the contribution of each band, in every digit."""
    _check(dataset)
    table = pd.DataFrame({name: dataset[name].to_numpy() for name in ("key", "token", "probability")})
    table.insert(0, "model", dataset.attrs.get("model", ""))
    if "attribution_unrotated" in dataset:
        table["unrotated"] = dataset["attribution_unrotated"].to_numpy()
    names = [f"band_{band}" for band in dataset["band"].to_numpy()]
    return pd.concat([table, pd.DataFrame(dataset["attribution"].transpose(*PAIR).to_numpy(), columns=names)], axis=1)


def _check(dataset: xr.Dataset) -> None:
    require(dataset, KIND, {**DIMS, "wavelength": ("band",), "key": ("key",)}, PASS)
    if 0 in dataset["attribution"].shape:
        raise InvalidArgument(f"{KIND} holds no key or band", "choose a query that sees a key")
