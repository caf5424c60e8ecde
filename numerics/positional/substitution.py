"""One query token at every position of a text: how the first layer's denominators differ from text to text.

In the first layer of a model with learned absolute positions the input at a position is a function of the token there
and the position alone, so a token can be put anywhere without running the model: `x_n = norm(u + p_n)`. The same query
reads different texts, and what is left in Z is the texts. Source: the article on positional kernels of attention heads.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from numerics.models.heads import Norm
from numerics.positional.denominators import denominator
from numerics.positional.kernel import admissible_keys, content_factor, exponents_of_positions, positional_kernel

Float = NDArray[np.float64]


def normed(x: Float, norm: Norm) -> Float:
    """`γ·x/rms(x)`, or `γ·Cx/sd(x) + β`, over the last axis of `x` (…, D)."""
    centred = x - x.mean(axis=-1, keepdims=True) if norm.kind == "layernorm" else x
    scaled: Float = norm.gain * centred / np.sqrt(np.mean(centred**2, axis=-1, keepdims=True) + norm.eps)
    return scaled if norm.bias is None else scaled + norm.bias


def substituted_denominators(
    q: Float, own_keys: Float, keys: Float, mean_keys: Float, positions: NDArray[np.int64], *, scale: float, skip: int
) -> Float:
    """Z (H, I) of causal queries `q` (H, I, n) put at `positions` (I,) of a text with `keys` (H, T, n).

    `own_keys` (H, I, n) are the keys of the put tokens, which stand in for the text's own there; `mean_keys` (H, T, n)
    give the kernel. Keys before `skip` are left out.
    """
    common = {"query_positions": positions, "scale": scale}
    scores = exponents_of_positions(q, keys, **common)  # type: ignore[arg-type]
    scores[:, np.arange(len(positions)), positions] = scale * np.einsum("hin,hin->hi", q, own_keys)
    exponents = exponents_of_positions(q, mean_keys, **common)  # type: ignore[arg-type]
    seen = admissible_keys(positions, keys.shape[-2], causal=True)
    allowed = seen & (np.arange(keys.shape[-2]) >= skip)
    factor = content_factor(np.where(allowed, scores, 0.0), np.where(allowed, exponents, 0.0))
    return denominator(positional_kernel(exponents, seen, skip), factor)
