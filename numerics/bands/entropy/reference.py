"""The definition, materialised: every score of every band, every covariance. O(T² B) memory."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from numerics.bands.entropy.quadrature import Rule
from numerics.bands.split import band_pairs
from numerics.models.rotary import Pairing

Float = NDArray[np.float64]


def entropy_attribution_reference(
    q: Float,
    k: Float,
    rule: Rule,
    *,
    n_bands: int,
    pairing: Pairing,
    scale: float,
    window: int | None = None,
    softcap: float | None = None,
) -> Float:
    """`h_ib = −Σ_n ω_n Cov_{p(s_n)}(z, ∂z/∂a_b)` (H, T, B), or (H, T, B + 1) with the remainder last if n > 2B.

    `z = s x` and `∂z/∂a_b = x^b`; with a softcap c `z = c·tanh(s x/c)` and `∂z/∂a_b = sech²(s x/c)·x^b`.
    """
    distance = np.arange(q.shape[1])[:, None] - np.arange(k.shape[1])
    admissible = (distance >= 0) & (distance < (window or len(distance)))
    return np.stack(
        [
            _head(scale * q[head], k[head * len(k) // len(q)], rule, admissible, n_bands, pairing, softcap)
            for head in range(len(q))
        ]
    )


def _head(
    q: Float, k: Float, rule: Rule, admissible: NDArray[np.bool_], n_bands: int, pairing: Pairing, softcap: float | None
) -> Float:
    q_pairs, q_rest = band_pairs(q, n_bands=n_bands, pairing=pairing)
    k_pairs, k_rest = band_pairs(k, n_bands=n_bands, pairing=pairing)
    x_parts = np.empty((len(q), len(k), n_bands + (q_rest.shape[-1] > 0)))
    np.einsum("ibc,jbc->ijb", q_pairs, k_pairs, out=x_parts[..., :n_bands])
    if q_rest.shape[-1]:
        x_parts[..., n_bands] = q_rest @ k_rest.T
    x = x_parts.sum(axis=-1)
    shares = np.zeros((len(q), x_parts.shape[-1]))
    for s, omega in zip(rule.nodes, rule.weights, strict=True):
        z, slope = (s * x, 1.0) if softcap is None else (softcap * np.tanh(s * x / softcap), _sech2(s * x / softcap))
        p = softmax(np.where(admissible, z, -np.inf))
        weights = p * (z - (p * z).sum(axis=1, keepdims=True)) * slope
        shares -= omega * np.matmul(weights[:, None, :], x_parts)[:, 0]
    return shares


def softmax(z: Float) -> Float:
    """Softmax of each row."""
    weights = np.exp(z - z.max(axis=-1, keepdims=True))
    p: Float = weights / weights.sum(axis=-1, keepdims=True)
    return p


def _sech2(u: Float) -> Float:
    slope: Float = np.cosh(np.minimum(np.abs(u), 350.0)) ** -2
    return slope
