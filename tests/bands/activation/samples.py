"""Queries and keys, generic and degenerate."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float64]
Shape = tuple[int, ...]


def _normal(rng: np.random.Generator, q: Shape, k: Shape) -> tuple[Float, Float]:
    return rng.standard_normal(q), rng.standard_normal(k)


def _ties(rng: np.random.Generator, q: Shape, k: Shape) -> tuple[Float, Float]:
    """A small lattice: many keys of one direction, many exactly perpendicular to a query."""
    return rng.integers(-2, 3, q).astype(float), rng.integers(-2, 3, k).astype(float)


def _signed_zeros(rng: np.random.Generator, q: Shape, k: Shape) -> tuple[Float, Float]:
    values = np.array([0.0, -0.0, 1.0, -1.0])
    return rng.choice(values, q), rng.choice(values, k)


def _zero_keys(rng: np.random.Generator, q: Shape, k: Shape) -> tuple[Float, Float]:
    return rng.standard_normal(q), np.zeros(k)


def _some_zero(rng: np.random.Generator, q: Shape, k: Shape) -> tuple[Float, Float]:
    queries, keys = _normal(rng, q, k)
    queries[:, rng.random(q[1]) < 0.5] = 0.0
    keys[:, rng.random(k[1]) < 0.5] = 0.0
    return queries, keys


def _identical(rng: np.random.Generator, q: Shape, k: Shape) -> tuple[Float, Float]:
    """One key for all positions: every rounding of a running sum has the same sign."""
    return rng.standard_normal(q), np.broadcast_to(rng.standard_normal(k[-1]), k).copy()


def _perpendicular(rng: np.random.Generator, q: Shape, k: Shape) -> tuple[Float, Float]:
    """Bands (x, y) against (−y, x) up to 1e-9, in the interleaved layout; the activation is 1e-9 of its terms."""
    direction = rng.standard_normal(k[-1])
    turned = np.zeros_like(direction)
    even = len(direction) // 2 * 2
    turned[0:even:2], turned[1:even:2] = -direction[1:even:2], direction[0:even:2]
    keys = turned * rng.uniform(0.5, 2.0, (*k[:2], 1)) + 1e-9 * rng.standard_normal(k)
    return np.broadcast_to(direction, q) * rng.uniform(0.5, 2.0, (*q[:2], 1)), keys


def _mixed(rng: np.random.Generator, q: Shape, k: Shape) -> tuple[Float, Float]:
    queries, keys = _normal(rng, q, k)
    return queries * 10 ** rng.uniform(-8, 8, (*q[:2], 1)), keys * 10 ** rng.uniform(-8, 8, (*k[:2], 1))


def _turning(rng: np.random.Generator, q: Shape, k: Shape) -> tuple[Float, Float]:
    """As after rotation (interleaved): constant vectors turned by their position, slow and fast bands."""
    found = []
    for heads, length, dims in (q, k):
        bands = dims // 2
        angle = np.arange(length)[:, None] * 1e4 ** (-np.arange(bands) / max(bands, 1)) + rng.uniform(0, 6, bands)
        x = np.zeros((heads, length, dims))
        x[..., 0 : 2 * bands : 2], x[..., 1 : 2 * bands : 2] = np.cos(angle), np.sin(angle)
        found.append(x * rng.uniform(0.5, 2, (heads, 1, 1)))
    return found[0], found[1]


SAMPLES: dict[str, Callable[[np.random.Generator, Shape, Shape], tuple[Float, Float]]] = {
    "normal": _normal,
    "ties": _ties,
    "signed zeros": _signed_zeros,
    "zero keys": _zero_keys,
    "some zero": _some_zero,
    "identical keys": _identical,
    "perpendicular": _perpendicular,
    "mixed sizes": _mixed,
    "turning": _turning,
}


def sample(kind: str, seed: int, heads: int, kv_heads: int, length: int, dims: int) -> tuple[Float, Float]:
    """Queries (H, T, n) and keys (G, T, n)."""
    return SAMPLES[kind](np.random.default_rng(seed), (heads, length, dims), (kv_heads, length, dims))
