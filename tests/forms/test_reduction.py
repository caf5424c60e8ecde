"""Gram path = QR path = the whole D × D form, for every rank."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numerics.forms.description import describe
from numerics.forms.reduction import (
    CONDITION_LIMIT,
    Reduction,
    reduce_by_gram,
    reduce_by_qr,
    reduce_directly,
    reduce_pair,
)
from numerics.forms.reference import extras_by_definition, full_form, profile_by_definition
from tests.forms.agreement import AGREEMENT, agree
from tests.forms.strategies import Float, heads, normal_heads, orthogonal

NUMBERS = (
    "symmetric_energy",
    "participation_ratio",
    "stable_rank",
    "trace_ratio",
    "balance",
    "n_positive",
    "n_negative",
)


def same_as_full(reduction: Reduction, W_K: Float, W_Q: Float) -> bool:
    """Profile, extras and type of the reduced form are those of `W_Kᵀ W_Q` (D, D)."""
    numbers = describe(reduction.form(), reduction.noise)
    L = full_form(W_K, W_Q)
    if not L.any():
        return numbers.type == "zero" and bool(np.isnan(numbers.profile).all())
    if not (L + L.T).any():
        return numbers.type == "antisymmetric" and agree(numbers.profile, [1, 0, 0, 0], 0.0)
    extras = extras_by_definition(L)
    return agree(numbers.profile, profile_by_definition(L), AGREEMENT) and all(
        agree(getattr(numbers, name), extras[name], AGREEMENT) for name in NUMBERS
    )


@given(heads)
def test_every_path_equals_the_full_matrix(pair: tuple[Float, Float]) -> None:
    for reduce in (reduce_pair, reduce_by_qr, reduce_directly):
        assert same_as_full(reduce(*pair), *pair), reduce.__name__


@given(normal_heads())
def test_gram_path_equals_the_full_matrix_where_it_is_taken(pair: tuple[Float, Float]) -> None:
    reduction = reduce_by_gram(*pair)
    if reduction is not None:
        assert same_as_full(reduction, *pair)


def test_planted_faults_are_seen() -> None:
    W_K, W_Q = np.random.default_rng(3).standard_normal((2, 4, 20))
    right = reduce_by_gram(W_K, W_Q)
    assert right is not None
    assert same_as_full(right, W_K, W_Q)
    assert not same_as_full(Reduction(right.key, right.query[:, ::-1], right.noise), W_K, W_Q)
    assert not same_as_full(Reduction(right.key, right.query[:, :4], right.noise), W_K, W_Q)
    assert not same_as_full(Reduction(1.01 * right.key[:, :4] + 0.01, right.query, right.noise), W_K, W_Q)
    assert not same_as_full(Reduction(right.key[::-1], right.query, right.noise), W_K, W_Q)


@pytest.mark.parametrize("n", [1, 2, 17, 60, 64])
@pytest.mark.parametrize("width", [1, 3, 33, 127, 128, 129, 300])
def test_odd_shapes(n: int, width: int) -> None:
    W_K, W_Q = np.random.default_rng(n + width).standard_normal((2, n, width))
    assert same_as_full(reduce_pair(W_K, W_Q), W_K, W_Q)
    assert same_as_full(reduce_by_qr(W_K, W_Q), W_K, W_Q)


def degenerate_heads() -> dict[str, tuple[Float, Float]]:
    rng = np.random.default_rng(11)
    n, width = 16, 200
    W_K, W_Q = rng.standard_normal((2, n, width))
    low = rng.standard_normal((n, 4)) @ rng.standard_normal((4, width))
    dead = W_K.copy()
    dead[5] = 0
    u = rng.standard_normal((n // 2, width))
    v = rng.standard_normal((n // 2, width))
    return {
        "equal": (W_K, W_K),
        "parallel": (W_K, -2.5 * W_K),
        "equal up to order of rows": (W_K, W_K[::-1]),
        "rank 4": (low, rng.standard_normal((n, 4)) @ rng.standard_normal((4, width))),
        "rank 4 in the same space": (low, rng.standard_normal((n, n)) @ low),
        "dead key row": (dead, W_Q),
        "one row shared": (W_K, np.concatenate([W_K[:1], W_Q[1:]])),
        "nearly equal": (W_K, W_K + 1e-7 * W_Q),
        "antisymmetric": (np.concatenate([u, v]), np.concatenate([v, -u])),
        "zero key": (np.zeros((n, width)), W_Q),
        "rows of very different length": (W_K * np.logspace(-6, 0, n)[:, None], W_Q),
        "key and query of very different size": (1e-30 * W_K, 1e20 * W_Q),
        "so small that squares are zero": (1e-170 * W_K, 1e-170 * W_Q),
    }


@pytest.mark.parametrize("name", degenerate_heads())
def test_degenerate_heads_have_the_full_matrix_s_numbers(name: str) -> None:
    W_K, W_Q = degenerate_heads()[name]
    numbers = describe(*_form(W_K, W_Q))
    if name == "antisymmetric":
        assert numbers.type == "antisymmetric"
    elif name == "zero key":
        assert numbers.type == "zero"
    else:
        L = full_form(W_K / np.abs(W_K).max(), W_Q / np.abs(W_Q).max())
        assert agree(numbers.profile, profile_by_definition(L), AGREEMENT)
        assert numbers.n_positive == extras_by_definition(L)["n_positive"]
        assert numbers.n_negative == extras_by_definition(L)["n_negative"]


def test_a_small_symmetric_part_is_not_taken_for_noise() -> None:
    """`W_Q = [v; −u] + ε W_K`, `W_K = [u; v]`: S = ε W_KᵀW_K, semidefinite, of relative size 1e-10: above the noise."""
    u, v = np.random.default_rng(13).standard_normal((2, 8, 200))
    W_K = np.concatenate([u, v])
    numbers = describe(*_form(W_K, np.concatenate([v, -u]) + 1e-10 * W_K))
    assert numbers.type == "I+"
    assert (numbers.n_positive, numbers.n_negative) == (16, 0)
    assert 1e-21 < numbers.symmetric_energy < 1e-19


def _form(W_K: Float, W_Q: Float) -> tuple[Float, float]:
    reduction = reduce_pair(W_K, W_Q)
    return reduction.form(), reduction.noise


@pytest.mark.parametrize(
    ("name", "signature"),
    [
        ("equal", (16, 0)),
        ("parallel", (0, 16)),
        ("rank 4", (4, 4)),
        ("rank 4 in the same space", None),
        ("dead key row", (15, 15)),
        ("one row shared", (16, 15)),
    ],
)
def test_signature_of_rank_deficient_heads(name: str, signature: tuple[int, int] | None) -> None:
    """Known by counting dimensions: a Gram factor without a pivot would count noise of size √eps as eigenvalues."""
    numbers = describe(*_form(*degenerate_heads()[name]))
    if signature is None:
        assert numbers.n_positive + numbers.n_negative == 4
    else:
        assert (numbers.n_positive, numbers.n_negative) == signature


def test_heads_of_full_rank_have_signature_n_n() -> None:
    for n, width in ((1, 2), (8, 16), (32, 384), (64, 768)):
        W_K, W_Q = np.random.default_rng(n).standard_normal((2, n, width))
        numbers = describe(*_form(W_K, W_Q))
        assert (numbers.n_positive, numbers.n_negative) == (n, n)


@pytest.mark.parametrize("name", ["equal", "parallel", "rank 4", "dead key row", "one row shared", "nearly equal"])
def test_pivot_sends_rank_deficient_heads_to_qr(name: str) -> None:
    assert reduce_by_gram(*degenerate_heads()[name]) is None


def test_pivot_keeps_ordinary_heads_on_the_gram_path() -> None:
    for name in ("rows of very different length", "key and query of very different size"):
        assert reduce_by_gram(*degenerate_heads()[name]) is not None


def test_gram_path_is_exact_up_to_its_pivot() -> None:
    """Heads of growing condition number: wherever the Gram path answers, it agrees with QR."""
    rng = np.random.default_rng(5)
    n, width = 12, 150
    basis = orthogonal(rng, width)[: 2 * n]
    answered = []
    for exponent in np.linspace(0, 9, 37):
        mixing = orthogonal(rng, 2 * n) * np.logspace(0, -exponent, 2 * n) @ orthogonal(rng, 2 * n)
        M = mixing @ basis
        gram = reduce_by_gram(M[:n], M[n:])
        answered.append(gram is not None)
        if gram is None:
            continue
        exact = reduce_by_qr(M[:n], M[n:])
        fast, slow = describe(gram.form(), gram.noise), describe(exact.form(), exact.noise)
        assert agree(fast.profile, slow.profile, AGREEMENT)
        assert agree(fast.spectrum, slow.spectrum, AGREEMENT)
        assert (fast.n_positive, fast.n_negative) == (slow.n_positive, slow.n_negative) == (n, n)
    assert answered[0]
    assert not answered[-1]
    assert CONDITION_LIMIT == 1e4  # the tolerance AGREEMENT is derived from it


@given(normal_heads(), st.integers(0, 2**32 - 1))
def test_rotation_acts_on_the_query_alone(pair: tuple[Float, Float], seed: int) -> None:
    W_K, W_Q = pair
    turn = orthogonal(np.random.default_rng(seed), len(W_Q))

    def rotate(x: Float) -> Float:
        return x @ turn.T

    numbers = describe(reduce_pair(W_K, W_Q).form(rotate))
    assert agree(numbers.profile, profile_by_definition(full_form(W_K, W_Q, rotate)), AGREEMENT)
    assert agree(numbers.profile, profile_by_definition(W_K.T @ turn @ W_Q), AGREEMENT)
    assert agree(numbers.trace_ratio, extras_by_definition(W_K.T @ turn @ W_Q)["trace_ratio"], AGREEMENT)


def test_inputs_are_left_as_they_were() -> None:
    W_K, W_Q = np.random.default_rng(2).standard_normal((2, 4, 20))
    before = W_K.copy(), W_Q.copy()
    for reduce in (reduce_pair, reduce_by_qr, reduce_directly):
        reduce(W_K, W_Q).form()
    assert np.array_equal(W_K, before[0])
    assert np.array_equal(W_Q, before[1])


def test_sliced_and_transposed_weights_equal_contiguous_ones() -> None:
    stored = np.random.default_rng(4).standard_normal((40, 3, 6))
    W_K, W_Q = stored[:, 0].T, stored[:, 2].T
    assert not W_K.flags.c_contiguous
    plain = reduce_pair(np.ascontiguousarray(W_K), np.ascontiguousarray(W_Q))
    assert agree(describe(reduce_pair(W_K, W_Q).form()).profile, describe(plain.form()).profile, AGREEMENT)
