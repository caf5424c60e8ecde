"""Activation of the dims that no band turns (partial rotary): one whole product instead of two dims."""

from __future__ import annotations

import numpy as np

from numerics.bands.activation.staging import (
    Array,
    Float,
    check_scale,
    float64,
    keys_seen,
    refuse_non_finite,
    shape_of,
    unscaled,
)

STRIP = 1 << 18
"""Products held at once (2 MiB)."""


def unrotated_activation(q_rest: Array, k_rest: Array, *, scale: float = 1.0, window: int | None = None) -> Float:
    """`Σ_i Σ_j |scale·q_hi·k_gj|` (H,) of the remaining dims, q (H, T, r) and k (G, T, r).

    Admissible keys as in `total_activation`. All pairs, strip by strip: O(T²·r) time, O(T·r) memory. 0 where there are
    no such dims (r = 0). Error at most (r + T + 2)·eps·Σ|q||k|. Raises as `total_activation`.
    """
    shape = shape_of(q_rest, k_rest)
    check_scale(scale)
    keys = keys_seen(shape.length, window)
    found = np.zeros(shape.heads)
    if shape.dims == 0:
        return found
    for head in range(shape.heads):
        kv = head // shape.group
        (q, q_power), (k, k_power) = _scaled(q_rest[head], "q"), _scaled(k_rest[kv], "k")
        total = _total(q, k, keys)
        found[head] = unscaled(np.array(total), np.array(q_power + k_power), scale)
    return found


def _total(q: Float, k: Float, keys: int) -> float:
    total = 0.0
    length = len(q)
    step = max(8, min(512, STRIP // keys))
    for start in range(0, length, step):
        stop = min(length, start + step)
        first = max(0, start - keys + 1)
        products = np.abs(q[start:stop] @ k[first:stop].T)
        distance = np.arange(start, stop)[:, None] - np.arange(first, stop)
        total += float(products[(distance >= 0) & (distance < keys)].sum())
    return total


def _scaled(x: Array, name: str) -> tuple[Float, int]:
    """The dims (T, r) as float64 of size 1, and the power of two that was taken out."""
    values = float64(x)
    largest = float(np.abs(values).max())
    if not np.isfinite(largest):
        raise refuse_non_finite(name)
    power = int(np.frexp(largest)[1])
    return np.ldexp(values, -power), power
