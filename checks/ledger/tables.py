"""Tables that the commands saved, a layer at a time: what a user gets, held to the same statements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from checks.ledger.entry import Entry
from checks.ledger.walk import Measured
from numerics.errors import InvalidArgument
from numerics.results import load

Float = NDArray[np.float64]

COMMANDS = {
    "profile": "profile",
    "kernels": "positional_kernels",
    "bands": "band_metrics",
    "circuits": "head_circuits",
}
"""Command of the shell, as it stands in the attribute `created_by` → function of the package."""


@dataclass(frozen=True)
class TableSite:
    """One layer of a table; `numbers(name)` are those of a variable, heads first."""

    layer: int
    table: xr.Dataset
    rounds_inside: bool = False

    @property
    def n_heads(self) -> int:
        return int(self.table.sizes["head"])

    def numbers(self, name: str) -> Float:
        """float64; NaN where the table has none of them for this model."""
        if name not in self.table:
            return np.full(self.n_heads, np.nan)
        found: Float = self.table[name].transpose("head", ...).to_numpy().astype(np.float64)
        return found


def function_of(table: xr.Dataset) -> str | None:
    """The function that made a table; None for what is no result of the four."""
    words = str(table.attrs.get("created_by", "")).split()
    return COMMANDS.get(words[1]) if len(words) > 1 and words[0] == "numerics" else None


def read(folder: Path) -> list[xr.Dataset]:
    """The results in a folder. Raises InvalidArgument where there is none."""
    found = [table for file in sorted(folder.glob("*.nc")) if function_of(table := load(file)) is not None]
    if not found:
        raise InvalidArgument(
            f"{folder} holds no result of numerics as .nc", "save one: numerics profile MODEL --out F.nc"
        )
    return found


def measure(tables: Sequence[xr.Dataset], entries: Sequence[Entry[TableSite]], sha256: str) -> list[Measured]:
    """Every entry on the tables of the model with these weights."""
    of_model: dict[str, list[xr.Dataset]] = {}
    for table in tables:
        if table.attrs.get("sha256") == sha256:
            of_model.setdefault(str(function_of(table)), []).append(table)
    found = []
    for entry in entries:
        measured = Measured(entry)
        mine = of_model.get(entry.functions[0], [])
        if not mine:
            measured.unsuited.append("no table of it was given")
        for table in mine:
            for place in range(table.sizes["layer"]):
                site = TableSite(int(table["layer"][place]), table.isel(layer=place))
                measured.add(site, np.asarray(entry.measure(site), dtype=np.float64))
        found.append(measured)
    return found


def created_by(tables: Sequence[xr.Dataset], sha256: str) -> list[str]:
    """The commands that made the tables of a model, and the texts they read."""
    mine = (table.attrs for table in tables if table.attrs.get("sha256") == sha256)
    return [", text: ".join(str(attrs[name]) for name in ("created_by", "text") if name in attrs) for attrs in mine]
