"""Path expansion of a one-layer attention-only model: its logits as a sum over paths.

`logits = direct path + Σ_h A_h ⊗ (W_U OV_h W_E)` on the embedded tokens (`Formal.path_expansion`, which has no norm and
no bias). With norms it holds for each text with the norms' scales frozen: position i is multiplied by a number of its
own, and what the biases give is a path of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float64]


@dataclass(frozen=True)
class Frozen:
    """A norm frozen on a text: `scale` (T,) is 1/rms or 1/sd at each position; `gain` (D,), `bias` (D,)."""

    scale: Float
    gain: Float
    bias: Float
    centred: bool

    def linear(self, x: Float) -> Float:
        """Without its bias: `scale·Γ C x` of the rows of `x` (T, D)."""
        centred = x - x.mean(axis=-1, keepdims=True) if self.centred else x
        out: Float = self.scale[:, None] * self.gain * centred
        return out


def path_expansion(
    x: Float,
    patterns: Float,
    values: Float,
    outputs: Float,
    unembedding: Float,
    *,
    before: Frozen | None = None,
    after: Frozen | None = None,
    value_bias: Float | None = None,
    output_bias: Float | None = None,
    logit_bias: Float | None = None,
) -> Float:
    """Logits by path (2 + H, T, V): direct, one for each head, and that of all biases; their sum is the logits.

    `x` (T, D) residual before the layer, `patterns` (H, T, T), `values` (H, n, D) per query head, `outputs` (H, D, n),
    `unembedding` (V, D); `before` is the norm that the layer reads through, `after` the final one, None where there is
    none; `value_bias` (H, n), `output_bias` (D,), `logit_bias` (V,). Each head's path is `Formal.head_output_at_query`:
    `Σ_j A_ij W_O W_V x_j`.
    """
    read = x if before is None else before.linear(x)
    written = np.einsum("hij,jd,hnd,hDn->hiD", patterns, read, values, outputs, optimize=True)
    constant = np.zeros_like(x)
    if output_bias is not None:
        constant += output_bias
    shift = np.zeros(values.shape[:2]) if value_bias is None else value_bias
    if before is not None:
        shift = shift + values @ before.bias
    constant += np.einsum("hij,hn,hDn->iD", patterns, shift, outputs, optimize=True)
    parts = np.concatenate([x[None], written, constant[None]])
    if after is not None:
        parts = np.stack([after.linear(part) for part in parts])
        parts[-1] += after.bias
    logits: Float = parts @ unembedding.T
    if logit_bias is not None:
        logits[-1] += logit_bias
    return logits
