"""The first layer of a model with learned absolute positions: content and position apart despite the LayerNorm.

For the query at n the input of key j, `x_j = γ·C(u_j + p_j)/√(mean(C(u_j + p_j))² + eps) + β` with token part u_j and
position p_j, is approximated by `content_j + position_j`:
`content_j = γ·C(u_j + p_n)/√(|C(u_j + p_n)|²/D + eps) + β`, `position_j = γ·C(p_j − p_n)/√((|C p_j|² + c²)/D + eps)`,
`c² = mean |C u|²` over the text's tokens (C centres; it commutes with the differences). Exact at j = n. The key is
`W_K(content_j + position_j) + b_K`, and content_j depends on j through the token alone.
Source: the article on contextual neurons of GPT-2, which takes c = 3.5.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numerics.models.heads import Norm

Float = NDArray[np.float64]


class FirstLayerParts(NamedTuple):
    """Approximate inputs (T, D) of the keys as one query sees them: their sum."""

    content: Float
    position: Float


def content_length(tokens: Float) -> float:
    """`c² = mean |C u|²` of token parts (N, D): of a text's tokens, or of the vocabulary for comparison."""
    centred = tokens - tokens.mean(axis=-1, keepdims=True)
    return float(np.mean(np.sum(centred**2, axis=-1)))


def first_layer_parts(tokens: Float, positions: Float, n: int, norm: Norm, c2: float | None = None) -> FirstLayerParts:
    """Approximate inputs of all keys for the query at position n (module docstring).

    `tokens` (T, D): token embedding with all that is added to it but the position (BERT's token type); `positions`
    (T, D): the rows of `W_pos` of positions 0…T−1; `norm`: the LayerNorm (or RMS norm: C = 1) between that sum and the
    attention, the norm before attention or BERT's norm of the embeddings; `c2`: `content_length`, default the text's.
    """
    centre = _centred if norm.kind == "layernorm" else _unchanged
    width = tokens.shape[-1]
    token, position = centre(tokens), centre(positions)
    if c2 is None:
        c2 = float(np.mean(np.sum(token**2, axis=-1)))
    moved = token + position[n]
    content = norm.gain * moved / np.sqrt(np.sum(moved**2, axis=-1, keepdims=True) / width + norm.eps)
    length = np.sqrt((np.sum(position**2, axis=-1, keepdims=True) + c2) / width + norm.eps)
    return FirstLayerParts(
        content if norm.bias is None else content + norm.bias, norm.gain * (position - position[n]) / length
    )


def scores_on_inputs(q: Float, inputs: Float, W_K: Float, b_K: Float, scale: float) -> Float:
    """`σ q·(W_K x_j + b_K)` (H, T) of one query per head, `q` (H, n), on inputs (T, D), `W_K` (H, n, D), `b_K` (H, n).

    As `(W_Kᵀ q)·x_j + q·b_K`: one vector per head, no keys.
    """
    reading = np.einsum("hn,hnd->hd", q, W_K)
    scores: Float = scale * (reading @ inputs.T + np.sum(q * b_K, axis=-1, keepdims=True))
    return scores


def _centred(x: Float) -> Float:
    centred: Float = x - x.mean(axis=-1, keepdims=True)
    return centred


def _unchanged(x: Float) -> Float:
    return x
