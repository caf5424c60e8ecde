"""First-layer approximation: exact at the query's own position and in its limit, and the inputs of real code."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from numerics.models import Model
from numerics.models.heads import Norm
from numerics.positional.first_layer import content_length, first_layer_parts, scores_on_inputs
from numerics.positional.measure import layer_of
from tests.models.truth import observe
from tests.positional.strategies import Float, close

LENGTH, WIDTH = 6, 12


def true_inputs(sums: Float, norm: Norm) -> Float:
    if norm.kind == "layernorm":
        sums = sums - sums.mean(axis=1, keepdims=True)
    inputs: Float = norm.gain * sums / np.sqrt((sums**2).mean(axis=1, keepdims=True) + norm.eps)
    return inputs if norm.bias is None else inputs + norm.bias


def drawn_norm(rng: np.random.Generator, kind: str) -> Norm:
    bias = rng.standard_normal(WIDTH) if kind == "layernorm" else None
    return Norm(kind, rng.standard_normal(WIDTH), bias, 0.3)  # type: ignore[arg-type]


@given(st.integers(0, 2**32 - 1), st.sampled_from(["layernorm", "rms"]), st.integers(0, LENGTH - 1))
def test_exact_at_the_query_itself(seed: int, kind: str, n: int) -> None:
    rng = np.random.default_rng(seed)
    tokens, positions = rng.standard_normal((2, LENGTH, WIDTH))
    norm = drawn_norm(rng, kind)
    parts = first_layer_parts(tokens, positions, n, norm)
    assert not parts.position[n].any()
    assert close(parts.content[n], true_inputs(tokens + positions, norm)[n])


@given(st.integers(0, 2**32 - 1), st.integers(0, LENGTH - 1))
def test_content_depends_on_the_token_alone(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    tokens, positions = rng.standard_normal((2, LENGTH, WIDTH))
    tokens[2] = tokens[4]
    parts = first_layer_parts(tokens, positions, n, drawn_norm(rng, "layernorm"))
    assert np.array_equal(parts.content[2], parts.content[4])
    other = first_layer_parts(tokens[::-1], positions, n, drawn_norm(np.random.default_rng(seed), "layernorm"), c2=1.0)
    again = first_layer_parts(tokens, positions, n, drawn_norm(np.random.default_rng(seed), "layernorm"), c2=1.0)
    assert np.array_equal(other.position, again.position)


@pytest.mark.parametrize("kind", ["layernorm", "rms"])
@pytest.mark.parametrize("n", range(LENGTH))
def test_exact_where_tokens_and_positions_are_orthogonal_and_of_equal_length(kind: str, n: int) -> None:
    """Then every |u_j + p_i|² is c² + |p|²: nothing is approximated. Vectors centred, so that both norms agree."""
    rng = np.random.default_rng(n)
    basis = np.linalg.qr(np.concatenate([np.ones((WIDTH, 1)), rng.standard_normal((WIDTH, WIDTH - 1))], axis=1))[0].T
    u, p = (rng.standard_normal((LENGTH, 5)) @ part for part in (basis[1:6], basis[6:11]))
    tokens = 3.5 * u / np.linalg.norm(u, axis=1, keepdims=True)
    positions = 2.0 * p / np.linalg.norm(p, axis=1, keepdims=True)
    norm = drawn_norm(rng, kind)
    parts = first_layer_parts(tokens, positions, n, norm)
    assert close(content_length(tokens), 3.5**2)
    assert close(parts.content + parts.position, true_inputs(tokens + positions, norm))


def test_scores_without_keys_are_the_scores() -> None:
    rng = np.random.default_rng(1)
    q, b_K = rng.standard_normal((2, 3, 4))
    W_K, inputs = rng.standard_normal((3, 4, WIDTH)), rng.standard_normal((LENGTH, WIDTH))
    expected = [[0.5 * q[h] @ (W_K[h] @ x + b_K[h]) for x in inputs] for h in range(3)]
    assert close(scores_on_inputs(q, inputs, W_K, b_K, 0.5), expected)


@pytest.mark.parametrize("case", ["gpt2", "opt", "gpt_neo", "bert", "roberta", "distilbert", "mpnet"])
def test_at_the_query_the_parts_are_what_the_attention_reads(
    case: str, tiny: Callable[[str], Model], ids: torch.Tensor
) -> None:
    model = tiny(case)
    x = observe(model, ids, float64=True).x[0]
    first = layer_of(model, 0, np.array([3, 5]), ids.shape[1], 1).first
    assert first is not None
    tokens, norm, W_pos = first.token_part[ids[0].numpy()], first.norm, first.positions
    for n in range(len(x)):
        parts = first_layer_parts(tokens, W_pos[: len(tokens)], n, norm)
        assert close((parts.content + parts.position)[n], x[n])
