"""Per-head weights of one attention layer, in one layout for every architecture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from numerics.errors import NonFiniteWeight

Float = NDArray[np.float64]


@dataclass(frozen=True)
class Norm:
    """A norm over the model width: `x ↦ gain·x/rms(x)` or `x ↦ gain·(x−mean x)/sd(x) + bias`.

    `gain` (D,) is the factor that is really applied (Gemma stores it minus one); `bias` (D,) or None.
    """

    kind: Literal["rms", "layernorm"]
    gain: Float
    bias: Float | None
    eps: float

    def read_by(self, W: Float) -> Float:
        """Linear part of `W norm(·)`: `W Γ`, or `W Γ C` with `C = 1 − 𝟏𝟏ᵀ/D`. `W` (…, D)."""
        folded: Float = W * self.gain
        return folded - folded.mean(axis=-1, keepdims=True) if self.kind == "layernorm" else folded

    def written_by(self, W: Float) -> Float:
        """Linear part of `norm(W ·)`: `Γ W`, or `Γ C W`. `W` (D, …)."""
        gain = self.gain.reshape(-1, *[1] * (W.ndim - 1))
        scaled: Float = gain * (W - W.mean(axis=0) if self.kind == "layernorm" else W)
        return scaled

    def direction(self, x: Float) -> Float:
        """`x/rms(x)`, or `(x − mean x)/sd(x)`: the norm of each row of `x` (…, D) without its gain and bias."""
        if self.kind == "layernorm":
            x = x - x.mean(axis=-1, keepdims=True)
        unit: Float = x / np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + self.eps)
        return unit


@dataclass(frozen=True)
class QKNorm:
    """The norm between a projection and the rotation: `gain` (heads, n) as applied, `bias` (heads, n) or None.

    `scope` says over what the root mean square is taken: one head's n numbers, or all heads' at once (OLMo 2).
    """

    kind: Literal["rms", "layernorm"]
    gain: Float
    bias: Float | None
    eps: float
    scope: Literal["head", "all heads"] = "head"

    def written_by(self, weights: Float, head: int) -> Float:
        """Linear part of the norm of one head's q or k: `diag(gain) C_n W` (n, D), `C_n` only where the norm centres.

        `weights` (heads, n, D): with scope `all heads` the mean is taken over the rows of all of them.
        """
        W: Float = weights[head]
        if self.kind == "layernorm":
            centred_over = W if self.scope == "head" else weights.reshape(-1, weights.shape[-1])
            W = W - centred_over.mean(axis=0)
        scaled: Float = self.gain[head][:, None] * W
        return scaled

    def apply(self, own: Float, over: Float, head: int) -> Float:
        """The norm of one head's q or k without its bias, (T, n).

        `own` (T, n) are the head's numbers, `over` (T, m) those that mean and rms are taken over: `own` itself, or the
        numbers of all heads side by side with scope `all heads`.
        """
        mean = over.mean(axis=-1, keepdims=True) if self.kind == "layernorm" else np.zeros(1)
        size = np.sqrt(np.mean((over - mean) ** 2, axis=-1, keepdims=True) + self.eps)
        normed: Float = self.gain[head] * (own - mean) / size
        return normed


@dataclass(frozen=True)
class Projection:
    """A linear map split by head: `weight` (heads, n, D) and `bias` (heads, n), zero where the model has none."""

    weight: Float
    bias: Float


@dataclass(frozen=True)
class HeadWeights:
    """Weights of the attention heads of one layer, float64, read from the checkpoint on first use.

    Shapes, with H query heads, G key/value heads, n the head dim and D the width (column vectors, `q = W_Q x + b_Q`):
    `W_Q` (H, n, D), `W_K` (G, n, D), `W_V` (G, n_v, D), `W_O` (H, D, n_v);
    `b_Q` (H, n), `b_K` (G, n), `b_V` (G, n_v), `b_O` (D,).
    Query head `h` reads key/value head `kv_head(h) = h // (H / G)`.
    `norm` is the norm whose output the attention reads (None: the raw residual stream, which for a post-norm
    model is itself the output of an earlier norm), `post_norm` the one between the attention and the residual stream.
    `scale` multiplies q·k; with a `softcap` c the score is `c·tanh(s/c)`; with a `window` w query i sees keys > i − w.
    """

    model: str
    layer: int
    n_heads: int
    n_kv_heads: int
    head_dim: int
    width: int
    scale: float
    causal: bool
    softcap: float | None
    window: int | None
    norm: Norm | None
    post_norm: Norm | None
    q_norm: QKNorm | None
    k_norm: QKNorm | None
    _read_q: Callable[[], Projection] = field(repr=False)
    _read_k: Callable[[], Projection] = field(repr=False)
    _read_v: Callable[[], Projection] = field(repr=False)
    _read_o: Callable[[], tuple[Float, Float]] = field(repr=False)

    def kv_head(self, head: int) -> int:
        """Key/value head that query head `head` reads: `head // (H / G)`."""
        return head // (self.n_heads // self.n_kv_heads)

    @cached_property
    def _q(self) -> Projection:
        return self._finite("Q", self._read_q())

    @cached_property
    def _k(self) -> Projection:
        return self._finite("K", self._read_k())

    @cached_property
    def _v(self) -> Projection:
        return self._finite("V", self._read_v())

    @cached_property
    def _o(self) -> tuple[Float, Float]:
        weight, bias = self._read_o()
        self._check("W_O", weight)
        self._check("b_O", bias[None])
        return weight, bias

    @property
    def W_Q(self) -> Float:
        return self._q.weight

    @property
    def b_Q(self) -> Float:
        return self._q.bias

    @property
    def W_K(self) -> Float:
        return self._k.weight

    @property
    def b_K(self) -> Float:
        return self._k.bias

    @property
    def W_V(self) -> Float:
        return self._v.weight

    @property
    def b_V(self) -> Float:
        return self._v.bias

    @property
    def W_O(self) -> Float:
        return self._o[0]

    @property
    def b_O(self) -> Float:
        return self._o[1]

    def _finite(self, letter: str, projection: Projection) -> Projection:
        self._check(f"W_{letter}", projection.weight)
        self._check(f"b_{letter}", projection.bias)
        return projection

    def _check(self, name: str, by_head: Float) -> None:
        finite = np.isfinite(by_head.reshape(len(by_head), -1)).all(axis=1)
        if not finite.all():
            head = int(np.flatnonzero(~finite)[0])
            raise NonFiniteWeight(
                f"{self.model}: {name} of layer {self.layer}, head {head} holds NaN or infinity",
                "the checkpoint is damaged or overflowed when it was converted: get it again, in its original dtype",
            )
