"""What stands between the residual stream and the bilinear form, folded into the weights.

A norm divides by a positive number that depends on the token; what is left of it is linear and goes into the matrix.
For one pair of tokens the score is the folded form times a positive number: its sign, and its order over keys up to
the key's own 1/rms, are the form's. A norm's bias is no part of the form: with one, this is its linear part.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float64]


def fold_input_norm(W: Float, gain: Float, centred: bool) -> Float:
    """`W Γ` for an RMS norm, `W Γ C` for a LayerNorm (`centred`), with `Γ = diag(gain)`, `C = 1 − 𝟏𝟏ᵀ/D`.

    `W` (n, D), `gain` (D,). The form becomes `ΓLΓ`, or `CΓLΓC` (Γ and C do not commute).
    """
    folded: Float = W * gain
    return folded - folded.mean(axis=1, keepdims=True) if centred else folded


def fold_output_norm(W: Float, gain: Float, mean: Float | None) -> Float:
    """`diag(gain) (W − 𝟏 meanᵀ)`: the norm between projection and rotation (QK-norm) of one head.

    `W` (n, D), `gain` (n,); `mean` (D,): of the rows over which the norm centres (`centring_mean`), None for RMS.
    """
    folded: Float = gain[:, None] * (W if mean is None else W - mean)
    return folded


def centring_mean(W: Float) -> Float:
    """Mean (D,) of all rows of `W` (…, n, D): `C_n W = W − 𝟏 meanᵀ` where the norm centres over those rows."""
    mean: Float = W.reshape(-1, W.shape[-1]).mean(axis=0)
    return mean
