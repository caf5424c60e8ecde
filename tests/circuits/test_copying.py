"""Copying through the small product against the V × V matrix."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numerics.circuits.copying import (
    ROWS,
    copying_eigenvalues,
    copying_product,
    copying_score,
    cross_gram,
    own_logit_lift,
)
from tests.circuits.strategies import close, random_head, rngs, well_conditioned


def drawn(rng: np.random.Generator, n: int, width: int, vocabulary: int) -> tuple[np.ndarray, ...]:
    head = random_head(rng, 1, n, width)
    return head.value, head.output, *rng.standard_normal((2, vocabulary, width))


shapes = st.tuples(rngs(), st.integers(1, 6), st.integers(1, 9), st.integers(1, 25))


@given(shapes)
def test_traces_of_powers_are_those_of_the_whole_matrix(shape: tuple[np.random.Generator, int, int, int]) -> None:
    """`Formal.copying_trace_powers`: they determine the nonzero eigenvalues, without comparing roots one by one."""
    value, output, W_E, W_U = drawn(*shape)
    found = copying_eigenvalues(copying_product(value, output, cross_gram(W_E, W_U)))
    whole = W_U @ output @ value @ W_E.T
    size = max(1.0, float(np.linalg.norm(whole)))
    for power in (1, 2, 3):
        trace = np.trace(np.linalg.matrix_power(whole / size, power))
        assert close(np.sum((found / size) ** power).real, trace, 1e-9)


@given(shapes)
def test_eigenvalues_are_those_of_the_whole_matrix(shape: tuple[np.random.Generator, int, int, int]) -> None:
    """`Formal.copying_eigenvalue_iff`, by residual: `W_U OV W_E − λ` is singular up to rounding of its norm."""
    value, output, W_E, W_U = drawn(*shape)
    found = copying_eigenvalues(copying_product(value, output, cross_gram(W_E, W_U)))
    whole = W_U @ output @ value @ W_E.T
    # The factors' norms, not that of their product, which they may cancel in: 1e3 roundings of it.
    size = np.prod([np.linalg.norm(matrix) for matrix in (value, output, W_E, W_U)])
    for eigenvalue in found[np.abs(found) > 1e-9 * size]:
        smallest = np.linalg.svd(whole - eigenvalue * np.eye(len(whole)), compute_uv=False)[-1]
        assert smallest < 1e-12 * size


@given(shapes)
def test_a_change_of_basis_of_the_values_leaves_the_score(shape: tuple[np.random.Generator, int, int, int]) -> None:
    value, output, W_E, W_U = drawn(*shape)
    cross, N = cross_gram(W_E, W_U), well_conditioned(shape[0], len(value))
    plain = copying_product(value, output, cross)
    changed = copying_product(N @ value, output @ np.linalg.inv(N), cross)
    assert close(changed, N @ plain @ np.linalg.inv(N), 1e-9)
    traces = [np.trace(np.linalg.matrix_power(product, 3)) for product in (plain, changed)]
    assert close(traces[1], traces[0], 1e-8)
    assert -1 - 1e-12 <= copying_score(copying_eigenvalues(plain)) <= 1 + 1e-12


@given(rngs(), st.integers(1, 5), st.floats(0.1, 10.0))
def test_a_copying_head_scores_one_and_its_opposite_minus_one(rng: np.random.Generator, n: int, scale: float) -> None:
    """W_U OV W_E positive semidefinite: OV a multiple of a projection, W_U = W_E."""
    basis = np.linalg.qr(rng.standard_normal((8, n)))[0]
    W_E = rng.standard_normal((30, 8))
    cross = cross_gram(W_E, W_E)
    for sign in (1.0, -1.0):
        product = copying_product(basis.T, sign * scale * basis, cross)
        assert close(copying_score(copying_eigenvalues(product)), sign)


def test_a_head_that_writes_nothing_has_no_score() -> None:
    assert np.isnan(copying_score(copying_eigenvalues(np.zeros((3, 3)))))


def test_a_rotation_has_no_copying() -> None:
    assert copying_score(copying_eigenvalues(np.array([[0.0, -1.0], [1.0, 0.0]]))) == pytest.approx(0.0, abs=1e-15)


def test_rows_of_a_long_table_are_all_summed() -> None:
    rng = np.random.default_rng(0)
    W_E, W_U = rng.standard_normal((2, ROWS + 3, 2))
    assert close(cross_gram(W_E, W_U), W_E.T @ W_U, 1e-8)


@given(shapes)
def test_own_logit_is_the_diagonal_less_the_column_mean(shape: tuple[np.random.Generator, int, int, int]) -> None:
    value, output, W_E, W_U = drawn(*shape)
    whole = W_U @ output @ value @ W_E.T  # row: token that is raised, column: token attended to
    expected = np.diag(whole) - whole.mean(axis=0)
    assert close(own_logit_lift(W_E @ value.T, W_U - W_U.mean(axis=0), output), expected)
