"""The positional kernel of a query: the attention it would give if the keys held no content.

`pos_{n,j} = softmax_j(σ·R_{n−j}(W_Q e_n + b_Q)·(W_K P_j + b_K) + bias(n − j))` over the admissible keys j ≥ k₀, and the
content factor `f_j = exp(score − exponent)` makes up the rest: `softmax_j(score) = pos_j f_j/Σ_k pos_k f_k`.
With a softcap the exponent is capped like the score, so that f = 1 wherever there is no content.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from numerics.errors import InvalidArgument
from numerics.positional.split import Rotation, capped, repeat_heads

Float = NDArray[np.float64]
Bool = NDArray[np.bool_]


def exponents_of_positions(
    q: Float,
    keys: Float,
    *,
    query_positions: ArrayLike,
    scale: float,
    rotate: Rotation | None = None,
    bias: Float | None = None,
    softcap: float | None = None,
) -> Float:
    """Kernel exponents (…, H, I, T) with a key per position (kernel kind `P`).

    `q` (…, H, I, n) whole un-rotated queries at `query_positions` (I,), after QK-norm; `keys` (G, T, n) un-rotated
    mean keys of positions 0…T−1: `W_K P_j + b_K`, which is the mean over texts of the key. With a QK-norm the mean key
    is no function of P_j: give the mean over texts of the normed keys. `bias` (H, I, T).
    """
    rows, columns = np.asarray(query_positions), np.arange(keys.shape[-2])
    if rotate is not None:
        q, keys = rotate(q, rows), rotate(keys, columns)
    products = (scale * q) @ np.swapaxes(repeat_heads(keys, q.shape[-3]), -1, -2)
    exponents = capped(products, softcap)
    return exponents if bias is None else exponents + bias


def exponents_of_mean_key(
    q: Float,
    key: Float,
    *,
    n_keys: int,
    query_positions: ArrayLike,
    scale: float,
    rotate: Rotation | None = None,
    bias: Float | None = None,
    softcap: float | None = None,
) -> Float:
    """Kernel exponents (…, H, I, T) with one key for all positions, turned to each (kernel kind `mean-key`).

    `key` (G, n) is the mean un-rotated key over texts and positions ≥ k₀ (the first ones hold the sink, which would
    dominate it); the exponent is `σ·R_{i−j} q·key`, a function of the distance for a given query.
    """
    keys = np.broadcast_to(key[..., None, :], (*key.shape[:-1], n_keys, key.shape[-1]))
    return exponents_of_positions(
        q, keys, query_positions=query_positions, scale=scale, rotate=rotate, bias=bias, softcap=softcap
    )


def admissible_keys(query_positions: ArrayLike, n_keys: int, *, causal: bool, window: int | None = None) -> Bool:
    """Keys (I, T) that each query may see: j ≤ i if `causal`, and i − j < `window` where there is one."""
    distance = np.asarray(query_positions)[:, None] - np.arange(n_keys)[None, :]
    allowed = distance >= 0 if causal else np.ones_like(distance, dtype=np.bool_)
    return allowed if window is None else allowed & (distance < window)


def positional_kernel(exponents: Float, admissible: Bool, skip: int = 0) -> Float:
    """Softmax of each row (…, I, T) over its admissible keys (I, T) from position `skip` on; exactly 0 elsewhere.

    This is the kernel over all admissible keys conditioned on j ≥ skip. Adding a constant to a row changes nothing.
    Raises InvalidArgument for a row without such a key, and for NaN or infinity at an admissible key.
    """
    allowed = _from(admissible, skip)
    kernel = np.where(allowed, exponents, -np.inf)
    if not (np.isfinite(kernel) == allowed).all():
        raise InvalidArgument("a kernel exponent is NaN or infinite", "run the model in float32 or finer")
    kernel -= kernel.max(axis=-1, keepdims=True)  # in place from here on: these arrays are the largest of the walk
    np.exp(kernel, out=kernel)
    kernel /= kernel.sum(axis=-1, keepdims=True)
    return kernel


def condition(attention: Float, admissible: Bool, skip: int) -> tuple[Float, Float]:
    """Attention rows (…, I, T) given that the key is not among the first `skip`, and the mass (…, I) that was.

    Where all the mass (to rounding) lies on the first positions, nothing can be said about the rest: InvalidArgument.
    """
    kept: Float = np.where(_from(admissible, skip), attention, 0.0)
    rest = kept.sum(axis=-1)
    sink: Float = np.where(admissible, attention, 0.0)[..., :skip].sum(axis=-1)
    if not (rest > 0).all():
        raise InvalidArgument(
            f"a query's attention lies wholly on the first {skip} positions", "skip fewer positions, or other queries"
        )
    return kept / rest[..., None], sink


def content_factor(score: Float, exponents: Float) -> Float:
    """`f = exp(score − exponent)` (…, I, T), both pre-softmax: 1 where the key holds no content.

    Raises InvalidArgument where it leaves float64 (difference above 709) or an argument is not finite.
    """
    difference = score - exponents
    largest = float(np.max(difference, initial=0.0))
    if not largest < np.log(np.finfo(np.float64).max):
        raise InvalidArgument(
            f"a score differs from its positional part by {largest:.4g}, its exponential leaves float64",
            "leave the first positions out",
        )
    return np.exp(difference)


def softmax_from_factors(kernel: Float, factor: Float) -> Float:
    """`pos_j f_j / Σ_k pos_k f_k`: the attention (…, I, T) conditioned on the kernel's keys."""
    weighted = kernel * factor
    result: Float = weighted / weighted.sum(axis=-1, keepdims=True)
    return result


def _from(admissible: Bool, skip: int) -> Bool:
    """The admissible keys (I, T) from position `skip` on, at least one for each query."""
    allowed = admissible & (np.arange(admissible.shape[-1]) >= skip)
    seen = allowed.any(axis=-1)
    if not seen.all():
        row = int(np.flatnonzero(~seen.reshape(-1))[0])
        raise InvalidArgument(
            f"query number {row} sees no key outside the first {skip} positions",
            f"ask for queries at positions {skip} and later",
        )
    return allowed
