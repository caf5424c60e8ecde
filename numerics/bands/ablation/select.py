"""Which bands are removed: the lowest fraction of an importance, over the whole model or within each head."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

import numpy as np
from numpy.typing import NDArray

from numerics.errors import InvalidArgument

Float = NDArray[np.float64]
Bool = NDArray[np.bool_]

SELECTIONS = ("global", "head")


def count_removed(bands: int, fraction: float) -> int:
    """`fraction·bands` rounded to the nearest whole number, halves up, the fraction taken as its decimal digits say.

    So 0.3 of 5 bands are 2, though the float 0.3 lies below 3/10.
    """
    if not 0 <= fraction <= 1:
        raise InvalidArgument(f"a fraction of {fraction} of the bands cannot be removed", "use fractions from 0 to 1")
    return int((Decimal(repr(float(fraction))) * bands).to_integral_value(ROUND_HALF_UP))


def lowest(importance: Float, fraction: float, select: str) -> Bool:
    """True where a band is removed: `count_removed` bands of lowest `importance` (layer, head, band), NaN for none.

    `global` ranks all bands of the model together, `head` those of each head by themselves. Of equals the one of the
    lower layer, head, band goes first; so a larger fraction removes all that a smaller one does, and more.
    """
    if select == "global":
        return _lowest(importance.ravel(), fraction).reshape(importance.shape)
    if select == "head":
        heads = importance.reshape(-1, importance.shape[-1])
        return np.stack([_lowest(head, fraction) for head in heads]).reshape(importance.shape)
    raise InvalidArgument(f"selection {select!r} is not known", f"use {' or '.join(SELECTIONS)}")


def _lowest(importance: Float, fraction: float) -> Bool:
    removed = np.zeros(importance.shape, dtype=bool)
    order = np.argsort(importance, kind="stable")  # NaN last, equals in their order
    removed[order[: count_removed(int((~np.isnan(importance)).sum()), fraction)]] = True
    return removed
