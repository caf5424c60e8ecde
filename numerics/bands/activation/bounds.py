"""How far a path may be from the exact sum, of a row or in all: `error_factor · Σ|σ||q||k|` over the admissible pairs.

The bound is normwise. It cannot be relative to the activation: of keys perpendicular to the queries nothing is left of
|q||k| but its rounding. Worst cases; roundings of random sign stay near the root of the number of keys.
"""

from __future__ import annotations

import numpy as np

from numerics.bands.activation.chooser import Path
from numerics.bands.activation.tiles import FLUSH, KEYS


def error_factor(path: Path, keys: int) -> float:
    """c·eps for queries of up to `keys` admissible keys; the derivations are in `halfplane.py` and `tiles.py`.

    The rows are summed pairwise in float64, which adds less than (16 + log₂ T)·eps.
    """
    if path == "triton":
        return (FLUSH + KEYS + 32) / 2 * float(np.finfo(np.float32).eps)
    return 2 * (keys + 16) * float(np.finfo(np.float64).eps)
