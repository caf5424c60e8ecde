"""The slow, obvious version: the whole D × D form, and the definitions as they are written. Source: arXiv 2609.22990.

Tests and benchmarks compare the fast paths with it. It shares no code with them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float64]


def full_form(W_K: Float, W_Q: Float, rotate: Callable[[Float], Float] | None = None) -> Float:
    """`L = W_Kᵀ R W_Q` (D, D); `rotate` maps each vector of length n along the last axis."""
    rotated = W_Q if rotate is None else rotate(W_Q.T).T
    L: Float = W_K.T @ rotated
    return L


def profile_by_definition(L: Float) -> Float:
    """`(a, b, c, d)` of a square `L`, one pair of eigenvalues at a time."""
    S, T = (L + L.T) / 2, (L - L.T) / 2
    eigenvalues = np.linalg.eigvalsh(S)
    positive = sorted((x for x in eigenvalues if x > 0), reverse=True)
    negative = sorted((-x for x in eigenvalues if x < 0), reverse=True)
    length = max(len(positive), len(negative))
    positive += [0.0] * (length - len(positive))
    negative += [0.0] * (length - len(negative))
    a = float(np.sum(T * T))
    b = sum(2 * p * m for p, m in zip(positive, negative, strict=True))
    c = sum((p - m) ** 2 for p, m in zip(positive, negative, strict=True) if p > m)
    d = sum((m - p) ** 2 for p, m in zip(positive, negative, strict=True) if m > p)
    return np.array([a, b, c, d]) / float(np.sum(L * L))


def extras_by_definition(L: Float) -> dict[str, float]:
    """The extras of a nonzero square `L` from its D × D matrices and singular values."""
    S = (L + L.T) / 2
    eigenvalues = np.linalg.eigvalsh(S)
    h = np.linalg.svd(L, compute_uv=False)
    limit = 1e-9 * np.abs(eigenvalues).max()
    plus, minus = int(np.sum(eigenvalues > limit)), int(np.sum(eigenvalues < -limit))
    _, b, c, d = profile_by_definition(L)
    return {
        "symmetric_energy": float(np.sum(S * S) / np.sum(L * L)),
        "pairing": float(1 - np.sqrt((c + d) / (b + c + d))),
        "balance": 1 - abs(plus - minus) / (plus + minus),
        "participation_ratio": float(np.sum(h**2) ** 2 / np.sum(h**4)),
        "stable_rank": float(np.sum(h**2) / h[0] ** 2),
        "trace_ratio": float(np.trace(L) / np.linalg.norm(L)),
        "n_positive": plus,
        "n_negative": minus,
    }
