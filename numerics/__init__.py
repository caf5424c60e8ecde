"""Labelled tables and pictures of the attention heads of real language models.

`load_model(reference)` opens a model; `profile(model)` and its siblings measure every head of it and return an
`xarray.Dataset`. Importing this package imports neither torch nor transformers: they are loaded when used.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numerics import report
    from numerics.bands import ablate, attribute, band_metrics
    from numerics.circuits import head_circuits
    from numerics.forms import profile
    from numerics.models import Model, load_model
    from numerics.positional import positional_kernels

__version__: str = version("numerics")

_PROVIDED_BY = {
    "Model": "numerics.models",
    "ablate": "numerics.bands",
    "attribute": "numerics.bands",
    "band_metrics": "numerics.bands",
    "head_circuits": "numerics.circuits",
    "load_model": "numerics.models",
    "positional_kernels": "numerics.positional",
    "profile": "numerics.forms",
}
_ROOMS = frozenset({"report"})

__all__ = [
    "Model",
    "__version__",
    "ablate",
    "attribute",
    "band_metrics",
    "head_circuits",
    "load_model",
    "positional_kernels",
    "profile",
    "report",
]


def __getattr__(name: str) -> Any:
    if name in _PROVIDED_BY:
        return getattr(import_module(_PROVIDED_BY[name]), name)
    if name in _ROOMS:
        return import_module(f"numerics.{name}")
    raise AttributeError(f"module 'numerics' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
