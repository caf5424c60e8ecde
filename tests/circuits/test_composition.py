"""Composition through thin factors against the D × D matrices, and the theorems of `Formal/Circuits`."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numerics.circuits.baseline import composition_baseline, random_factors
from numerics.circuits.composition import composition, sides
from numerics.circuits.factors import Factors
from tests.circuits.strategies import Float, close, heads, orthonormal, random_head, rngs, two_heads


def materialised_scores(later: Factors, earlier: Factors) -> Float:
    L, OV_2, OV_1 = later.QK().T, later.OV(), earlier.OV()
    ratios = []
    for A in (L, L.T, OV_2):
        norms = np.linalg.norm(A) * np.linalg.norm(OV_1)
        ratios.append(np.linalg.norm(A @ OV_1) / norms if norms > 0 else 0.0)
    return np.array(ratios)


def scores(later: Factors, earlier: Factors) -> Float:
    return composition(sides(later).read[:, None], sides(earlier).write[None])[:, 0, 0]


@given(two_heads())
def test_scores_are_those_of_the_whole_matrices(pair: tuple[Factors, Factors]) -> None:
    assert close(scores(*pair), materialised_scores(*pair))


@given(two_heads())
def test_scores_lie_in_the_unit_interval(pair: tuple[Factors, Factors]) -> None:
    """`Formal.composition_in_unit_interval`."""
    found = scores(*pair)
    assert (found >= 0).all()
    assert (found <= 1 + 1e-12).all()


@given(two_heads(), rngs())
def test_a_rotation_of_the_residual_basis_changes_no_score(
    pair: tuple[Factors, Factors], rng: np.random.Generator
) -> None:
    """`Formal.composition_orthonormal_invariant`."""
    V = orthonormal(rng, pair[0].query.shape[1])
    turned = [Factors(h.query @ V.T, h.key @ V.T, h.value @ V.T, V @ h.output) for h in pair]
    assert close(scores(*turned), scores(*pair))


@given(two_heads(), st.sampled_from([-1.0, 1e-150, 3.0, 1e150]))
def test_scale_changes_no_score(pair: tuple[Factors, Factors], t: float) -> None:
    """`Formal.composition_scale_invariant`."""
    later, earlier = pair
    scaled = Factors(t * later.query, later.key, t * later.value, later.output)
    assert close(scores(scaled, Factors(earlier.query, earlier.key, t * earlier.value, earlier.output)), scores(*pair))


def test_the_worked_example_of_the_theorem() -> None:
    """`Formal.composition_worked`: A = (1 1; 0 1), B = (1 0; 1 1) score √(7/9)."""
    one, A, B = np.eye(2), np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([[1.0, 0.0], [1.0, 1.0]])
    later, earlier = Factors(A, one, A, one), Factors(one, one, B, one)
    found = scores(later, earlier)
    assert close(found[[0, 2]], np.sqrt([7 / 9, 7 / 9]))


@given(heads(), rngs())
def test_many_heads_at_once_are_each_pair_alone(head: Factors, rng: np.random.Generator) -> None:
    shape = len(head.query), len(head.value), head.query.shape[1]
    later, earlier = [head, random_head(rng, *shape)], [random_head(rng, *shape) for _ in range(3)]
    reads = np.stack([sides(h).read for h in later], axis=1)
    writes = np.stack([sides(h).write for h in earlier])
    found = composition(reads, writes)
    assert found.shape == (3, 2, 3)
    for i, second in enumerate(later):
        for j, first in enumerate(earlier):
            assert close(found[:, i, j], scores(second, first))


def test_what_is_never_read_composes_to_nothing() -> None:
    """`Formal.composition_eq_zero_iff`: the earlier head writes on axes that the later one does not read."""
    rng = np.random.default_rng(0)
    later, earlier = random_head(rng, 3, 3, 8), random_head(rng, 3, 3, 8)
    later.query[:, :4] = later.key[:, :4] = later.value[:, :4] = 0.0
    earlier.output[4:] = 0.0
    assert scores(later, earlier).tolist() == [0.0, 0.0, 0.0]


def test_a_zero_head_composes_to_nothing() -> None:
    rng = np.random.default_rng(0)
    head, zero = random_head(rng, 3, 3, 8), Factors(*np.zeros((3, 3, 8)), np.zeros((8, 3)))
    assert scores(zero, head).tolist() == scores(head, zero).tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(("n", "width"), [(4, 64), (16, 256), (64, 64)])
def test_random_heads_compose_by_one_over_the_root_of_the_width(n: int, width: int) -> None:
    rng = np.random.default_rng(0)
    draws = 60
    mean, deviation = composition_baseline(
        (Factors(*random_factors(rng, n, width)), Factors(*random_factors(rng, n, width))) for _ in range(draws)
    )
    # E score² is 1/D up to 1/n of itself (the norms are not quite independent); the mean of `draws` has its own error.
    allowed = 0.5 / n + 5 * deviation * np.sqrt(width / draws) + 0.02
    assert (np.abs(np.sqrt(mean**2 + deviation**2) * np.sqrt(width) - 1) < allowed).all()
    assert (deviation > 0).all()
    assert (deviation < mean).all()
