"""A score taken apart into position and content: four products and a bias.

`e_i = P_i + E_i` with `P_i` the mean over texts. `q^P = W_Q P_i + b_Q`, `q^E = W_Q E_i`, the same for keys, and
`s_ij = σ·R_{i−j}(q^P + q^E)·(k^P + k^E) + bias(i − j)`. Everything here is un-rotated unless said otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from numerics.errors import InvalidArgument
from numerics.models.heads import QKNorm

Float = NDArray[np.float64]

Rotation = Callable[[Float, ArrayLike], Float]
"""`RotaryTable.rotate`: x (…, T, n) and positions (T,) give each row turned by its position."""


class Parts(NamedTuple):
    """Queries or keys of the heads of one layer, un-rotated, (…, H, T, n); their sum is the whole vector.

    `position` carries the projection's bias and the QK-norm's; without a QK-norm it has no axis of texts.
    """

    position: Float
    content: Float

    @property
    def whole(self) -> Float:
        return self.position + self.content


class Terms(NamedTuple):
    """Summands of the score (…, H, I, J), each named query_key, times the scale; `bias` (H, I, J) or 0."""

    position_position: Float
    position_content: Float
    content_position: Float
    content_content: Float
    bias: Float

    def products(self) -> Float:
        """The sum of the four products: σ·(R q)·k."""
        return self.position_position + self.position_content + self.content_position + self.content_content

    def score(self, softcap: float | None = None) -> Float:
        """The pre-softmax score: the products, `c·tanh(·/c)` with a softcap c, plus the bias."""
        return capped(self.products(), softcap) + self.bias


def capped(score: Float, softcap: float | None) -> Float:
    """`c·tanh(s/c)`, or s without a cap."""
    return score if softcap is None else softcap * np.tanh(score / softcap)


def split_projection(P: Float, E: Float, W: Float, b: Float, norm: QKNorm | None = None) -> Parts:
    """`W P + b` and `W E`; with a QK-norm each is divided by the root mean square of the WHOLE vector, times the gain.

    `P` (T, D), `E` (…, T, D), `W` (H, n, D), `b` (H, n) give parts (…, H, T, n). A LayerNorm is linear up to that
    division too: each part is centred by itself, over the dims that the norm centres over (one head's, or all heads'),
    and the norm's own bias goes to the position part. The eps of the norm is in the root.
    """
    position, content = _project(P, W) + b[:, None, :], _project(E, W)
    if norm is None:
        return Parts(position, content)
    axes = (-1,) if norm.scope == "head" else (-3, -1)
    if norm.kind == "layernorm":
        position = position - position.mean(axis=axes, keepdims=True)
        content = content - content.mean(axis=axes, keepdims=True)
    spread = np.sqrt(np.mean((position + content) ** 2, axis=axes, keepdims=True) + norm.eps)
    gain = norm.gain[:, None, :]
    position, content = gain * position / spread, gain * content / spread
    return Parts(position if norm.bias is None else position + norm.bias[:, None, :], content)


def four_terms(
    query: Parts,
    key: Parts,
    *,
    query_positions: ArrayLike,
    key_positions: ArrayLike,
    scale: float,
    rotate: Rotation | None = None,
    bias: Float | None = None,
) -> Terms:
    """The four products, times `scale`, and the bias, for queries (…, H, I, n) and keys (…, G, J, n), G | H.

    `query_positions` (I,), `key_positions` (J,); `bias` (H, I, J). Both sides are turned by their own position, which
    is `R_{i−j}` on the query side alone (`four_terms_reference`) with I + J rotations instead of I·J.
    """
    heads = query.position.shape[-3]
    turned_q = [_turned(part, query_positions, rotate) for part in query]
    turned_k = [np.swapaxes(repeat_heads(_turned(part, key_positions, rotate), heads), -1, -2) for part in key]
    position_position, position_content, content_position, content_content = (
        scale * (q @ k) for q in turned_q for k in turned_k
    )
    return Terms(
        position_position, position_content, content_position, content_content, np.zeros(()) if bias is None else bias
    )


def four_terms_reference(
    query: Parts,
    key: Parts,
    *,
    query_positions: ArrayLike,
    key_positions: ArrayLike,
    scale: float,
    relative: Rotation | None = None,
    bias: Float | None = None,
) -> Terms:
    """The same, entry by entry, with the rotation on the query side (`RotaryTable.relative`): the oracle, slow."""
    heads, kv_heads = query.position.shape[-3], key.position.shape[-3]
    rows, columns = np.asarray(query_positions), np.asarray(key_positions)
    products = []
    for q in query:
        for k in key:
            lead = np.broadcast_shapes(q.shape[:-3], k.shape[:-3])
            product = np.zeros((*lead, heads, len(rows), len(columns)))
            for head in range(heads):
                for i, row in enumerate(rows):
                    for j, column in enumerate(columns):
                        q_ij = q[..., head, i, :]
                        if relative is not None:
                            q_ij = relative(q_ij, row - column)
                        k_j = k[..., head // (heads // kv_heads), j, :]
                        product[..., head, i, j] = scale * np.sum(q_ij * k_j, axis=-1)
            products.append(product)
    return Terms(products[0], products[1], products[2], products[3], np.zeros(()) if bias is None else bias)


def repeat_heads(keys: Float, heads: int) -> Float:
    """Keys (…, G, T, n) for each of H query heads: head h reads key head h // (H/G). Shape (…, H, T, n)."""
    kv_heads = keys.shape[-3]
    if heads % kv_heads:
        raise InvalidArgument(f"{heads} query heads cannot share {kv_heads} key heads", "give the keys of one layer")
    return keys if kv_heads == heads else np.repeat(keys, heads // kv_heads, axis=-3)


def _project(x: Float, W: Float) -> Float:
    projected: Float = np.asarray(x, dtype=np.float64)[..., None, :, :] @ np.swapaxes(W, -1, -2)
    return projected


def _turned(x: Float, positions: ArrayLike, rotate: Rotation | None) -> Float:
    return x if rotate is None else rotate(x, positions)
