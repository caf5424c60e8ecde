"""The four products and the bias sum to the score, whatever stands between input and score."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numerics.errors import InvalidArgument
from numerics.models.heads import QKNorm
from numerics.models.positions import AlibiBias
from numerics.models.rotary import RotaryTable
from numerics.positional.split import Parts, four_terms, four_terms_reference, repeat_heads, split_projection
from tests.positional.strategies import Float, close

HEADS, KV_HEADS, N, WIDTH, LENGTH, TEXTS = 4, 2, 6, 10, 7, 3


def norms(rng: np.random.Generator, heads: int) -> list[QKNorm | None]:
    gain, bias = rng.standard_normal((2, heads, N))
    return [
        None,
        QKNorm("rms", gain, None, 1e-2),
        QKNorm("layernorm", gain, None, 1e-2),
        QKNorm("layernorm", gain, bias, 1e-2),
        QKNorm("rms", gain, None, 1e-2, "all heads"),
        QKNorm("layernorm", gain, bias, 1e-2, "all heads"),
    ]


def normed(x: Float, norm: QKNorm | None) -> Float:
    """The norm as the model applies it to whole vectors (heads, n) of one token."""
    if norm is None:
        return x
    shape, rows = x.shape, x if norm.scope == "head" else x.reshape(1, -1)
    if norm.kind == "layernorm":
        rows = rows - rows.mean(axis=1, keepdims=True)
    rows = rows / np.sqrt((rows**2).mean(axis=1, keepdims=True) + norm.eps)
    result = rows.reshape(shape) * norm.gain
    return result if norm.bias is None else result + norm.bias


TABLES = [
    None,
    RotaryTable(N, "half", np.array([1.0, 0.3, 0.05])),
    RotaryTable(N, "interleaved", np.array([1.0, 0.3])),
    RotaryTable(N, "half", np.array([0.7]), attention_scaling=1.3),
]


@given(
    seed=st.integers(0, 2**32 - 1),
    kind=st.integers(0, 5),
    table=st.sampled_from(TABLES),
    softcap=st.sampled_from([None, 2.0]),
    alibi=st.booleans(),
)
def test_parts_sum_to_the_score(
    seed: int, kind: int, table: RotaryTable | None, softcap: float | None, alibi: bool
) -> None:
    rng = np.random.default_rng(seed)
    P, E = rng.standard_normal((LENGTH, WIDTH)), rng.standard_normal((TEXTS, LENGTH, WIDTH))
    W_Q, b_Q = rng.standard_normal((HEADS, N, WIDTH)), rng.standard_normal((HEADS, N))
    W_K, b_K = rng.standard_normal((KV_HEADS, N, WIDTH)), rng.standard_normal((KV_HEADS, N))
    q_norm, k_norm = norms(rng, HEADS)[kind], norms(rng, KV_HEADS)[kind]
    queries, positions = np.array([2, 5, 6]), np.arange(LENGTH)
    bias = AlibiBias(np.array([0.5, 0.25, 0.1, 0.0])).matrix(queries, positions) if alibi else None
    query = split_projection(P, E, W_Q, b_Q, q_norm)
    query = Parts(*(part[..., queries, :] for part in query))
    key = split_projection(P, E, W_K, b_K, k_norm)
    terms = four_terms(
        query,
        key,
        query_positions=queries,
        key_positions=positions,
        scale=0.3,
        rotate=table.rotate if table else None,
        bias=bias,
    )
    score = np.broadcast_to(terms.score(softcap), (TEXTS, HEADS, len(queries), LENGTH))

    # Token by token, head by head, from whole vectors.
    for text in range(TEXTS):
        for row, i in enumerate(queries):
            for j in range(LENGTH):
                q = normed(W_Q @ (P[i] + E[text, i]) + b_Q, q_norm)
                k = normed(W_K @ (P[j] + E[text, j]) + b_K, k_norm)
                for head in range(HEADS):
                    mine = q[head] if table is None else table.relative(q[head], i - j)
                    s = 0.3 * mine @ k[head // 2]
                    s = s if softcap is None else softcap * np.tanh(s / softcap)
                    s += 0.0 if bias is None else bias[head, row, j]
                    assert close(score[text, head, row, j], s)

    slow = four_terms_reference(
        query,
        key,
        query_positions=queries,
        key_positions=positions,
        scale=0.3,
        relative=table.relative if table else None,
        bias=bias,
    )
    for fast_term, slow_term in zip(terms, slow, strict=True):
        assert close(np.broadcast_to(fast_term, slow_term.shape), slow_term)


@pytest.mark.parametrize("kind", range(6))
def test_without_content_everything_is_position(kind: int) -> None:
    """Biases of the projection and of the norm belong to the position part."""
    rng = np.random.default_rng(kind)
    P, W, b = (
        rng.standard_normal((LENGTH, WIDTH)),
        rng.standard_normal((HEADS, N, WIDTH)),
        rng.standard_normal((HEADS, N)),
    )
    norm = norms(rng, HEADS)[kind]
    parts = split_projection(P, np.zeros((LENGTH, WIDTH)), W, b, norm)
    assert not parts.content.any()
    for token in range(LENGTH):
        assert close(parts.position[:, token], normed(W @ P[token] + b, norm))


def test_content_is_free_of_biases() -> None:
    rng = np.random.default_rng(9)
    E, W = rng.standard_normal((LENGTH, WIDTH)), rng.standard_normal((HEADS, N, WIDTH))
    parts = split_projection(np.zeros_like(E), E, W, np.full((HEADS, N), 5.0))
    assert close(parts.content, np.einsum("hnd,td->htn", W, E))


def test_heads_of_one_group_read_one_key() -> None:
    keys = np.arange(2.0)[:, None, None] * np.ones((2, 3, 4))
    assert repeat_heads(keys, 4)[:, 0, 0].tolist() == [0, 0, 1, 1]
    with pytest.raises(InvalidArgument, match="3 query heads cannot share 2"):
        repeat_heads(keys, 3)
