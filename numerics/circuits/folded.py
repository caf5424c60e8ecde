"""From a layer's weights to the factors of its heads, with what stands before, between and after them folded in.

`raw`: the gains of a QK-norm and of a norm between attention and residual alone. `folded`: the norm before attention
too.
A norm divides by a positive number that depends on the token; what is left of it is linear and goes into the matrix.
Biases are no part of it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from numerics.circuits.baseline import random_factors
from numerics.circuits.factors import Factors
from numerics.errors import NonFiniteWeight
from numerics.models.heads import HeadWeights, Projection, QKNorm
from numerics.models.rotary import RotaryTable

Float = NDArray[np.float64]


def factors_of(heads: HeadWeights, head: int, rotary: RotaryTable | None, folded: bool) -> Factors:
    """The factors of one head, for a query and a key at the same position (δ = 0).

    Raises NonFiniteWeight naming layer and head where a gain is NaN or infinite.
    """
    group = heads.kv_head(head)
    query = heads.W_Q[head] if heads.q_norm is None else heads.q_norm.written_by(heads.W_Q, head)
    key = heads.W_K[group] if heads.k_norm is None else heads.k_norm.written_by(heads.W_K, group)
    value, output = heads.W_V[group], heads.W_O[head]
    if heads.post_norm is not None:
        output = heads.post_norm.written_by(output)
    if folded and heads.norm is not None:
        query, key, value = (heads.norm.read_by(matrix) for matrix in (query, key, value))
    if rotary is not None:  # at δ = 0 only YaRN and LongRoPE do anything: they scale the rotary dims
        query = rotary.relative(query.T, 0).T
    if not all(np.isfinite(matrix).all() for matrix in (query, key, value, output)):
        raise NonFiniteWeight(
            f"{heads.model}: a norm's gain at layer {heads.layer}, head {head} holds NaN or infinity",
            "the checkpoint is damaged or overflowed when it was converted: get it again, in its original dtype",
        )
    return Factors(query, key, value, output)


def random_like(rng: np.random.Generator, heads: HeadWeights, rotary: RotaryTable | None, folded: bool) -> Factors:
    """A head of standard normal weights with the shapes of this layer's heads and the norms of one of them."""
    head = int(rng.integers(heads.n_heads))
    q, k, v, o = random_factors(rng, heads.head_dim, heads.width)
    zero = np.zeros((1, heads.head_dim))
    alone = replace(
        heads,
        n_heads=1,
        n_kv_heads=1,
        q_norm=_of_one_head(heads.q_norm, head),
        k_norm=_of_one_head(heads.k_norm, heads.kv_head(head)),
        _read_q=lambda: Projection(q[None], zero),
        _read_k=lambda: Projection(k[None], zero),
        _read_v=lambda: Projection(v[None], zero),
        _read_o=lambda: (o[None], np.zeros(heads.width)),
    )
    return factors_of(alone, 0, rotary, folded)


def _of_one_head(norm: QKNorm | None, head: int) -> QKNorm | None:
    return None if norm is None else replace(norm, gain=norm.gain[head : head + 1])
