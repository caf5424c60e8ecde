"""Entropy shares of the bands of every head of a layer, block of queries by block, in O(T) memory."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from numerics.bands.entropy.quadrature import refinements
from numerics.bands.entropy.weights import attention, by_parts_weights, capped_weights
from numerics.bands.split import band_pairs, band_sums
from numerics.errors import InvalidArgument
from numerics.models.rotary import Pairing

Float = NDArray[np.float64]
Bool = NDArray[np.bool_]

BLOCK = 64
TOLERANCE = 1e-6


@dataclass(frozen=True)
class EntropyAttribution:
    """Sums over the queries of a text, in nats; negative = the band sharpens.

    `bands` (H, B) and `unrotated` (H,), the dims that do not rotate (0 where all do), sum to `entropy` (H,), which is
    `Σ_i H(p_i) − log N_i`, but for T times `residual` (H,): the largest `|Σ_b h_b − (H − log N)|` of one query.
    """

    bands: Float
    unrotated: Float
    residual: Float
    entropy: Float


def entropy_attribution(
    q: ArrayLike,
    k: ArrayLike,
    *,
    n_bands: int,
    pairing: Pairing,
    scale: float,
    window: int | None = None,
    softcap: float | None = None,
    block: int = BLOCK,
    tolerance: float = TOLERANCE,
) -> EntropyAttribution:
    """`h_b = Σ_i −∫₀¹ Cov_{p(s)}(z, ∂z/∂a_b) ds` of every head, `z` its scores with band b scaled by a_b = s.

    `q` (H, T, n), `k` (G, T, n) after QK-norm and rotation, G | H; query i sees the keys j ≤ i, with a `window` W only
    i − W < j. Scores are `scale·q·k`, with a `softcap` `c·tanh(·/c)`; for those without, the integrand is
    `s·Cov(x, x^b)`. Integrated gradients of the entropy along the path that scales all bands from 0 to 1 (MATH §5).

    Blocks of at most `block` rows: memory O(block·T). Nodes are refined (16, 32, 64, graded) until no row of the block
    is incomplete by more than `tolerance` nats. The block's maximum is what tells: a single row's residual can vanish
    by chance. Without a softcap a vector added to all keys changes no share (theorem `entropy_share_shift_invariant`),
    but costs digits: rounding is eps·max|x| nats, seen in `residual`. A share of size e² is a difference of terms of e.
    Raises InvalidArgument for shapes that do not fit, NaN or infinity, and scores beyond float64.
    """
    q, k = np.asarray(q, dtype=np.float64), np.asarray(k, dtype=np.float64)
    _check(q, k, window, softcap, block)
    heads, length = q.shape[:2]
    band_pairs(k, n_bands=n_bands, pairing=pairing)
    edges = np.linspace(0, length, math.ceil(length / block) + 1).astype(int)  # even, so that no lone row is left over
    bands, unrotated, residual, entropy = np.zeros((heads, n_bands)), np.zeros(heads), np.zeros(heads), np.zeros(heads)
    for head in range(heads):
        keys = k[head * len(k) // heads]
        for start, stop in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            first = 0 if window is None else max(0, start - window + 1)
            shares, drop, missing = _block(
                scale * q[head, start:stop],
                keys[first:stop],
                _outside(start, stop, first, window),
                n_bands=n_bands,
                pairing=pairing,
                softcap=softcap,
                tolerance=tolerance,
            )
            bands[head] += shares[:n_bands]
            unrotated[head] += shares[n_bands:].sum()
            entropy[head] += drop
            residual[head] = max(residual[head], missing)
    return EntropyAttribution(bands, unrotated, residual, entropy)


def _block(
    q: Float, k: Float, outside: Bool, *, n_bands: int, pairing: Pairing, softcap: float | None, tolerance: float
) -> tuple[Float, float, float]:
    """Sum over a block's queries of the parts' shares (B or B + 1,) and of H − log N, and the worst residual."""
    with np.errstate(over="ignore", invalid="ignore"):
        x = q @ k.T
    if not np.isfinite(x).all():
        raise InvalidArgument("a score leaves float64", "check q, k and the scale")
    y = x if softcap is None else softcap * np.tanh(x / softcap)
    y = np.where(outside, -np.inf, y)
    y -= y.max(axis=1, keepdims=True)
    p_1, drop = attention(y, outside)
    if softcap is None:
        spread = -float(np.where(outside, 0.0, y).min())
    else:
        spread = 2 * max(1.0, 1 / softcap) * float(np.abs(x).max())
    for rule in refinements(spread, len(q)):
        weights = by_parts_weights(y, p_1, rule) if softcap is None else capped_weights(x, outside, softcap, rule)
        shares = band_sums(q * (weights @ k), n_bands=n_bands, pairing=pairing)
        residual = float(np.abs(shares.sum(axis=1) - drop).max())
        if residual <= tolerance:
            break
    return shares.sum(axis=0), float(drop.sum()), residual


def _outside(start: int, stop: int, first: int, window: int | None) -> Bool:
    """Which of the keys first…stop−1 the queries start…stop−1 may not see, (stop − start, stop − first)."""
    distance = np.arange(start, stop)[:, None] - np.arange(first, stop)[None, :]
    return distance < 0 if window is None else (distance < 0) | (distance >= window)


def _check(q: Float, k: Float, window: int | None, softcap: float | None, block: int) -> None:
    if q.ndim != 3 or k.ndim != 3 or q.shape[1:] != k.shape[1:] or not q.size or not k.size or len(q) % len(k):
        raise InvalidArgument(
            f"queries {q.shape} and keys {k.shape} are not (H, T, n) and (G, T, n) of one layer, G a divisor of H",
            "give q and k as the attention call has them, without the batch axis",
        )
    if window is not None and window < 1:
        raise InvalidArgument(f"a window of {window} keys sees nothing", "give at least 1, or None")
    if softcap is not None and not 0 < softcap < math.inf:
        raise InvalidArgument(f"softcap {softcap} is not positive and finite", "give None for a model without one")
    if block < 1:
        raise InvalidArgument(f"a block of {block} rows is empty", "give at least 1")
    for name, x in (("q", q), ("k", k)):
        bad = np.argwhere(~np.isfinite(x))
        if len(bad):
            head, position, _ = bad[0].tolist()
            raise InvalidArgument(
                f"{name} of head {head} is NaN or infinite at position {position}", "run the model in float32 or finer"
            )
