"""The definition, node by node: softmax of the scaled scores, and how each band moves it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from numerics.bands.entropy.quadrature import Rule
from numerics.bands.split import band_scores
from numerics.models.rotary import Pairing

Float = NDArray[np.float64]


def pair_attribution_reference(
    q: Float,
    k: Float,
    rule: Rule,
    *,
    n_bands: int,
    pairing: Pairing,
    scale: float,
    softcap: float | None = None,
) -> Float:
    """`c_jb = 1/(N B) + Σ_n ω_n p_j (y_jb − E_p y_b)` (N, B), B with the remainder if there is one.

    `p = softmax(z)`, `z = s x`, `y_b = x^b`; with a softcap c `z = c·tanh(s x/c)`, `y_b = sech²(s x/c)·x^b`.
    """
    x_parts = band_scores(q, k, scale=scale, n_bands=n_bands, pairing=pairing)
    x = x_parts.sum(axis=1)
    attribution = np.full(x_parts.shape, 1 / x_parts.size)
    for s, omega in zip(rule.nodes, rule.weights, strict=True):
        z, y = s * x, x_parts
        if softcap is not None:
            z = softcap * np.tanh(s * x / softcap)
            y = (1 - np.tanh(s * x / softcap) ** 2)[:, None] * x_parts
        p = np.exp(z - z.max())
        p /= p.sum()
        attribution += omega * p[:, None] * (y - p @ y)
    return attribution
