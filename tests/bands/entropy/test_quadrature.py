"""Rules on [0, 1]: weights sum to one, and graded panels converge for any range of scores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numerics.bands.entropy.quadrature import Rule, gauss_legendre, graded, refinements

SPREADS = st.floats(0, 1e12)


def mean_top_probability(rule: Rule, gap: float, others: float) -> float:
    """`∫₀¹ e^{Δs}/(m + e^{Δs}) ds` by the rule: one key Δ above m equal ones."""
    return float(rule.weights @ (1 / (1 + others * np.exp(-gap * rule.nodes))))


def exact(gap: float, others: float) -> float:
    """`(log(m + e^Δ) − log(m + 1))/Δ`."""
    return float(np.logaddexp(np.log(others), gap) - np.log1p(others)) / gap


@given(SPREADS)
def test_rules_average_over_the_unit_interval(spread: float) -> None:
    for rule in (graded(spread), *refinements(spread, 1000)):
        assert abs(rule.weights.sum() - 1) <= 1e-14  # up to 656 positive terms: √656·eps = 6e-15
        assert abs(rule.weights @ rule.nodes**3 - 1 / 4) <= 1e-14
        assert (rule.weights > 0).all()
        assert (np.diff(rule.nodes) > 0).all()
        assert 0 < rule.nodes[0] < rule.nodes[-1] < 1


@given(st.floats(1e-2, 1e6), st.floats(1, 1e6))
def test_graded_panels_see_a_sink_of_any_depth(gap: float, others: float) -> None:
    # The pole of a panel [a, 2a] is at π/log m = 0.23 of its distance from 0 at least: where a = 0.75 of it, 0.6
    # half-widths away, (0.6 + 1.17)^−32 = 1e-8 of what the panel holds, which is a share of at most log m/Δ near 1e6.
    # The closed form itself loses eps·14/Δ.
    bound = 1e-8 * min(1, 2 * np.log(1 + others) / gap) + 1e-14 / gap
    assert abs(mean_top_probability(graded(gap), gap, others) - exact(gap, others)) <= bound + 1e-14


def test_64_nodes_miss_a_deep_sink() -> None:
    """Why the graded rule is there: the plain one is wrong by more than the tolerance times 1/Δ."""
    assert abs(mean_top_probability(gauss_legendre(64), 1e4, 1e3) - exact(1e4, 1e3)) > 1e-5
    assert abs(mean_top_probability(graded(1e4), 1e4, 1e3) - exact(1e4, 1e3)) < 1e-11


@pytest.mark.parametrize(("residuals", "nodes"), [(31, [32]), (32, [16, 32, 64, 32])])
def test_few_residuals_prove_nothing(residuals: int, nodes: list[int]) -> None:
    assert [len(rule.nodes) for rule in refinements(8.0, residuals)] == nodes


def test_pairs_of_nodes() -> None:
    assert all(gauss_legendre(n).paired for n in (16, 32, 64))
    assert not gauss_legendre(15).paired
    assert not graded(100.0).paired
    nodes, weights = gauss_legendre(16)
    assert not Rule(nodes**2, weights).paired
    assert not Rule(nodes, weights * nodes).paired
