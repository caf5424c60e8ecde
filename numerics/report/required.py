"""What a dataset must hold before a page draws it."""

from __future__ import annotations

from collections.abc import Mapping

import xarray as xr

from numerics.errors import InvalidArgument


def require(
    dataset: xr.Dataset,
    kind: str,
    dims: Mapping[str, tuple[str, ...]],
    next_step: str,
    coordinates: tuple[str, ...] = (),
) -> None:
    """Each name of `dims` stands in the dataset over those dims, in any order, and each of `coordinates` labels it.

    Raises InvalidArgument that begins with the `kind` of dataset and ends with `next_step`. Without `coordinates`,
    `dims` may hold coordinates too, so none of its names is called a variable.
    """
    noun = "the variable " if coordinates else ""
    for name, over in dims.items():
        if name not in dataset or set(dataset[name].dims) != set(over):
            raise InvalidArgument(f"{kind} needs {noun}'{name}' over {', '.join(over)}", next_step)
    for coordinate in coordinates:
        if coordinate not in dataset.coords:
            raise InvalidArgument(f"{kind} lacks the coordinate {coordinate}", next_step)
