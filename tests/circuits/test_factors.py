"""Thin factors against the matrices that they stand for."""

from __future__ import annotations

import numpy as np
from hypothesis import given

from numerics.circuits.factors import Factors, triangle
from tests.circuits.strategies import close, heads, rngs, well_conditioned


@given(heads())
def test_a_triangle_has_the_norms_of_its_matrix(head: Factors) -> None:
    R = triangle(head.query)
    assert close(R.T @ R, head.query @ head.query.T)


@given(heads())
def test_singular_values_are_those_of_the_whole_matrix(head: Factors) -> None:
    for found, whole in (
        (head.qk_singular_values, head.QK()),
        (head.ov_singular_values, head.OV()),
    ):
        expected = np.linalg.svd(whole, compute_uv=False)
        m = min(len(expected), len(found))
        assert close(found[:m], expected[:m])
        assert not found[m:].any()
    assert len(head.qk_singular_values) == len(head.query)
    assert len(head.ov_singular_values) == len(head.value)


@given(heads(), rngs())
def test_a_change_of_basis_of_the_head_changes_no_product(head: Factors, rng: np.random.Generator) -> None:
    """`Formal.qk_change_of_basis`, `Formal.ov_change_of_basis`."""
    M, N = well_conditioned(rng, len(head.query)), well_conditioned(rng, len(head.value))
    changed = Factors(np.linalg.inv(M).T @ head.query, M @ head.key, N @ head.value, head.output @ np.linalg.inv(N))
    assert close(changed.QK(), head.QK())
    assert close(changed.OV(), head.OV())
    assert close(changed.qk_singular_values, head.qk_singular_values, 1e-9)
