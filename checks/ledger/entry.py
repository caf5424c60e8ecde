"""One line of the ledger: theorems, the formula of `numerics` they speak about, and a residual measured on a head."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from checks.ledger.site import LayerSite

Float = NDArray[np.float64]
Kind = Literal["equality", "inequality"]
TABLES = "tables"
"""The section of what is measured on saved tables; the others are those of MATH.md."""


class Site(Protocol):
    """Where an entry is measured: a layer of a model on a text, or of a saved table."""

    @property
    def layer(self) -> int: ...
    @property
    def n_heads(self) -> int: ...
    @property
    def rounds_inside(self) -> bool: ...


S = TypeVar("S", bound=Site)


@dataclass(frozen=True)
class Entry(Generic[S]):
    """`measure(site)` gives one number per head, or a single one for the whole layer.

    Of an equality: the error, relative to the size of what is compared, at most `tolerance`. Of an inequality: the
    slack `(bound − value)/scale`, at least −`tolerance`. NaN: nothing to compare at this head (a zero form, say).
    `applies(site)` is '' or the reason why the statement says nothing about this layer. `rounded` is the tolerance
    where the model itself rounds to float32 on the way (a norm on queries and keys, angles). `theorems` may be empty:
    then the entry holds a formula to its slow definition, and is checked, not proven.
    """

    claim: str
    section: str
    theorems: tuple[str, ...]
    functions: tuple[str, ...]
    kind: Kind
    measure: Callable[[S], Float]
    tolerance: float
    derivation: str
    rounded: float | None = None
    applies: Callable[[S], str] = lambda site: ""

    @property
    def tier(self) -> str:
        return "proven" if self.theorems else "checked"

    def allowed(self, site: Site) -> float:
        """The tolerance at this layer."""
        return self.tolerance if self.rounded is None or not site.rounds_inside else self.rounded


def always(site: LayerSite) -> str:
    return ""


def rotary(site: LayerSite) -> str:
    return "" if site.rotary is not None else "no rotary positions"


def unrotated(site: LayerSite) -> str:
    return "" if site.rotary is None else "its keys are rotated"


def relative(error: Float, size: Float) -> Float:
    """Largest |error| over all axes but the first, by the largest |size|; (H,)."""
    heads = len(error)
    top = np.abs(error).reshape(heads, -1).max(axis=1)
    scale = np.abs(size).reshape(heads, -1).max(axis=1)
    quotient: Float = top / np.where(scale > 0, scale, 1.0)
    return quotient
