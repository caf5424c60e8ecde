"""Entropy shares of the bands of one head: by parts in blocks of rows against every score materialised, float64.

Both paths integrate with the nodes that the fast one ends on, which also pays for finding them.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from checks.benchmarks.case import Calls, Case, apart
from numerics.bands.entropy import entropy_attribution
from numerics.bands.entropy.quadrature import gauss_legendre
from numerics.bands.entropy.reference import entropy_attribution_reference
from numerics.models.rotary import RotaryTable

Float = NDArray[np.float64]

BANDS, SPREAD, NODES = 32, 3.0, 16
AGREEMENT = 1e-6
"""Nats per query."""


def by_parts(q: Float, k: Float) -> Float:
    """Shares (1, B) as the product computes them."""
    return entropy_attribution(q, k, n_bands=BANDS, pairing="half", scale=1.0).bands


def materialised(q: Float, k: Float) -> Float:
    """The same from the covariances of all scores of all bands (T, T, B)."""
    rule = gauss_legendre(NODES)
    rows = entropy_attribution_reference(q, k, rule, n_bands=BANDS, pairing="half", scale=1.0)
    total: Float = rows.sum(axis=1)
    return total


def head(length: int) -> Calls:
    """Rotated Gaussian queries and keys (1, T, n) whose scores have standard deviation 3."""
    rng = np.random.default_rng(0)
    rotary = RotaryTable(2 * BANDS, "half", 1e4 ** (-np.arange(BANDS) / BANDS))
    q, k = (rotary.rotate(rng.standard_normal((1, length, 2 * BANDS)), np.arange(length)) for _ in range(2))
    q *= SPREAD / np.sqrt(2 * BANDS)
    return {"materialised": partial(materialised, q, k), "by parts": partial(by_parts, q, k)}


CASES = tuple(
    Case(
        "entropy", ("materialised", "by parts"), partial(head, length), apart(AGREEMENT * length), T=length, bands=BANDS
    )
    for length in (256, 512, 1024, 2048)
)
