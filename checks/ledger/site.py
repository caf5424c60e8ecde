"""What one attention layer of one model computes on one text, with everything that the entries compare."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from numerics.forms.coordinates import profile_coordinates
from numerics.forms.measure import _folded
from numerics.forms.reduction import Reduction, reduce_pair
from numerics.forms.spectrum import antisymmetric_energy, symmetric_spectrum
from numerics.models.heads import HeadWeights
from numerics.models.rotary import RotaryTable
from numerics.positional import kernel
from numerics.positional.split import repeat_heads

if TYPE_CHECKING:
    from numerics.models.visitor import AttentionCall

Float = NDArray[np.float64]
Bool = NDArray[np.bool_]

SKIP = 5
QUERIES = 8


@dataclass(frozen=True)
class LayerSite:
    """Arrays of one layer on one text of T tokens, float64: H query heads, G key/value heads, n dims, D the width.

    `x` (T, D), `q` (H, T, n) and `k` (G, T, n) after QK-norm and rotation, `plain_q`, `plain_k` before the rotation,
    `v` (G, T, n_v); `scores` (H, T, T) with −∞ where forbidden, `pattern` (H, T, T); `bias` (H, T, T) or None;
    `mean_input` P (T, D) and `mean_key` (G, n), over positions ≥ SKIP, of other texts.
    """

    model: str
    layer: int
    heads: HeadWeights
    rotary: RotaryTable | None
    x: Float
    q: Float
    k: Float
    plain_q: Float
    plain_k: Float
    v: Float
    scores: Float
    pattern: Float
    bias: Float | None
    mean_input: Float
    mean_key: Float

    # -- sizes and places -------------------------------------------------------------------------------------------

    @property
    def length(self) -> int:
        return len(self.x)

    @property
    def n_heads(self) -> int:
        return self.heads.n_heads

    @property
    def rounds_inside(self) -> bool:
        """Whether the model rounds queries and keys to float32 on the way, by a norm or by the angles it turns them."""
        return self.heads.q_norm is not None or self.rotary is not None

    @property
    def kv(self) -> list[int]:
        return [self.heads.kv_head(head) for head in range(self.heads.n_heads)]

    @cached_property
    def rng(self) -> np.random.Generator:
        return np.random.default_rng(self.layer)

    @cached_property
    def queries(self) -> NDArray[np.int64]:
        spaced = np.round(self.length * np.arange(1, QUERIES + 1) / QUERIES).astype(np.int64) - 1
        return spaced[spaced > SKIP]

    # -- scores -----------------------------------------------------------------------------------------------------

    @cached_property
    def keys(self) -> Float:
        """(H, T, n): the keys that each query head reads."""
        return repeat_heads(self.k, self.heads.n_heads)

    @cached_property
    def products(self) -> Float:
        """`σ q·k` (H, T, T), before softcap, bias and mask."""
        return self.heads.scale * self.q @ np.swapaxes(self.keys, -1, -2)

    @cached_property
    def admissible(self) -> Bool:
        """(T, T)."""
        return kernel.admissible_keys(
            np.arange(self.length), self.length, causal=self.heads.causal, window=self.heads.window
        )

    # -- kernels of the chosen queries ----------------------------------------------------------------------------

    @cached_property
    def seen(self) -> Bool:
        """(I, T): admissible keys of the chosen queries."""
        return self.admissible[self.queries]

    @cached_property
    def open(self) -> Bool:
        """(I, T): those from position SKIP on."""
        return self.seen & (np.arange(self.length) >= SKIP)

    @cached_property
    def exponents(self) -> Float:
        """Kernel exponents (H, I, T) of the head's own kernel kind."""
        common = {
            "query_positions": self.queries,
            "scale": self.heads.scale,
            "rotate": None if self.rotary is None else self.rotary.rotate,
            "bias": None if self.bias is None else self.bias[:, self.queries],
            "softcap": self.heads.softcap,
        }
        q = self.plain_q[:, self.queries]
        if self.rotary is None:
            mean_keys = np.einsum("gnd,td->gtn", self.heads.W_K, self.mean_input) + self.heads.b_K[:, None]
            return kernel.exponents_of_positions(q, mean_keys, **common)  # type: ignore[arg-type]
        return kernel.exponents_of_mean_key(q, self.mean_key, n_keys=self.length, **common)  # type: ignore[arg-type]

    @cached_property
    def kernel(self) -> Float:
        """(H, I, T)."""
        return kernel.positional_kernel(self.exponents, self.seen, SKIP)

    @cached_property
    def known_scores(self) -> Float:
        """Scores (H, I, T) of the chosen queries, 0 at closed keys."""
        return np.where(self.open, self.scores[:, self.queries], 0.0)

    @cached_property
    def factor(self) -> Float:
        """Content factors (H, I, T), 1 at closed keys."""
        return kernel.content_factor(self.known_scores, np.where(self.open, self.exponents, 0.0))

    @cached_property
    def attention(self) -> Float:
        """Attention (H, I, T) of the chosen queries without the skipped positions."""
        return kernel.condition(self.pattern[:, self.queries], self.seen, SKIP)[0]

    # -- weights ----------------------------------------------------------------------------------------------------

    def factors(self, head: int) -> tuple[Float, Float]:
        """`W_K`, `W_Q` (n, D) of a head, its QK gains folded in."""
        heads = self.heads
        W_K = _folded(heads.W_K, heads.kv_head(head), heads.k_norm, heads.norm, "raw")
        return W_K, _folded(heads.W_Q, head, heads.q_norm, heads.norm, "raw")

    @cached_property
    def reductions(self) -> list[Reduction]:
        return [reduce_pair(*self.factors(head)) for head in range(self.heads.n_heads)]

    @cached_property
    def forms(self) -> list[Float]:
        """The reduced forms (r, r), square, of Frobenius norm about 1."""
        return [square(reduction.form()) for reduction in self.reductions]

    @cached_property
    def spectra(self) -> list[Float]:
        """Eigenvalues of the symmetric parts of `forms`."""
        return [symmetric_spectrum(form) for form in self.forms]

    @cached_property
    def profiles(self) -> list[Float]:
        """Profiles of `forms`."""
        return [
            profile_coordinates(spectrum, antisymmetric_energy(form))
            for spectrum, form in zip(self.spectra, self.forms, strict=True)
        ]


def square(form: Float) -> Float:
    """The form with its zero rows."""
    return np.concatenate([form, np.zeros((form.shape[1] - form.shape[0], form.shape[1]))])


def site_of(
    call: AttentionCall, heads: HeadWeights, rotary: RotaryTable | None, mean_input: Float, mean_key: Float, name: str
) -> LayerSite:
    """The arrays of a visited layer; `call` holds one text."""
    plain_q, plain_k = call.unrotated()
    length, n_heads = call.q.shape[2], call.q.shape[1]
    bias = None if call.bias is None else np.broadcast_to(call.bias[0].double().numpy(), (n_heads, length, length))
    arrays = (call.x, call.q, call.k, plain_q, plain_k, call.v, call.scores(), call.pattern())
    x, q, k, plain_q_, plain_k_, v, scores, pattern = (part[0].double().numpy() for part in arrays)
    return LayerSite(
        name, call.layer, heads, rotary, x, q, k, plain_q_, plain_k_, v, scores, pattern, bias, mean_input, mean_key
    )
