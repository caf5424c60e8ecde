"""Attribution of one query's attention to keys and bands, all nodes of the path in two products."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from numerics.bands.entropy.quadrature import Rule, refinements
from numerics.bands.split import band_scores
from numerics.errors import InvalidArgument
from numerics.models.rotary import Pairing

Float = NDArray[np.float64]

TOLERANCE = 1e-9
"""Incompleteness, as a share of the largest probability, at which the nodes are no longer refined."""
BOUND = 1e-6
"""Incompleteness at which the result is refused: scores of 1e9 and more, where rounding eats the digits."""
TOGETHER = 64


@dataclass(frozen=True)
class PairAttribution:
    """`attribution` (N, B), with the remainder as column B if some dims do not rotate; `probability` (N,).

    `over_bands` = max_j |Σ_b c_jb − p_j| / max p and `over_keys` = max_b |Σ_j c_jb − 1/B| / max p are what the two
    completeness identities lack; both are at most 1e-6 (`BOUND`).
    """

    attribution: Float
    probability: Float
    over_bands: float
    over_keys: float


def pair_attribution(
    q: ArrayLike,
    k: ArrayLike,
    *,
    n_bands: int,
    pairing: Pairing,
    scale: float,
    softcap: float | None = None,
    tolerance: float = TOLERANCE,
) -> PairAttribution:
    """`c_jb = 1/(N B) + ∫₀¹ Σ_i (∂p_j/∂z_i)(∂z_i/∂a_b) ds`, along the path that scales all bands by s (MATH §5).

    `q` (n,) one query, `k` (N, n) its admissible keys, after QK-norm and rotation, in any order; where some dims do not
    rotate B counts the remainder too. Without a softcap that is `1/(N B) + ∫ p_j (x_j^b − E_p x^b) ds`, with one the
    x^b are times `sech²(s x/c)`. A quadrature with weights ω in the nodes' p (S, N) is
    `c = 1/(N B) + (ω p)_j x_jb − (ω p)ᵀ(p x)`: two products. Identities: `Σ_j c_jb = 1/B` for any nodes (theorem
    `attribution_over_keys`), `Σ_b c_jb = p_j(1)` up to quadrature (`attribution_over_bands`); nodes are refined until
    both hold to `tolerance` (16, 32, 64, graded).
    Raises InvalidArgument for shapes that do not fit, NaN or infinity, and an identity off by more than `BOUND`.
    """
    q, k = np.asarray(q, dtype=np.float64), np.asarray(k, dtype=np.float64)
    _check(q, k, softcap)
    with np.errstate(over="ignore", invalid="ignore"):
        x_parts = band_scores(q, k, scale=scale, n_bands=n_bands, pairing=pairing)
        x = x_parts.sum(axis=1)
    if not np.isfinite(x_parts).all() or not np.isfinite(x).all():
        raise InvalidArgument("a score leaves float64", "check q, k and the scale")
    probability = _softmax(x if softcap is None else softcap * np.tanh(x / softcap))
    largest, parts = float(probability.max()), x_parts.shape[1]
    spread = float(np.ptp(x)) if softcap is None else 2 * max(1.0, 1 / softcap) * float(np.abs(x).max())
    for rule in refinements(spread, len(k)):
        attribution = _attribution(x, x_parts, softcap, rule)
        over_bands = float(np.abs(attribution.sum(axis=1) - probability).max()) / largest
        over_keys = float(np.abs(attribution.sum(axis=0) - 1 / parts).max()) / largest
        if max(over_bands, over_keys) <= tolerance:
            break
    if not max(over_bands, over_keys) <= BOUND:
        raise InvalidArgument(
            f"attributions miss their sums by {max(over_bands, over_keys):.1e} of the largest probability: "
            f"scores reach {np.abs(x).max():.1e}",
            "check q, k and the scale",
        )
    return PairAttribution(attribution, probability, over_bands, over_keys)


def _attribution(x: Float, x_parts: Float, softcap: float | None, rule: Rule) -> Float:
    """`c` (N, B) of scores x (N,) and their parts (N, B) by a rule, `TOGETHER` nodes at a time: O(N·(S + B)) memory."""
    mean, attribution = np.zeros(len(x)), np.full(x_parts.shape, 1 / x_parts.size)
    for first in range(0, len(rule.nodes), TOGETHER):
        s = rule.nodes[first : first + TOGETHER, None]
        omega = rule.weights[first : first + TOGETHER, None]
        if softcap is None:
            p = pulled = _softmax(s * x)
        else:
            tanh = np.tanh(s * (x / softcap))
            p = _softmax(softcap * tanh)
            pulled = p * (1 - tanh**2)
        mean += np.einsum("sj,s->j", pulled, omega[:, 0])
        moved = omega * (pulled @ x_parts)
        for keys in _slices(len(x)):
            attribution[keys] -= p[:, keys].T @ moved
    for keys in _slices(len(x)):
        attribution[keys] += mean[keys, None] * x_parts[keys]
    return attribution


def _slices(n: int) -> list[slice]:
    """Keys by the thousand, so that a slice's products stay in the processor's cache."""
    return [slice(first, first + 1024) for first in range(0, n, 1024)]


def _softmax(z: Float) -> Float:
    """Softmax over the last axis."""
    p: Float = z - z.max(axis=-1, keepdims=True)
    np.exp(p, out=p)
    p /= p.sum(axis=-1, keepdims=True)
    return p


def _check(q: Float, k: Float, softcap: float | None) -> None:
    if q.ndim != 1 or k.ndim != 2 or k.shape[1:] != q.shape or not k.size:
        raise InvalidArgument(
            f"a query {q.shape} and keys {k.shape} are not (n,) and (N, n)", "give one query and its admissible keys"
        )
    if softcap is not None and not 0 < softcap < math.inf:
        raise InvalidArgument(f"softcap {softcap} is not positive and finite", "give None for a model without one")
    for name, vectors in (("the query", q[None]), ("a key", k)):
        if not np.isfinite(vectors).all():
            place = int(np.argwhere(~np.isfinite(vectors))[0, 0])
            where = f" at place {place}" if len(vectors) > 1 else ""
            raise InvalidArgument(f"{name}{where} is NaN or infinite", "run the model in float32 or finer")
