"""Key-bias share, the share of the unrotated dims, and survival of content: ends, symmetries, merges."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from numerics.positional.shares import key_bias_share, unrotated_score_share
from numerics.positional.survival import Survival
from tests.positional.strategies import Rows, close, rows


def test_key_bias_share_of_constant_and_of_centred_keys() -> None:
    keys = np.array([[[3.0, 4.0], [3.0, 4.0]], [[1.0, 0.0], [-1.0, 0.0]], [[2.0, 1.0], [2.0, -1.0]], np.zeros((2, 2))])
    share = key_bias_share(keys.mean(axis=1), (keys**2).sum(axis=-1).mean(axis=1))
    assert close(share, [1, 0, 4 / 5, 0])


@given(rows(), st.integers(0, 2**32 - 1))
def test_shares_of_score_variance_sum_to_one(drawn: Rows, seed: int) -> None:
    rotated, unrotated = np.random.default_rng(seed).standard_normal((2, 3, *drawn.exponents.shape))
    score = rotated + unrotated
    shares = [unrotated_score_share(part, score, drawn.kept) for part in (rotated, unrotated, score)]
    if (drawn.kept.sum(axis=-1) > 1).any():
        assert close(shares[0] + shares[1], np.ones(3), 1e-8)
        assert close(shares[2], np.ones(3))
        everywhere = np.where(drawn.kept, unrotated, 1e6)  # keys that are not admissible do not count
        assert close(unrotated_score_share(everywhere, score, drawn.kept), shares[1], 1e-8)
    else:
        assert not np.any(shares)


def test_share_of_unrotated_dims_of_a_known_score() -> None:
    """Rotated part ±1, unrotated ±2, uncorrelated over four keys: 4/5."""
    rotated, unrotated = np.array([[1.0, 1, -1, -1]]), np.array([[2.0, -2, 2, -2]])
    share = unrotated_score_share(unrotated + 7, rotated + unrotated, np.ones((1, 4), dtype=bool))
    assert close(share, 0.8)


@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.floats(-1, 1))
def test_survival_of_mixed_contents(seed: int, cut: int, same: float) -> None:
    """`E' = c·E + √(1 − c²)·F` with F orthogonal and as long as E: the share is c; and any split of texts gives it."""
    rng = np.random.default_rng(seed)
    E, F = rng.standard_normal((2, 6, 4, 5))
    F -= E * (np.sum(E * F) / np.sum(E * E))
    F *= np.sqrt(np.sum(E * E) / np.sum(F * F))
    shifted = same * E + np.sqrt(1 - same**2) * F
    left, right = Survival(), Survival()
    left.add(E[:cut], shifted[:cut])
    right.add(E[cut:], shifted[cut:])
    left.merge(right)
    assert close(left.value, same)


def test_survival_without_content() -> None:
    survival = Survival()
    survival.add(np.zeros((2, 3)), np.zeros((2, 3)))
    assert survival.value == 1


def test_survival_of_content_that_doubles_is_symmetric() -> None:
    """`E' = 2E`: 1 − 1/(4 + 1), in either order."""
    E = np.random.default_rng(0).standard_normal((3, 4))
    for pair in ((E, 2 * E), (2 * E, E)):
        survival = Survival()
        survival.add(*pair)
        assert close(survival.value, 0.8)
