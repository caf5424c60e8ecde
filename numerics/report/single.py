"""A site of one page, for what is looked at by itself."""

from __future__ import annotations

from pathlib import Path

import xarray as xr

from numerics.errors import InvalidArgument
from numerics.report.attribution import NEEDS, PASS
from numerics.report.site import write


def attribution_page(dataset: xr.Dataset, out: str | Path) -> Path:
    """Write the page of what `numerics.attribute` returns into the folder `out`, with the files it needs beside it.

    Returns the page. It opens from disk with the network off. The folder is written as `write` does, with its errors.
    Raises InvalidArgument for any other dataset.
    """
    missing = [name for name in NEEDS if name not in dataset]
    if missing:
        raise InvalidArgument(f"a dataset without {', '.join(missing)} has no page of an attribution", PASS)
    return write([dataset], out).with_name("attribution.html")
