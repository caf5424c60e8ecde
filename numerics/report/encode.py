"""Datasets as the compact JSON that the browser draws. Rounded for display; the CSV beside it holds every digit."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import xarray as xr

from numerics.errors import InvalidArgument
from numerics.results import COORDINATES

TYPES = ("I+", "I-", "II", "antisymmetric", "zero")
PROFILE_DIMS = ("layer", "head", "distance", "coordinate")
HEAD_DIMS = ("layer", "head", "distance")

# Decimals kept per variable: what the page prints and a screen can show. Coordinates and ratios lie in [-1, 1].
DECIMALS = {
    "symmetric_energy": 4,
    "pairing": 4,
    "balance": 4,
    "trace_ratio": 4,
    "participation_ratio": 2,
    "stable_rank": 2,
    "n_positive": 0,
    "n_negative": 0,
}
PROFILE_DECIMALS = 4
SPECTRUM_DECIMALS = 4


def script_json(value: object) -> str:
    """JSON that is safe inside a script, in a file or in a page: ASCII, without `<`, `>`, `&`; NaN is an error.

    `ensure_ascii` also covers U+2028 and U+2029, which end a line in JavaScript but not in JSON.
    """
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def significant(values: object, digits: int) -> list[float | None]:
    """The numbers in C order with so many significant digits; non-finite ones are None (null), never zero."""
    array = np.asarray(values, dtype=np.float64).ravel()
    return [float(f"{x:.{digits}g}") + 0.0 if np.isfinite(x) else None for x in array.tolist()]


def rounded(values: object, decimals: int) -> list[int | float | None]:
    """The numbers in C order, rounded; non-finite ones are None (null), never zero. Integers where `decimals` is 0."""
    array = np.asarray(values, dtype=np.float64).ravel()
    # Adding 0.0 turns −0.0 into 0.0.
    numbers = (np.round(array, decimals) + 0.0).tolist()
    finite = np.isfinite(array).tolist()
    if decimals == 0:
        return [int(x) if ok else None for x, ok in zip(numbers, finite, strict=True)]
    return [x if ok else None for x, ok in zip(numbers, finite, strict=True)]


def attributes(dataset: xr.Dataset) -> dict[str, str]:
    """The attrs as text, by name: netCDF gives numbers back as numpy scalars."""
    return {str(name): str(value) for name, value in sorted(dataset.attrs.items(), key=lambda item: str(item[0]))}


def profile(dataset: xr.Dataset) -> dict[str, Any]:
    """What the profile page draws. Columns are flat, index `(layer·heads + head)·distances + distance`.

    `type` indexes `types`; null marks a place where the model has no head (layers that differ in head count).
    `spectrum` holds, per head, the eigenvalues of S/‖L‖ at the first distance.
    """
    _check(dataset)
    values = dataset["profile"].transpose(*PROFILE_DIMS).sel(coordinate=list(COORDINATES)).to_numpy()
    columns = {name: rounded(values[..., i], PROFILE_DECIMALS) for i, name in enumerate(COORDINATES)}
    for name, decimals in DECIMALS.items():
        if name in dataset:
            columns[name] = rounded(dataset[name].transpose(*HEAD_DIMS).to_numpy(), decimals)
    types, codes = _types(dataset)
    return {
        "layers": int(dataset.sizes["layer"]),
        "heads": int(dataset.sizes["head"]),
        "width": _whole(dataset.attrs.get("width")),
        "head_dim": _whole(dataset.attrs.get("head_dim")),
        "distances": [int(d) for d in dataset["distance"].to_numpy()],
        "stack": [str(s) for s in dataset["stack"].to_numpy()] if "stack" in dataset.coords else None,
        "columns": columns,
        "types": types,
        "type": codes,
        "baseline": _baseline(dataset),
        "spectrum": _spectrum(dataset),
    }


def _check(dataset: xr.Dataset) -> None:
    dims = dataset["profile"].dims
    if set(dims) != set(PROFILE_DIMS):
        raise InvalidArgument(
            f"a profile dataset has dims {', '.join(map(str, dims))} instead of {', '.join(PROFILE_DIMS)}",
            "pass what numerics.profile returns",
        )
    for name in ("type", *(n for n in DECIMALS if n in dataset)):
        if name not in dataset or set(dataset[name].dims) != set(HEAD_DIMS):
            raise InvalidArgument(
                f"a profile dataset needs the variable '{name}' over {', '.join(HEAD_DIMS)}",
                "pass what numerics.profile returns",
            )
    if "distance" not in dataset.coords or "coordinate" not in dataset.coords:
        raise InvalidArgument(
            "a profile dataset lacks the coordinates distance or coordinate", "pass what numerics.profile returns"
        )
    if 0 in dataset["profile"].shape:
        raise InvalidArgument("a profile dataset holds no head", "measure at least one head at one distance")


def _types(dataset: xr.Dataset) -> tuple[list[str], list[int | None]]:
    names = [str(t) for t in dataset["type"].transpose(*HEAD_DIMS).to_numpy().ravel()]
    extra = sorted(set(names) - set(TYPES) - {""})
    types = [*TYPES, *extra]
    code = {name: i for i, name in enumerate(types)}
    return types, [code.get(name) for name in names]


def _baseline(dataset: xr.Dataset) -> list[int | float | None] | None:
    if "baseline" not in dataset:
        return None
    return rounded(dataset["baseline"].sel(coordinate=list(COORDINATES)).to_numpy(), PROFILE_DECIMALS)


def _spectrum(dataset: xr.Dataset) -> list[list[int | float | None]] | None:
    if "symmetric_spectrum" not in dataset:
        return None
    values = dataset["symmetric_spectrum"].transpose("layer", "head", "eigenvalue").to_numpy()
    # A missing head is all NaN: its spectrum is empty, not zero.
    return [
        [x for x in rounded(row, SPECTRUM_DECIMALS) if x is not None] for row in values.reshape(-1, values.shape[-1])
    ]


def _whole(value: object) -> int | None:
    return None if value is None else int(str(value))
