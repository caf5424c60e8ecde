"""Names shared by all results, and how a result is written and read.

A result is an `xarray.Dataset`. `.nc` (netCDF4) holds all of it; `.csv` and `.parquet` hold one table of it, see
`to_table`. Files appear whole or not at all, and the same result gives the same bytes.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from numerics.errors import InvalidArgument, UnwritableOutput

if TYPE_CHECKING:  # heavy, so imported where they are used
    import pandas as pd
    import xarray as xr

COORDINATES = ("a", "b", "c", "d")
"""Labels of the dimension `coordinate` of a profile."""

TABLES: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("layer", "head"), ("distance", "band")),
    (("metric", "select", "fraction", "seed"), ()),
    (("key",), ("band",)),
)
"""Dimensions that become rows of a table: those every column has, then those it may have. The first fit is taken."""

SPREAD = ("coordinate", "kind")
"""Dimensions whose labels become columns."""

COUNT = "count"
"""Attribute `units` of variables that hold whole numbers (as floats, NaN where a layer lacks the head)."""

COMPRESSED_ABOVE = 1024
"""Variables of more elements are compressed; for fewer the chunk's own overhead is larger than the gain."""

SUFFIXES = (".nc", ".csv", ".parquet")


def check_writable(path: str | os.PathLike[str]) -> Path:
    """The path, if `save` can write there: known suffix, existing folder, a file that can be made in it.

    To be called before a long computation. Raises InvalidArgument (suffix) or UnwritableOutput (place).
    """
    path = Path(path)
    if path.suffix not in SUFFIXES:
        raise InvalidArgument(f"{path}: unknown suffix {path.suffix!r}", f"use one of {', '.join(SUFFIXES)}")
    if path.is_dir():
        raise UnwritableOutput(f"{path} is a folder", "name a file in it")
    if not path.parent.is_dir():
        raise UnwritableOutput(f"the folder {path.parent} does not exist", "make it first, or write elsewhere")
    probe = _partial(path)
    try:
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise _unwritable(path, error) from None
    return path


def save(dataset: xr.Dataset, path: str | os.PathLike[str]) -> None:
    """Write `dataset` in the format of the suffix of `path`, replacing an older file in one step.

    Raises InvalidArgument (suffix, or no table in it), UnwritableOutput (place, disk full).
    """
    path = check_writable(path)
    if path.suffix == ".nc":
        _replace(path, lambda partial: _write_netcdf(dataset, partial))
        return
    table = to_table(dataset)
    if path.suffix == ".csv":
        _replace(path, lambda partial: table.to_csv(partial, index=False, lineterminator="\n"))
    else:
        _replace(path, lambda partial: table.to_parquet(partial, engine="pyarrow", index=False))


def load(path: str | os.PathLike[str]) -> xr.Dataset:
    """The dataset that `save` wrote to a `.nc` file, in memory. Raises InvalidArgument."""
    import xarray as xr

    path = Path(path)
    if path.suffix != ".nc":
        raise InvalidArgument(f"{path} is not a .nc file", "load the .nc; tables are for pandas and spreadsheets")
    if not path.is_file():
        raise InvalidArgument(f"there is no file {path}", "check the path")
    try:
        with xr.open_dataset(path, engine="h5netcdf") as opened:
            return opened.load()
    except Exception as error:  # HDF5 reports damage as OSError, KeyError, RuntimeError, ValueError, …
        raise InvalidArgument(f"{path} cannot be read as netCDF ({error})", "write it again") from error


def to_table(dataset: xr.Dataset) -> pd.DataFrame:
    """One row per (layer, head[, distance or band]), point of a sweep, or (key[, band]); `model` first.

    A variable with `coordinate` or `kind` gives one column per label, its deviation one with `_sd` behind the label.
    Variables with other dimensions, or without those that all rows have, are left out; so are the heads and bands that
    a layer lacks. The dataset's attrs become those of the table (`.parquet` keeps them). Raises InvalidArgument if
    nothing is left.
    """
    import xarray as xr

    rows, columns = _rows_and_columns(dataset)
    beside = {
        str(name): c for name, c in dataset.coords.items() if c.dims and set(c.dims) <= set(rows) and name not in rows
    }
    table = xr.Dataset({**beside, **columns}).to_dataframe(dim_order=rows).reset_index()
    table = table[[*rows, *beside, *columns]]
    # A band that a layer lacks has numbers of its head beside it.
    own = {name: column for name, column in columns.items() if "band" in column.dims or "band" not in rows}
    numbers = [name for name, column in own.items() if column.dtype.kind == "f"]
    texts = [name for name, column in own.items() if column.dtype.kind in "OUT"]
    absent = table[numbers].isna().all(axis=1) & table[texts].eq("").all(axis=1)
    table = table[~absent].reset_index(drop=True)
    for name, column in columns.items():
        if column.attrs.get("units") == COUNT and table[name].notna().all():
            table[name] = table[name].astype("int64")
    table.insert(0, "model", dataset.attrs.get("model", ""))
    table.attrs = {name: value for name, value in dataset.attrs.items() if isinstance(value, str)}
    return table


def _rows_and_columns(dataset: xr.Dataset) -> tuple[list[str], dict[str, xr.DataArray]]:
    """Dimensions of the rows, and what stands in them, of the first of `TABLES` that the dataset has."""
    for required, optional in TABLES:
        columns: dict[str, xr.DataArray] = {}
        for name, variable in dataset.data_vars.items():
            dims = set(variable.dims)
            spread = [dim for dim in SPREAD if dim in dims]
            if not set(required) <= dims or not dims - {*spread} <= {*required, *optional} or len(spread) > 1:
                continue
            if spread:
                suffix = "_sd" if str(name).endswith("_sd") else ""
                for label in variable[spread[0]].values:
                    columns[f"{label}{suffix}"] = variable.sel({spread[0]: label}, drop=True)
            else:
                columns[str(name)] = variable
        if columns:
            return [dim for dim in (*required, *optional) if any(dim in c.dims for c in columns.values())], columns
    raise InvalidArgument("the result holds no table of heads", "write a .nc file")


def _write_netcdf(dataset: xr.Dataset, path: Path) -> None:
    # Texts as fixed-width characters: variable-length strings would each take a heap entry that does not compress.
    encoding: dict[str, dict[str, object]] = {}
    for name, variable in dataset.variables.items():
        encoding[str(name)] = {"dtype": "S1"} if variable.dtype.kind in "OUT" else {}
        if variable.size > COMPRESSED_ABOVE:
            encoding[str(name)] |= {"zlib": True, "complevel": 4, "shuffle": True}
    dataset.to_netcdf(path, engine="h5netcdf", format="NETCDF4", encoding=encoding)


def _replace(path: Path, write: Callable[[Path], object]) -> None:
    partial = _partial(path)
    try:
        write(partial)
        partial.replace(path)
    except OSError as error:
        raise _unwritable(path, error) from error
    finally:
        partial.unlink(missing_ok=True)


def _partial(path: Path) -> Path:
    """Name of the unfinished file: in the same folder, so that the last step is a rename."""
    return path.with_name(f".{path.stem}.{os.getpid()}.partial{path.suffix}")


def _unwritable(path: Path, error: OSError) -> UnwritableOutput:
    return UnwritableOutput(f"{path} cannot be written ({error.strerror or error})", "choose a folder you may write to")
