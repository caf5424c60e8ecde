"""What is folded into the weights, against the norms themselves on vectors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numerics.circuits.ends import Ends
from numerics.circuits.folded import factors_of, random_like
from numerics.errors import NonFiniteWeight
from numerics.models import HeadWeights, Model, Norm, QKNorm
from tests.circuits.strategies import close, rngs
from tests.models.rebuild import normed, qk_normed
from tests.models.tiny import TINY

Load = Callable[[str], Model]
kinds = st.sampled_from(["rms", "layernorm"])


def drawn_norm(rng: np.random.Generator, kind: str, width: int) -> Norm:
    return Norm(kind, rng.standard_normal(width), rng.standard_normal(width), 1e-3)  # type: ignore[arg-type]


@given(rngs(), kinds, st.integers(2, 9), st.integers(1, 6))
def test_reading_through_a_norm_is_its_linear_part_on_the_direction(
    rng: np.random.Generator, kind: str, width: int, n: int
) -> None:
    norm, W, x = drawn_norm(rng, kind, width), rng.standard_normal((n, width)), rng.standard_normal((4, width))
    exact = normed(norm, x) @ W.T
    assert norm.bias is not None
    assert close(norm.direction(x) @ norm.read_by(W).T + W @ norm.bias, exact)
    # On x itself it is right up to the positive number that the norm divides by.
    plain = normed(replace(norm, bias=None), x) @ W.T
    ratio = norm.direction(x) @ norm.read_by(W).T / np.where(plain == 0, 1, plain)
    assert close(ratio[plain != 0], np.ones(np.count_nonzero(plain)), 1e-6)


@given(rngs(), kinds, st.integers(2, 9), st.integers(1, 6))
def test_writing_through_a_norm_is_its_linear_part_up_to_a_positive_number(
    rng: np.random.Generator, kind: str, width: int, n: int
) -> None:
    norm = replace(drawn_norm(rng, kind, width), bias=None, eps=0.0)
    W, y = rng.standard_normal((width, n)), rng.standard_normal((5, n))
    linear, exact = y @ norm.written_by(W).T, normed(norm, y @ W.T)
    size = np.linalg.norm(linear, axis=1, keepdims=True) / np.linalg.norm(exact, axis=1, keepdims=True)
    assert close(exact * size, linear, 1e-8)


@given(rngs(), kinds, st.sampled_from(["head", "all heads"]), st.integers(2, 4))
def test_a_qk_norm_on_one_head(rng: np.random.Generator, kind: str, scope: str, n_heads: int) -> None:
    if kind == "layernorm" and scope == "all heads":
        return  # no model has it
    n, width, T = 5, 7, 3
    norm = QKNorm(kind, rng.standard_normal((n_heads, n)), None, 1e-3, scope)  # type: ignore[arg-type]
    weights, x = rng.standard_normal((n_heads, n, width)), rng.standard_normal((T, width))
    vectors = np.einsum("hnd,td->htn", weights, x)
    exact = qk_normed(norm, vectors)
    for head in range(n_heads):
        over = vectors[head] if scope == "head" else np.concatenate(list(vectors), axis=-1)
        assert close(norm.apply(vectors[head], over, head), exact[head])
        linear = x @ norm.written_by(weights, head).T
        size = np.linalg.norm(linear, axis=1, keepdims=True) / np.linalg.norm(exact[head], axis=1, keepdims=True)
        assert close(exact[head] * size, linear, 1e-8)


def without_biases(heads: HeadWeights) -> HeadWeights:
    """The same layer with no bias anywhere, and no eps: what the factors are the linear part of."""
    bare = {}
    for name in ("norm", "post_norm", "q_norm", "k_norm"):
        norm = getattr(heads, name)
        bare[name] = None if norm is None else replace(norm, bias=None, eps=0.0)
    return replace(heads, **bare)


def parallel(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether each row of `a` is a positive multiple of that of `b`."""
    unit = [rows / np.linalg.norm(rows, axis=-1, keepdims=True) for rows in (a, b)]
    return close(unit[0], unit[1], 1e-9)


@pytest.mark.parametrize("case", sorted(TINY))
def test_factors_give_every_architectures_queries_keys_values_and_outputs(case: str, tiny: Load) -> None:
    """Of a residual stream: up to one positive number per token (and, with a QK-norm, per token and head)."""
    model = tiny(case)
    x = np.random.default_rng(0).standard_normal((6, model.width))
    for layer in range(model.n_layers):
        heads = without_biases(model.heads(layer))
        rotary = model.positions.rotary(layer)
        for folded in (True, False):
            read = normed(heads.norm, x) if folded and heads.norm is not None else x
            q = qk_normed(heads.q_norm, np.einsum("hnd,td->htn", heads.W_Q, read))
            k = qk_normed(heads.k_norm, np.einsum("hnd,td->htn", heads.W_K, read))
            for head in range(heads.n_heads):
                group = heads.kv_head(head)
                own = factors_of(heads, head, rotary, folded)
                asked = q[head] if rotary is None else rotary.relative(q[head], 0)
                assert parallel(x @ own.query.T, asked)
                assert parallel(x @ own.key.T, k[group])
                v = read @ heads.W_V[group].T
                assert parallel(x @ own.value.T, v)
                written = v @ heads.W_O[head].T
                assert parallel(
                    v @ own.output.T, written if heads.post_norm is None else normed(heads.post_norm, written)
                )


@pytest.mark.parametrize("case", ["llama", "olmo2", "gemma3", "cohere-qk-norm", "stablelm-qk-norm-bias", "bert"])
def test_a_random_head_has_the_shapes_and_gains_of_the_layer(case: str, tiny: Load) -> None:
    model = tiny(case)
    heads, rng = model.heads(1), np.random.default_rng(0)
    own = random_like(rng, heads, model.positions.rotary(1), True)
    assert own.query.shape == own.key.shape == own.value.shape == (heads.head_dim, heads.width)
    assert own.output.shape == (heads.width, heads.head_dim)
    if heads.norm is not None:  # the size of a column follows the gain that reads it
        many = np.concatenate([random_like(rng, heads, None, True).value for _ in range(40)])
        columns = np.linalg.norm(many, axis=0)
        assert np.corrcoef(columns, np.abs(heads.norm.gain))[0, 1] > 0.95


def test_a_gain_that_is_nan_is_refused(tiny: Load) -> None:
    heads = tiny("llama").heads(1)
    assert heads.norm is not None
    broken = replace(heads, norm=replace(heads.norm, gain=np.full(heads.width, np.nan)))
    with pytest.raises(NonFiniteWeight, match="layer 1, head 2"):
        factors_of(broken, 2, None, True)


@pytest.mark.parametrize("case", ["gpt2", "llama", "gemma2", "bloom", "cohere", "opt-post-norm", "t5", "bert"])
@pytest.mark.parametrize("folded", [True, False])
def test_the_ends_of_a_model(case: str, folded: bool, tiny: Load) -> None:
    model = tiny(case)
    ends, vocabulary = Ends(model.vocabulary, folded), model.vocabulary
    ids, norm = np.array([3, 60, 3, 12]), model.heads(0).norm
    tokens = vocabulary.W_E[ids]
    if folded and vocabulary.embedding_norm is not None:
        tokens = normed(replace(vocabulary.embedding_norm, bias=None), tokens)
    if folded and norm is not None:
        bare = replace(norm, bias=None)
        assert close(ends.read(ids, norm) * norm.gain, normed(bare, tokens))
    else:
        assert close(ends.read(ids, norm), tokens)
    assert ends.has_logits == (case != "bert")
    if case == "bert":
        return
    assert vocabulary.W_U is not None
    last = vocabulary.final_norm if folded else None
    W_U, W_E = vocabulary.W_U, vocabulary.W_E
    # As whole matrices: Γ and C as D × D.
    C = np.eye(model.width) - 1 / model.width
    if last is not None:
        W_U = W_U @ np.diag(last.gain) @ (C if last.kind == "layernorm" else np.eye(model.width))
    if folded and vocabulary.embedding_norm is not None:
        W_E = W_E @ C @ np.diag(vocabulary.embedding_norm.gain)
    assert close(ends.unembedding(ids), (W_U - W_U.mean(axis=0))[ids])
    assert close(ends.cross, W_E.T @ W_U)
