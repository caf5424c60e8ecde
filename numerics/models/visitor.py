"""The attention visitor: one way to see, and to edit, what every attention layer of a running model computes with.

A visitor is called once per attention layer and forward pass with an `AttentionCall`; it returns the queries and keys
to go on with, or None to leave them. Capturing, ablating and scaling are all visitors; there is no second hook.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from numerics.models.rotary import RotaryTable

Tensor = torch.Tensor


@dataclass(frozen=True)
class AttentionCall:
    """What one attention layer computes with, batch first: H query heads, G key/value heads, n dims, T tokens.

    `x` (batch, T, D) what the attention reads; `q` (batch, H, T, n), `k` (batch, G, T, n) after QK-norm and rotation,
    `v` (batch, G, T, n_v); `mask` bool, broadcastable to (batch, H, T, T), True where a query may attend, None where
    every key is admissible; `scale` multiplies q·k; `bias` broadcastable to (batch, H, T, T) or None; `softcap`;
    `window`. `cos`, `sin` (batch or 1, T, B) are the model's own, None without rotary positions.
    """

    layer: int
    x: Tensor
    q: Tensor
    k: Tensor
    v: Tensor
    mask: Tensor | None
    scale: float
    bias: Tensor | None
    softcap: float | None
    window: int | None
    cos: Tensor | None
    sin: Tensor | None
    rotary: RotaryTable | None

    def unrotated(self) -> tuple[Tensor, Tensor]:
        """`q`, `k` before the rotation, by turning back with the model's own cos and sin."""
        return self._turn_back(self.q), self._turn_back(self.k)

    def scores(self) -> Tensor:
        """Scores (batch, H, T, T): `softcap(scale·q·k + bias)`, −∞ where the query may not attend.

        With a softcap c, `c·tanh(s/c)` acts before the bias, as in the models that have one.
        """
        keys = self.k.repeat_interleave(self.q.shape[1] // self.k.shape[1], dim=1)
        scores = self.q @ keys.transpose(-1, -2) * self.scale
        if self.softcap is not None:
            scores = self.softcap * torch.tanh(scores / self.softcap)
        if self.bias is not None:
            scores = scores + self.bias
        return scores if self.mask is None else scores.masked_fill(~self.mask, -math.inf)

    def pattern(self) -> Tensor:
        """Attention probabilities (batch, H, T, T), in float32 or finer; a row without admissible keys is zero."""
        scores = self.scores()
        if scores.dtype in (torch.float16, torch.bfloat16):
            scores = scores.float()
        empty = (scores == -math.inf).all(dim=-1, keepdim=True)
        return torch.softmax(scores.masked_fill(empty, 0.0), dim=-1).masked_fill(empty, 0.0)

    def _turn_back(self, x: Tensor) -> Tensor:
        if self.cos is None or self.sin is None or self.rotary is None:
            return x
        cos, sin = self.cos.unsqueeze(1).to(x.dtype), self.sin.unsqueeze(1).to(x.dtype)
        square = cos * cos + sin * sin  # 1, or the square of the table's attention scaling
        bands, rotary = self.rotary.n_bands, self.rotary.rotary_dim
        half = self.rotary.pairing == "half"
        first, second = (x[..., :bands], x[..., bands:rotary]) if half else (x[..., 0:rotary:2], x[..., 1:rotary:2])
        first, second = (first * cos + second * sin) / square, (second * cos - first * sin) / square
        turned = torch.cat([first, second], -1) if half else torch.stack([first, second], -1).flatten(-2)
        return torch.cat([turned, x[..., rotary:]], dim=-1)


Visitor = Callable[[AttentionCall], tuple[Tensor, Tensor] | None]


def admissible(mask: Tensor | None) -> Tensor | None:
    """A model's mask as bool, True where a query may attend.

    Additive masks hold the most negative finite number of their dtype (or −∞) where attention is forbidden.
    """
    if mask is None or mask.dtype == torch.bool:
        return mask
    return mask > torch.finfo(mask.dtype).min / 2


@dataclass
class Site:
    """One attention module under a visitor: which layer it is, and what its last forward pass read."""

    layer: int
    visitor: Visitor
    rotary: RotaryTable | None
    scale: float
    scale_in_query: bool
    sin_cos_per_band: bool
    window: int | None
    x: Tensor | None = None
    cos: Tensor | None = None
    sin: Tensor | None = None
    visits: int = 0

    def before_forward(self, module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Forward pre-hook: keep the input and the model's own rotation."""
        self.x = args[0] if args else kwargs["hidden_states"]
        self.cos, self.sin = self._rotation(kwargs.get("position_embeddings"))

    def visit(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        mask: Tensor | None,
        *,
        bias: Tensor | None = None,
        softcap: float | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Call the visitor and return the q and k that the model goes on with: the very same if it returns None."""
        self.visits += 1
        assert self.x is not None
        seen = q / self.scale if self.scale_in_query else q
        call = AttentionCall(
            self.layer, self.x, seen, k, v, admissible(mask), self.scale, bias, softcap, self.window,
            self.cos, self.sin, self.rotary,
        )  # fmt: skip
        edited = self.visitor(call)
        if edited is None:
            return q, k
        new_q, new_k = edited
        if new_q is seen:
            return q, new_k
        return (new_q * self.scale if self.scale_in_query else new_q), new_k

    def _rotation(self, embeddings: tuple[Tensor, Tensor] | None) -> tuple[Tensor | None, Tensor | None]:
        """cos and sin (batch, T, B) from what the model hands its attention modules."""
        if embeddings is None or self.rotary is None:
            return None, None
        first, second = embeddings
        if self.sin_cos_per_band:
            return second, first
        bands = self.rotary.n_bands
        step = slice(0, bands) if self.rotary.pairing == "half" else slice(0, 2 * bands, 2)
        return first[..., step], second[..., step]
