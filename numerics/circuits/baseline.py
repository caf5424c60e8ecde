"""Composition that random heads of the same shapes would have.

For a later head and an earlier one of independent standard normal weights the mean square of each score is nearly 1/D:
given L₂ and V₁, `E‖L₂ O V₁‖² = ‖L₂‖²‖V₁‖²`, while `E‖O V₁‖² = D‖V₁‖²`. Gains that are folded in change it.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from numerics.circuits.composition import composition, sides
from numerics.circuits.factors import Factors

Float = NDArray[np.float64]


def composition_baseline(pairs: Iterable[tuple[Factors, Factors]]) -> tuple[Float, Float]:
    """Mean and standard deviation (3,) of the scores Q, K, V over 2 or more `pairs` of random heads (later, earlier).

    The deviation is that of a single pair of heads: what a score of the model may be measured against.
    """
    scores = np.stack(
        [composition(sides(later).read[:, None], sides(earlier).write[None])[:, 0, 0] for later, earlier in pairs]
    )
    return scores.mean(axis=0), scores.std(axis=0, ddof=1)


def random_factors(rng: np.random.Generator, n: int, width: int) -> tuple[Float, Float, Float, Float]:
    """`W_Q`, `W_K`, `W_V` (n, D) and `W_O` (D, n) with independent standard normal entries."""
    q, k, v = rng.standard_normal((3, n, width))
    return q, k, v, rng.standard_normal((width, n))
