"""Spread, peak and stability of kernels: bounds and symmetries, then closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from numerics.errors import InvalidArgument
from numerics.positional.kernel import admissible_keys, positional_kernel
from numerics.positional.spread import (
    category,
    distance_profile,
    effective_token_count,
    peak_offset,
    query_consistency,
    query_consistency_reference,
    total_variation,
    translation_equivariance,
    uniform_kernel,
)
from tests.positional.strategies import Float, Rows, close, rows

ROUNDING = 1 + 1e-12


@given(rows())
def test_etc_lies_within_its_bounds(drawn: Rows) -> None:
    kernel, etc = drawn.kernel, effective_token_count(drawn.kernel)
    positive = np.where(kernel > 0, kernel, 1.0)
    entropy = -np.sum(positive * np.log(positive), axis=-1)
    assert (etc >= 1 / ROUNDING).all()
    assert (etc <= drawn.kept.sum(axis=-1) * ROUNDING).all()
    assert (etc * ROUNDING >= 1 / kernel.max(axis=-1)).all()
    assert (np.log(etc) <= entropy + 1e-12).all()


@given(rows(), st.randoms(use_true_random=False))
def test_etc_does_not_know_the_order_of_keys(drawn: Rows, random: object) -> None:
    order = np.arange(drawn.kernel.shape[-1])
    random.shuffle(order)  # type: ignore[attr-defined]
    assert close(effective_token_count(drawn.kernel[:, order]), effective_token_count(drawn.kernel))


@given(st.integers(1, 200), st.integers(0, 50))
def test_etc_of_uniform_and_one_hot_rows(m: int, zeros: int) -> None:
    uniform = np.concatenate([np.full(m, 1 / m), np.zeros(zeros)])
    assert close(effective_token_count(uniform), m)
    assert effective_token_count(np.eye(m)[0]) == 1


@pytest.mark.parametrize("rate", [0.01, 0.2, 2.0])
@pytest.mark.parametrize("m", [1, 7, 200])
def test_etc_of_a_geometric_kernel(rate: float, m: int) -> None:
    """`r = e^(−rate)`: ETC = (1 + r)(1 − r^m)/((1 − r)(1 + r^m))."""
    r = np.exp(-rate)
    weights = r ** np.arange(m)
    expected = (1 + r) * (1 - r**m) / ((1 - r) * (1 + r**m))
    assert close(effective_token_count(weights / weights.sum()), expected)


def test_categories() -> None:
    assert [category(etc, 250) for etc in (1.0, 16.0, 16.1, 174.9, 175.0, 250.0)] == [
        "local",
        "local",
        "slow decay",
        "slow decay",
        "uniform",
        "uniform",
    ]
    assert category(9.9, 10) == "local", "few keys are local before they are uniform"


def test_peak_is_key_minus_query() -> None:
    kernel = np.zeros((3, 10))
    kernel[0, 4], kernel[1, 7], kernel[2, 9] = 1, 1, 1
    assert peak_offset(kernel, [5, 7, 5]).tolist() == [-1, 0, 4]
    assert peak_offset(np.stack([kernel, kernel]), [5, 7, 5]).tolist() == [[-1, 0, 4]] * 2


def test_peak_among_equal_values_is_the_nearest_then_the_earlier() -> None:
    flat = np.full((1, 9), 1 / 9)
    assert peak_offset(flat * (1 + 1e-13 * np.arange(9)), [6]).tolist() == [0]
    flat[0, 6] = 0
    assert peak_offset(flat, [6]).tolist() == [-1]


@given(rows())
def test_peak_is_a_largest_value(drawn: Rows) -> None:
    at_peak = np.take_along_axis(drawn.kernel, (peak_offset(drawn.kernel, drawn.queries) + drawn.queries)[:, None], -1)
    assert close(at_peak[:, 0], drawn.kernel.max(axis=-1))


@given(rows())
def test_distance_profile_is_the_mean_over_queries(drawn: Rows) -> None:
    kernel, distances = drawn.kernel, np.arange(-31, 32)
    profile = distance_profile(kernel, drawn.queries, drawn.kept, distances)
    for place, distance in enumerate(distances):
        values = [
            kernel[row, query - distance]
            for row, query in enumerate(drawn.queries)
            if 0 <= query - distance < kernel.shape[-1] and drawn.kept[row, query - distance]
        ]
        assert (np.isnan(profile[place]) and not values) or close(profile[place], np.mean(values))


def geometric_rows(queries: list[int], rate: float, length: int) -> tuple[Float, Float]:
    admissible = admissible_keys(queries, length, causal=True)
    return positional_kernel(rate * np.arange(length) * np.ones((len(queries), 1)), admissible, 2), admissible


@pytest.mark.parametrize("rate", [0.0, 0.1, 3.0])
def test_a_function_of_the_distance_is_equivariant(rate: float) -> None:
    """Also the uniform one: on the distances both queries have, it is the same."""
    queries = [9, 30, 17]
    kernel, admissible = geometric_rows(queries, rate, 40)
    kept = admissible & (np.arange(40) >= 2)
    assert close(translation_equivariance(kernel, queries, kept), 0.0)


def test_a_head_on_one_place_is_not_equivariant() -> None:
    """All mass on position 5: seen from queries 9 and 10 it lies at distances 4 and 5; both have distances 0 to 7."""
    kernel = np.zeros((2, 12))
    kernel[:, 5] = 1
    kept = admissible_keys([9, 10], 12, causal=True) & (np.arange(12) >= 2)
    assert translation_equivariance(kernel, [9, 10], kept) == 1


def test_a_kernel_without_mass_at_common_distances_counts_as_changed() -> None:
    """Queries 5 and 9 have distances 0 to 3 in common, and the second one's mass lies at distance 7."""
    kernel = np.zeros((2, 12))
    kernel[0, 5], kernel[1, 2] = 1, 1
    kept = admissible_keys([5, 9], 12, causal=True) & (np.arange(12) >= 2)
    assert translation_equivariance(kernel, [5, 9], kept) == 1


@given(rows())
def test_equivariance_is_the_mean_over_pairs(drawn: Rows) -> None:
    assume(np.abs(drawn.exponents).max() < 20)
    kernel, values = drawn.kernel, []
    for a, n in enumerate(drawn.queries):
        for b in range(a):
            m = drawn.queries[b]
            by_distance = [
                {int(q) - j: kernel[row, j] for j in np.flatnonzero(drawn.kept[row])} for row, q in ((a, n), (b, m))
            ]
            common = sorted(set(by_distance[0]) & set(by_distance[1]))
            if common:
                p, q = (np.array([values_[d] for d in common]) for values_ in by_distance)
                values.append(np.abs(p / p.sum() - q / q.sum()).sum() / 2)
    result = translation_equivariance(kernel, drawn.queries, drawn.kept)
    assert close(result, np.mean(values)) if values else np.isnan(result)
    backwards = translation_equivariance(kernel[::-1], drawn.queries[::-1], drawn.kept[::-1])
    assert np.array_equal(np.round(backwards, 9), np.round(result, 9), equal_nan=True)


@given(st.integers(2, 7), st.integers(0, 2**32 - 1))
def test_consistency_without_pairs_is_the_mean_over_pairs(texts: int, seed: int) -> None:
    kernels = np.random.default_rng(seed).dirichlet(np.full(6, 0.5), size=(texts, 2, 3))
    kernels[-1] = kernels[0]  # ties
    assert close(query_consistency(kernels), query_consistency_reference(kernels))


def test_consistency_ends() -> None:
    one_hot = np.eye(4)[:, None, :]
    assert query_consistency(one_hot) == 1
    assert query_consistency(np.ones((3, 1, 4)) / 4) == 0
    with pytest.raises(InvalidArgument, match="only one"):
        query_consistency(one_hot[:1])


def test_total_variation_and_uniform_rows() -> None:
    assert total_variation(np.array([0.5, 0.5, 0.0]), np.array([0.0, 0.5, 0.5])) == 0.5
    admissible = admissible_keys([1, 3], 4, causal=True) & (np.arange(4) >= 1)
    assert close(uniform_kernel(admissible), [[0, 1, 0, 0], [0, 1 / 3, 1 / 3, 1 / 3]])
