"""A sweep over removed bands as the compact JSON that the browser draws."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from numerics.errors import InvalidArgument
from numerics.report.bands import DIGITS, there, wavelengths, whole
from numerics.report.encode import rounded, significant
from numerics.report.required import require

SWEEP = ("metric", "select", "fraction", "seed")
IMPORTANCE = ("metric", "layer", "head", "band")
NEEDS = ("nll", "fraction", "metric")
KIND = "a dataset of an ablation"
PASS = "pass what numerics.ablate returns"

NLL_DECIMALS = 5
IMPORTANCE_DIGITS = 3  # digits, not decimals: on log axes small ones count


def ablation(dataset: xr.Dataset) -> dict[str, Any]:
    """What the page of ablations draws.

    `nll` and `standard_error` are flat, index `((metric·selects + select)·fractions + fraction)·seeds + seed`, null
    where a metric has no such seed; `removed` index `select·fractions + fraction`; `whole` is the loss with nothing
    removed. `importance` holds, per metric that has one, numbers with index `(layer·heads + head)·bands + band`.
    """
    _check(dataset)
    found: dict[str, Any] = {
        "metrics": [str(name) for name in dataset["metric"].to_numpy()],
        "selects": [str(name) for name in dataset["select"].to_numpy()],
        "fractions": [round(float(f), 6) for f in dataset["fraction"].to_numpy()],
        "seeds": int(dataset.sizes["seed"]),
        "nll": rounded(dataset["nll"].transpose(*SWEEP).to_numpy(), NLL_DECIMALS),
        "whole": _whole_model(dataset),
        "standard_error": _optional(dataset, "increase_standard_error", SWEEP),
        "removed": _optional(dataset, "removed", ("select", "fraction")),
        "documents": whole(dataset, "documents"),
        "length": whole(dataset, "length"),
        **{name: _number(dataset, name) for name in ("r_squared", "r_squared_log", "log_dropped")},
    }
    return found | (_importance(dataset) if "importance" in dataset else {"importance": {}})


def _importance(dataset: xr.Dataset) -> dict[str, Any]:
    values = dataset["importance"].transpose(*IMPORTANCE).to_numpy()
    known = [i for i in range(len(values)) if np.isfinite(values[i]).any()]  # that of `random` is not kept
    if not known:
        return {"importance": {}}
    _, layers, heads, bands = values.shape
    return {
        "layers": int(layers),
        "heads": int(heads),
        "bands": int(bands),
        "there": there(*values[known]),
        "wavelength": significant(wavelengths(dataset), DIGITS),
        "importance": {str(dataset["metric"].to_numpy()[i]): significant(values[i], IMPORTANCE_DIGITS) for i in known},
    }


def _whole_model(dataset: xr.Dataset) -> float | int | None:
    """The loss at fraction 0, which all metrics share."""
    nothing = dataset["nll"].to_numpy()[..., :0].ravel()
    if (dataset["fraction"] == 0).any():
        nothing = dataset["nll"].sel(fraction=0).to_numpy().ravel()
    losses = nothing[np.isfinite(nothing)]
    return rounded(losses[:1], NLL_DECIMALS)[0] if losses.size else None


def _optional(dataset: xr.Dataset, name: str, dims: tuple[str, ...]) -> list[int | float | None] | None:
    return rounded(dataset[name].transpose(*dims).to_numpy(), NLL_DECIMALS) if name in dataset else None


def _number(dataset: xr.Dataset, name: str) -> int | float | None:
    return rounded(dataset[name].to_numpy(), 4)[0] if name in dataset else None


def _check(dataset: xr.Dataset) -> None:
    wanted = {"nll": SWEEP} | (
        {"importance": IMPORTANCE, "wavelength": ("layer", "band")} if "importance" in dataset else {}
    )
    require(dataset, KIND, wanted, PASS)
    if 0 in dataset["nll"].shape:
        raise InvalidArgument(f"{KIND} holds no loss", "measure at least one fraction")
