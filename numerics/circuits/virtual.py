"""Virtual heads: two heads in a row act as one, `(A₂ ⊗ OV₂)(A₁ ⊗ OV₁) = (A₂A₁) ⊗ (OV₂OV₁)` (`Formal.virtual_head`).

The pattern `A₂A₁` is a pattern again, rows of weights that sum to one (`Formal.virtual_pattern_is_pattern`), causal if
both are (`Formal.virtual_pattern_causal`). What stands in a norm between the two is its linear part.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from numerics.circuits.factors import Factors

Float = NDArray[np.float64]
Bool = NDArray[np.bool_]


def virtual_output(earlier: Factors, later: Factors) -> Factors:
    """`OV₂OV₁` as factors: value `(W_V₂ W_O₁) W_V₁` (n₂, D), output `W_O₂` (D, n₂); query and key as in `later`."""
    return replace(later, value=(later.value @ earlier.output) @ earlier.value)


def virtual_pattern(later: Float, earlier: Float) -> Float:
    """`A₂A₁` (…, T, T)."""
    product: Float = later @ earlier
    return product


def virtual_seen(later: Bool, earlier: Bool) -> Bool:
    """Keys (T, T) that a query reaches through some position that the later head sees."""
    return np.asarray(later.astype(np.float64) @ earlier.astype(np.float64) > 0)
