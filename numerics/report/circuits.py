"""Head circuits as the compact JSON that the browser draws."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from numerics.circuits.behaviours import ATTENDED
from numerics.errors import InvalidArgument
from numerics.report.encode import rounded, significant
from numerics.report.required import require

HEAD = ("layer", "head")
PAIR = ("later_layer", "later_head", *HEAD)
DIMS = {"behaviour": (*HEAD, "kind"), "composition": (*PAIR, "composition_kind")}
NEEDS = tuple(DIMS)
KIND = "a dataset of head circuits"
PASS = "pass what numerics.head_circuits returns"

STRONG = 0.4
"""From this attention on a head is called by its behaviour: a choice."""
STRONGEST = 500
"""Edges per kind of composition that are drawn of all heads together."""
EACH = 10
"""Edges per kind that each head keeps as a reader, and as many as a writer, however weak beside the others."""
DECIMALS = 4
DIGITS = 4

PAIR_COLUMNS = ("pair_left_token", "pair_right_token", "pair_value")
TRIGRAM_COLUMNS = (
    *(f"trigram_{part}_token" for part in ("source", "destination", "output")),
    "trigram_qk",
    "trigram_ov",
)

Float = NDArray[np.float64]
Ints = NDArray[np.int64]


def circuits(dataset: xr.Dataset) -> dict[str, Any]:
    """What the page of head circuits draws. Numbers of a head are flat, index `layer·heads + head`.

    `category` indexes `categories`: the strongest of the behaviours that attention shows, the last one ("none") where
    none is `STRONG`; null marks a place where the model has no head. `composition` and `pairs`: see `_composition` and
    `_pairs`.
    """
    _check(dataset)
    size = dataset.sizes
    kinds = [str(kind) for kind in dataset["kind"].to_numpy()]
    behaviour = _by_kind(dataset, "behaviour", kinds)
    spread = _by_kind(dataset, "behaviour_sd", kinds) if "behaviour_sd" in dataset else None
    copying = dataset["copying"].transpose(*HEAD).to_numpy() if "copying" in dataset else None
    categories, category = _category(behaviour, copying)
    return {
        "layers": int(size["layer"]),
        "heads": int(size["head"]),
        "stack": [str(s) for s in dataset["stack"].to_numpy()] if "stack" in dataset.coords else None,
        "kinds": kinds,
        "behaviour": {kind: rounded(values, DECIMALS) for kind, values in behaviour.items()},
        "behaviour_sd": spread and {kind: rounded(values, DECIMALS) for kind, values in spread.items()},
        "copying": None if copying is None else rounded(copying, DECIMALS),
        "categories": categories,
        "category": category,
        "strong": STRONG,
        "composition": _composition(dataset),
        "pairs": _pairs(dataset),
        "virtual": _virtual(dataset, kinds),
        "loss": significant(dataset["loss"], DIGITS) if "loss" in dataset else None,
        "in_context_learning": _with_error(dataset, "in_context_learning_smoothed"),
    }


def _check(dataset: xr.Dataset) -> None:
    require(dataset, KIND, DIMS, PASS, coordinates=("kind", "composition_kind"))
    if 0 in dataset["behaviour"].shape:
        raise InvalidArgument(f"{KIND} holds no head", "measure at least one head")


def _by_kind(dataset: xr.Dataset, name: str, kinds: list[str]) -> dict[str, Float]:
    values = dataset[name].transpose("kind", *HEAD).to_numpy()
    return {kind: values[i].ravel() for i, kind in enumerate(kinds)}


def _category(behaviour: dict[str, Float], copying: Float | None) -> tuple[list[str], list[int | None]]:
    attended = [kind for kind in ATTENDED if kind in behaviour]
    measured = np.stack([*behaviour.values(), *([] if copying is None else [copying.ravel()])])
    scores = np.stack([behaviour[kind] for kind in attended])
    scores = np.where(scores >= STRONG, scores, 0.0)  # NaN becomes 0 too
    best = np.where(scores.any(axis=0), scores.argmax(axis=0), len(attended))
    codes = np.where(np.isfinite(measured).any(axis=0), best, -1).tolist()
    return [*attended, "none"], [None if code < 0 else code for code in codes]


def _composition(dataset: xr.Dataset) -> dict[str, Any]:
    """Per kind the edges that are kept, strongest first: heads as `layer·heads + head`, and what was left out.

    Kept are the `STRONGEST` of all, and of every head the `EACH` strongest that it reads and that read it.
    `pairs` counts the measured pairs of an earlier and a later layer.
    """
    kinds = [str(kind) for kind in dataset["composition_kind"].to_numpy()]
    values = dataset["composition"].transpose("composition_kind", *PAIR).to_numpy()
    heads = values.shape[1] * values.shape[2]
    layer = np.arange(heads) // values.shape[2]
    found: dict[str, Any] = {}
    for kind, scores in zip(kinds, values.reshape(len(kinds), heads, heads), strict=True):
        scores = np.where((layer[:, None] > layer) & np.isfinite(scores), scores, -np.inf)
        later, earlier = _kept(scores)
        found[kind] = {
            "later": later.tolist(),
            "earlier": earlier.tolist(),
            "value": significant(scores[later, earlier], DIGITS),
            "strongest": min(STRONGEST, len(later)),
            "pairs": int(np.isfinite(scores).sum()),
            "baseline": _of_kind(dataset, "composition_baseline", kind),
            "baseline_sd": _of_kind(dataset, "composition_baseline_sd", kind),
        }
    return {"kinds": kinds, "edges": found, "strongest": STRONGEST, "each": EACH}


def _kept(scores: Float) -> tuple[Ints, Ints]:
    """Rows (later) and columns (earlier) of the entries to keep, largest first; −inf is no entry."""
    kept = np.zeros(scores.shape, dtype=np.bool_)
    kept[np.unravel_index(np.argsort(-scores, axis=None, kind="stable")[:STRONGEST], scores.shape)] = True
    for axis in (0, 1):
        order = np.argsort(-scores, axis=axis, kind="stable")
        np.put_along_axis(kept, np.take(order, range(min(EACH, order.shape[axis])), axis=axis), True, axis=axis)
    later, earlier = np.nonzero(kept & np.isfinite(scores))
    order = np.argsort(-scores[later, earlier], kind="stable")
    return later[order], earlier[order]


def _of_kind(dataset: xr.Dataset, name: str, kind: str) -> float | None:
    return significant(dataset[name].sel(composition_kind=kind), DIGITS)[0] if name in dataset else None


def _pairs(dataset: xr.Dataset) -> list[dict[str, Any]] | None:
    """Of each chosen head the tables of token pairs, of its QK and its OV circuit, and its skip-trigrams."""
    if "pair_value" not in dataset:
        return None
    return [
        {
            "head": str(name),
            **{str(circuit): _rows(part.sel(circuit=circuit), PAIR_COLUMNS) for circuit in part["circuit"].to_numpy()},
            "trigrams": _rows(part, TRIGRAM_COLUMNS) if "trigram_qk" in part else [],
        }
        for name in dataset["chosen"].to_numpy()
        for part in [dataset.sel(chosen=name)]
    ]


def _rows(part: xr.Dataset, columns: tuple[str, ...]) -> list[list[Any]]:
    """Rows of a table; those without a number, which fill it up, are left out."""
    read = [part[name].to_numpy() for name in columns]
    texts = [[str(text) for text in column] if column.dtype.kind in "OUT" else None for column in read]
    cells = [text or significant(column, DIGITS) for text, column in zip(texts, read, strict=True)]
    return [list(row) for row in zip(*cells, strict=True) if row[-1] is not None]


def _virtual(dataset: xr.Dataset, kinds: list[str]) -> list[dict[str, Any]] | None:
    if "virtual_behaviour" not in dataset:
        return None
    spread = "virtual_behaviour_sd" in dataset
    return [
        {
            "name": str(name),
            "behaviour": rounded(part["virtual_behaviour"].sel(kind=kinds), DECIMALS),
            "behaviour_sd": rounded(part["virtual_behaviour_sd"].sel(kind=kinds), DECIMALS) if spread else None,
            "copying": rounded(part["virtual_copying"], DECIMALS)[0] if "virtual_copying" in part else None,
        }
        for name in dataset["virtual"].to_numpy()
        for part in [dataset.sel(virtual=name)]
    ]


def _with_error(dataset: xr.Dataset, name: str) -> list[float | None] | None:
    """A number of the whole model and its standard error."""
    if name not in dataset:
        return None
    return [significant(dataset[part], DIGITS)[0] if part in dataset else None for part in (name, f"{name}_se")]
