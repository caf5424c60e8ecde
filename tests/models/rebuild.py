"""Attention scores and outputs rebuilt from `HeadWeights` and the positional scheme alone: slow, obvious, float64."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from numerics.models import HeadWeights, Model, Norm, QKNorm
from numerics.models.rotary import RotaryTable, turn

Float = NDArray[np.float64]


def normed(norm: Norm, x: Float) -> Float:
    """A norm over the last axis of `x` (T, D)."""
    centred = x - x.mean(-1, keepdims=True) if norm.kind == "layernorm" else x
    out = norm.gain * centred / np.sqrt((centred**2).mean(-1, keepdims=True) + norm.eps)
    return out if norm.bias is None else out + norm.bias


def qk_normed(norm: QKNorm | None, x: Float) -> Float:
    """The norm on q or k, `x` (heads, T, n)."""
    if norm is None:
        return x
    centred = x - x.mean(-1, keepdims=True) if norm.kind == "layernorm" else x
    axes = (0, 2) if norm.scope == "all heads" else (2,)
    out = norm.gain[:, None] * centred / np.sqrt((centred**2).mean(axes, keepdims=True) + norm.eps)
    return out if norm.bias is None else out + norm.bias[:, None]


@dataclass(frozen=True)
class Rebuilt:
    """`scores` (H, T, T), bias included, −inf where not admissible; `values` (H, T, n_v).

    `magnitude` (H, T, T) = scale·Σ_b |q_b||k_b| + |bias|: what rounding errors of a score are proportional to.
    """

    scores: Float
    magnitude: Float
    values: Float


def unrotated(heads: HeadWeights, x: Float) -> tuple[Float, Float]:
    """q (H, T, n) and k (G, T, n) before the rotation, after QK-norm."""
    q = qk_normed(heads.q_norm, np.einsum("hnd,td->htn", heads.W_Q, x) + heads.b_Q[:, None])
    k = qk_normed(heads.k_norm, np.einsum("hnd,td->htn", heads.W_K, x) + heads.b_K[:, None])
    return q, k


def rebuild(model: Model, layer: int, x: Float, rotation: tuple[Float, Float] | None) -> Rebuilt:
    """Scores of one layer on the input `x` (T, D) of its attention at positions 0…T−1.

    `rotation` is the model's own (cos, sin), each (T, B); None takes our exact table.
    """
    heads, length = model.heads(layer), len(x)
    positions = np.arange(length)
    q, k = unrotated(heads, x)
    v = np.einsum("hnd,td->htn", heads.W_V, x) + heads.b_V[:, None]
    table = model.positions.rotary(layer)
    if table is not None:
        q, k = (turn(table, z, *rotation) if rotation else table.rotate(z, positions) for z in (q, k))
    to_kv = [heads.kv_head(h) for h in range(heads.n_heads)]
    k, v = k[to_kv], v[to_kv]
    scores = heads.scale * np.einsum("hin,hjn->hij", q, k)
    if heads.softcap is not None:
        scores = heads.softcap * np.tanh(scores / heads.softcap)
    magnitude = heads.scale * np.einsum("hin,hjn->hij", band_norms(table, q), band_norms(table, k))
    bias = model.positions.bias(layer)
    if bias is not None:
        scores = scores + bias.matrix(positions, positions)
        magnitude = magnitude + np.abs(bias.matrix(positions, positions))
    return Rebuilt(np.where(admissible(heads, length), scores, -np.inf), magnitude, v)


def band_norms(table: RotaryTable | None, x: Float) -> Float:
    """Length of each rotary pair of `x` (..., n), then the size of each remaining dim."""
    if table is None:
        return np.abs(x)
    return np.concatenate([np.hypot(*table.pairs(x)), np.abs(x[..., table.rotary_dim :])], axis=-1)


def admissible(heads: HeadWeights, length: int) -> NDArray[np.bool_]:
    query, key = np.arange(length)[:, None], np.arange(length)[None, :]
    allowed = np.ones((length, length), dtype=bool)
    if heads.causal:
        allowed &= key <= query
    if heads.window is not None:
        allowed &= key > query - heads.window
    return allowed


def attention_output(heads: HeadWeights, pattern: Float, values: Float) -> Float:
    """`Σ_h W_O^h Σ_j pattern_ij v_j + b_O` (T, D) from the pattern (H, T, T)."""
    return np.einsum("hdn,hij,hjn->id", heads.W_O, pattern, values) + heads.b_O
