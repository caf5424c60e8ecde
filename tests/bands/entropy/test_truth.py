"""Entropy shares against what they are defined by: covariances, integrated gradients, finite differences."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings

from numerics.bands.entropy import entropy_attribution
from numerics.bands.entropy.quadrature import Rule, gauss_legendre, graded
from numerics.bands.entropy.reference import entropy_attribution_reference, softmax
from numerics.bands.entropy.weights import by_parts_weights
from tests.bands.entropy.cases import EPS, Float, Heads, layers, random_heads

# 64 nodes are exact to rounding for scores of these sizes: the nearest pole is at π/range, range ≤ 20 (10 with a cap).
TRUTHS = [
    random_heads(1, length=6, n_bands=3, spread=2.0),
    random_heads(2, length=6, n_bands=2, rest=3, spread=2.0, pairing="interleaved", window=4),
    random_heads(3, length=5, n_bands=3, spread=2.0, softcap=5.0, heads=4, kv_heads=2),
    random_heads(4, length=6, n_bands=2, rest=1, spread=2.0, softcap=2.0, window=3, pairing="interleaved"),
]


def parts(heads: Heads) -> Float:
    """(H, B) or (H, B + 1): what is under test."""
    found = entropy_attribution(heads.q, heads.k, **heads.arguments)
    if heads.n_parts == heads.n_bands:
        assert (found.unrotated == 0).all()
        return found.bands
    return np.concatenate((found.bands, found.unrotated[:, None]), axis=1)


@settings(max_examples=40)
@given(layers())
def test_every_prefix_is_the_materialised_covariance(heads: Heads) -> None:
    rule = graded(4 * heads.largest * max(1.0, 2 / (heads.softcap or 2.0)))
    rows = entropy_attribution_reference(heads.q, heads.k, rule, **heads.arguments)
    for length in range(1, heads.length + 1):  # by differences, of every query
        difference = np.abs(parts(heads.first(length)) - rows[:, :length].sum(axis=1)).max()
        assert difference <= heads.first(length).rounding


def row_entropies(scales: torch.Tensor, heads: Heads, head: int) -> torch.Tensor:
    """Entropies (T,) of a head whose parts are multiplied by `scales` (T, parts), row by row."""
    x = (torch.from_numpy(heads.parts(head)) * scales[:, None, :]).sum(dim=-1)
    if heads.softcap is not None:
        x = heads.softcap * torch.tanh(x / heads.softcap)
    rows = [torch.log_softmax(x[i, heads.admissible(i)], dim=0) for i in range(heads.length)]
    return torch.stack([-(row.exp() * row).sum() for row in rows])


@pytest.mark.parametrize("heads", TRUTHS)
def test_shares_are_integrated_gradients_of_the_entropy(heads: Heads) -> None:
    for head, found in enumerate(parts(heads)):
        gradients = np.zeros(heads.n_parts)
        for s, omega in zip(*gauss_legendre(64), strict=True):
            scales = torch.full((heads.length, heads.n_parts), s, dtype=torch.float64, requires_grad=True)
            (gradient,) = torch.autograd.grad(row_entropies(scales, heads, head).sum(), scales)
            gradients += omega * gradient.sum(dim=0).numpy()
        assert np.abs(found - gradients).max() <= heads.rounding


@pytest.mark.parametrize("heads", TRUTHS)
def test_shares_are_finite_differences_along_the_path(heads: Heads) -> None:
    step = 1e-4  # fourth order: error step⁴·d⁵H ≈ 1e-16·X⁵/30 ≤ 1e-11, and rounding T·eps·X/step ≤ 1e-10
    for head, found in enumerate(parts(heads)):
        differences = np.zeros(heads.n_parts)
        for s, omega in zip(*gauss_legendre(64), strict=True):
            for part in range(heads.n_parts):
                for moves, weight in ((1, 8), (-1, -8), (2, -1), (-2, 1)):
                    scales = torch.full((heads.length, heads.n_parts), s, dtype=torch.float64)
                    scales[:, part] += moves * step
                    differences[part] += omega * weight * float(row_entropies(scales, heads, head).sum()) / (12 * step)
        assert np.abs(found - differences).max() <= heads.length * EPS * heads.largest / step + 1e-11


@settings(max_examples=40)
@given(layers())
def test_shares_sum_to_the_entropy_lost(heads: Heads) -> None:
    found = entropy_attribution(heads.q, heads.k, **heads.arguments)
    drops = np.array([heads.drops(head).sum() for head in range(len(heads.q))])
    assert np.abs(found.entropy - drops).max() <= heads.rounding
    assert np.abs(found.bands.sum(axis=1) + found.unrotated - drops).max() <= 2 * heads.rounding
    assert (found.residual <= heads.rounding).all()
    assert (found.entropy <= heads.rounding).all()


@pytest.mark.parametrize("size", [1.0, 100.0, 1000.0, 1e5])
@pytest.mark.parametrize("rule", [gauss_legendre(16), gauss_legendre(64), gauss_legendre(15), graded(1e5)])
def test_weights_are_the_sum_over_nodes(rule: Rule, size: float) -> None:
    """Also where an exponential underflows that a pair of nodes shares, and exactly 0 where a key is not seen."""
    y = size * np.random.default_rng(0).standard_normal((9, 40))
    outside = np.arange(40) > np.arange(20, 29)[:, None]
    y = np.where(outside, -np.inf, y)
    y -= y.max(axis=1, keepdims=True)
    found = by_parts_weights(y, softmax(y), rule)
    plain = sum(omega * softmax(s * y) for s, omega in zip(rule.nodes, rule.weights, strict=True)) - softmax(y)
    # Weights of at most 1; an exponent s·y, and 1 − s, are off by eps·|y| where p is not below e^−|sy|: eps·36 at most,
    # then 64·eps as in `rounding`.
    assert np.abs(found - plain).max() <= 100 * EPS
    assert (found[outside] == 0).all()
