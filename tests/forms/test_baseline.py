"""Random baseline: closed forms against simulation, and Bartlett's factor against plain draws."""

import numpy as np
import pytest

from numerics.forms.baseline import random_antisymmetric_share, random_factor, random_profile, random_weights
from numerics.forms.description import describe
from numerics.forms.folding import fold_input_norm
from tests.forms.agreement import AGREEMENT, agree, on_simplex
from tests.forms.strategies import Float

N, WIDTH = 3, 12


def gains() -> dict[str, tuple[Float | None, bool]]:
    gain = np.linspace(0.1, 3, WIDTH)
    return {
        "raw": (None, False),
        "rms": (gain, False),
        "layernorm": (gain, True),
        "plain layernorm": (np.ones(WIDTH), True),
    }


@pytest.mark.parametrize("name", gains())
@pytest.mark.parametrize("turned", [False, True])
def test_antisymmetric_share_is_the_ratio_of_mean_energies(name: str, turned: bool) -> None:
    """4000 heads: the standard error of the ratio is measured from 20 batches; a share off by 1/(2D) is seen."""
    gain, centred = gains()[name]
    rng = np.random.default_rng(0)
    A = rng.standard_normal((N, N)) if turned else np.eye(N)
    ratios = []
    for _ in range(20):
        whole = antisymmetric = 0.0
        for _ in range(200):
            W_K, W_Q = rng.standard_normal((2, N, WIDTH))
            if gain is not None:
                W_K, W_Q = fold_input_norm(W_K, gain, centred), fold_input_norm(W_Q, gain, centred)
            L = W_K.T @ A @ W_Q
            whole += float(np.sum(L**2))
            antisymmetric += float(np.sum(((L - L.T) / 2) ** 2))
        ratios.append(antisymmetric / whole)
    error = np.std(ratios, ddof=1) / np.sqrt(len(ratios))
    expected = random_antisymmetric_share(WIDTH, gain, centred)
    # 4 standard errors: one false alarm in 16 000, and the seed is fixed.
    assert abs(np.mean(ratios) - expected) < 4 * error
    assert error < 1 / (2 * WIDTH) / 8


def test_closed_forms() -> None:
    assert agree(random_antisymmetric_share(768), 0.5 * (1 - 1 / 768), 1e-15)
    assert agree(random_antisymmetric_share(2, np.array([1.0, 2.0])), 0.5 * (1 - 17 / 25), 1e-15)
    # One gain alone: rank one, symmetric whatever the weights.
    assert random_antisymmetric_share(3, np.array([0.0, 2.0, 0.0])) == 0
    # Plain centring leaves D − 1 dimensions, all alike.
    assert agree(random_antisymmetric_share(9, np.ones(9), centred=True), 0.5 * (1 - 1 / 8), 1e-15)


@pytest.mark.parametrize(("n", "width"), [(3, 12), (3, 6), (3, 4), (1, 2)])
def test_random_factor_has_the_profile_of_random_weights(n: int, width: int) -> None:
    """Means over 1500 heads by both routes, within 4 of their joint standard errors."""
    rng = np.random.default_rng(1)
    by_factor, by_weights = [], []
    for _ in range(1500):
        key, query = random_factor(rng, n, width)
        by_factor.append(describe(key.T @ query).profile)
        W_K, W_Q = random_weights(rng, n, np.ones(width), centred=False)
        by_weights.append(describe(W_K.T @ W_Q).profile)
    gap = np.mean(by_factor, axis=0) - np.mean(by_weights, axis=0)
    error = np.sqrt((np.var(by_factor, axis=0) + np.var(by_weights, axis=0)) / 1500)
    assert np.all(np.abs(gap) < 4 * error + 1e-12)
    assert np.all(error < 0.02)


def test_random_profile_keeps_the_share_and_treats_both_signs_alike() -> None:
    simulated = np.array([[0.4, 0.3, 0.3, 0.0], [0.2, 0.5, 0.1, 0.2]])
    profile = random_profile(0.48, simulated)
    assert on_simplex(profile)
    assert agree(profile, [0.48, 0.52 * 4 / 7, 0.52 * 1.5 / 7, 0.52 * 1.5 / 7], AGREEMENT)
