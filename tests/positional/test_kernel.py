"""Kernels: hard zeros, skip = conditioning, shift invariance, and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from numerics.errors import InvalidArgument
from numerics.models.positions import AlibiBias
from numerics.models.rotary import RotaryTable
from numerics.positional.kernel import (
    admissible_keys,
    condition,
    content_factor,
    exponents_of_mean_key,
    exponents_of_positions,
    positional_kernel,
    softmax_from_factors,
)
from tests.positional.strategies import Float, Rows, close, rows


@given(rows())
def test_rows_sum_to_one_with_hard_zeros_elsewhere(drawn: Rows) -> None:
    kernel = drawn.kernel
    assert close(kernel.sum(axis=-1), np.ones(len(kernel)))
    assert (kernel[~drawn.kept] == 0).all()
    assert (kernel >= 0).all()
    for row in range(len(kernel)):  # one softmax at a time, in the textbook form where that stays finite
        exponents = drawn.exponents[row][drawn.kept[row]]
        weights = np.exp(exponents - exponents.mean()) if np.ptp(exponents) < 700 else None
        assert weights is None or close(kernel[row][drawn.kept[row]], weights / weights.sum())


@given(rows(), st.floats(-1e3, 1e3))
def test_a_constant_on_a_row_changes_nothing(drawn: Rows, constant: float) -> None:
    # Adding 1e3 to exponents of up to 3e3 moves their rounding by 4e3·eps = 1e-12, and the kernel relatively as much.
    shifted = positional_kernel(drawn.exponents + constant, drawn.admissible, drawn.skip)
    assert close(shifted, drawn.kernel)


@given(rows())
def test_skipping_is_conditioning(drawn: Rows) -> None:
    whole = positional_kernel(drawn.exponents, drawn.admissible, 0)
    assume((np.where(drawn.kept, whole, 0).sum(axis=-1) > 1e-200).all())
    conditioned, sink = condition(whole, drawn.admissible, drawn.skip)
    assert close(conditioned, drawn.kernel)
    assert close(sink, whole[:, : drawn.skip].sum(axis=-1))


def test_a_large_gap_gives_a_one_hot_row() -> None:
    exponents = np.array([[0.0, 1e4, -1e4, 0.0]])
    kernel = positional_kernel(exponents, np.ones((1, 4), dtype=bool))
    assert kernel.tolist() == [[0.0, 1.0, 0.0, 0.0]]


@given(rows(), st.integers(0, 2**32 - 1))
def test_softmax_is_kernel_times_content(drawn: Rows, seed: int) -> None:
    assume(np.abs(drawn.exponents).max() < 50)
    scores = drawn.exponents + 2 * np.random.default_rng(seed).standard_normal(drawn.exponents.shape)
    factor = content_factor(scores, drawn.exponents)
    assert close(softmax_from_factors(drawn.kernel, factor), positional_kernel(scores, drawn.admissible, drawn.skip))


def test_admissible_keys() -> None:
    seen = admissible_keys([0, 3], 5, causal=True, window=2).astype(int).tolist()
    assert seen == [[1, 0, 0, 0, 0], [0, 0, 1, 1, 0]]
    assert admissible_keys([0, 3], 5, causal=True).sum() == 5
    assert admissible_keys([0, 3], 5, causal=False).all()


def test_a_query_inside_the_skipped_prefix_is_refused() -> None:
    admissible = admissible_keys([7, 4], 8, causal=True)
    with pytest.raises(InvalidArgument, match="query number 1 sees no key outside the first 5"):
        positional_kernel(np.zeros((2, 8)), admissible, 5)
    with pytest.raises(InvalidArgument, match="query number 1"):
        condition(np.full((2, 8), 0.1), admissible, 5)


def test_what_cannot_be_computed_is_refused() -> None:
    everything = np.ones((1, 3), dtype=bool)
    with pytest.raises(InvalidArgument, match="NaN or infinite"):
        positional_kernel(np.array([[0.0, np.nan, 0.0]]), everything)
    # At a key that is not admissible a score of −∞ is the model's own mask.
    assert positional_kernel(np.array([[0.0, 0.0, -np.inf]]), np.array([[True, True, False]])).tolist() == [
        [0.5, 0.5, 0]
    ]
    with pytest.raises(InvalidArgument, match="wholly on the first 1"):
        condition(np.array([[1.0, 0.0, 0.0]]), everything, 1)
    with pytest.raises(InvalidArgument, match="leaves float64"):
        content_factor(np.array([[800.0]]), np.array([[0.0]]))
    with pytest.raises(InvalidArgument, match="leaves float64"):
        content_factor(np.array([[np.nan]]), np.array([[0.0]]))


# -- closed forms -----------------------------------------------------------------------------------------------------

LENGTH = 40
QUERIES = np.array([20, 39])


def learned(W_Q: Float, W_K: Float, P: Float) -> Float:
    """Exponents (1, I, T) of a head on mean embeddings P (T, D)."""
    keys = P @ W_K.T
    return exponents_of_positions((P @ W_Q.T)[None, QUERIES], keys[None], query_positions=QUERIES, scale=1.0)


def geometric(ratio: float, distance: Float) -> Float:
    weights = ratio**distance
    return weights / weights.sum()


def test_previous_token_head() -> None:
    """Positions are unit vectors and W_K shifts them by one: exponent 30 at the previous token, 0 elsewhere."""
    P = np.eye(LENGTH)
    exponents = learned(np.eye(LENGTH), 30 * np.eye(LENGTH, k=-1), P)
    kernel = positional_kernel(exponents, admissible_keys(QUERIES, LENGTH, causal=True), 5)[0]
    for row, query in enumerate(QUERIES):
        keys = query - 4  # of positions 5 to query
        assert close(kernel[row, query - 1], np.exp(30) / (np.exp(30) + keys - 1))
        assert close(kernel[row, query] * (np.exp(30) + keys - 1), 1.0)


def test_uniform_head() -> None:
    rng = np.random.default_rng(0)
    exponents = learned(rng.standard_normal((3, 8)), np.zeros((3, 8)), rng.standard_normal((LENGTH, 8)))
    kernel = positional_kernel(exponents, admissible_keys(QUERIES, LENGTH, causal=True), 5)[0]
    for row, query in enumerate(QUERIES):
        assert close(kernel[row, 5 : query + 1], np.full(query - 4, 1 / (query - 4)))


def test_exponential_decay_through_learned_positions() -> None:
    """`P_j = (1, j)`, q reads the 1 and k reads j: exponent 0.2·j, kernel geometric in the distance."""
    P = np.stack([np.ones(LENGTH), np.arange(LENGTH)], axis=1)
    exponents = learned(np.array([[0.2, 0.0]]), np.array([[0.0, 1.0]]), P)
    kernel = positional_kernel(exponents, admissible_keys(QUERIES, LENGTH, causal=True), 5)[0]
    for row, query in enumerate(QUERIES):
        assert close(kernel[row, 5 : query + 1], geometric(np.exp(-0.2), query - np.arange(5.0, query + 1)))


def test_alibi_slope() -> None:
    slopes = np.array([0.5, 0.125])
    bias = AlibiBias(slopes).matrix(QUERIES, np.arange(LENGTH))
    q, keys = np.zeros((2, len(QUERIES), 4)), np.ones((2, LENGTH, 4))
    exponents = exponents_of_positions(q, keys, query_positions=QUERIES, scale=1.0, bias=bias)
    kernel = positional_kernel(exponents, admissible_keys(QUERIES, LENGTH, causal=True), 5)
    for head, slope in enumerate(slopes):
        for row, query in enumerate(QUERIES):
            expected = geometric(np.exp(-slope), query - np.arange(5.0, query + 1))
            assert close(kernel[head, row, 5 : query + 1], expected)


@pytest.mark.parametrize("pairing", ["half", "interleaved"])
def test_mean_key_of_a_rotary_head_is_a_cosine_of_the_distance(pairing: str) -> None:
    """One band: exponent σ·|q||k|·cos(θ·(i − j) + φ), φ the angle of q before that of k; the rest adds a constant."""
    table = RotaryTable(4, pairing, np.array([0.3]))  # type: ignore[arg-type]
    q, key = np.zeros((1, len(QUERIES), 4)), np.zeros((1, 4))
    first, second = table.pairs(q)
    first[...], second[...] = 2 * np.cos(0.5), 2 * np.sin(0.5)
    first, second = table.pairs(key)
    first[...], second[...] = 3 * np.cos(0.1), 3 * np.sin(0.1)
    q[..., 3], key[..., 3] = 1.0, 7.0
    exponents = exponents_of_mean_key(q, key, n_keys=LENGTH, query_positions=QUERIES, scale=0.5, rotate=table.rotate)
    distance = QUERIES[:, None] - np.arange(LENGTH)
    assert close(exponents[0], 0.5 * 6 * np.cos(0.3 * distance + 0.4) + 0.5 * 7)


def test_softcap_acts_before_the_bias() -> None:
    q, keys = np.full((1, 1, 1), 4.0), np.full((1, 3, 1), 2.0)
    bias = np.array([[[0.0, 1.0, 2.0]]])
    exponents = exponents_of_positions(q, keys, query_positions=[2], scale=1.0, bias=bias, softcap=3.0)
    assert close(exponents, 3 * np.tanh(8 / 3) + bias)
