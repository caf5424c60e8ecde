"""Bands of the queries scaled: Fisher information differentiates the factors, an ablation sets some of them to zero.

With factors θ_b the score of a pair is `Σ_b θ_b σ q_b·k_b` plus the part of the dims that do not rotate. Only q is
scaled: several heads share one k. How far zeroing bands can move a score: theorem `zeroing_bands_moves_at_most`.
"""

from __future__ import annotations

import torch

from numerics.models.rotary import Pairing


def scale_bands(q: torch.Tensor, theta: torch.Tensor, pairing: Pairing) -> torch.Tensor:
    """`q ⊙ θ`: both dims of band b of head h times `theta` (H, B), in `q` (..., H, T, n); dims from 2B on times 1.

    Differentiable in both. A factor 1 leaves its dims bit for bit, a factor 0 makes them zero.
    """
    over_dims = torch.cat([theta, theta], dim=-1) if pairing == "half" else theta.repeat_interleave(2, dim=-1)
    beyond = theta.new_ones(len(theta), q.shape[-1] - over_dims.shape[-1])
    return q * torch.cat([over_dims, beyond], dim=-1)[:, None, :].to(q.dtype)
