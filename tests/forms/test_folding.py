"""Norms folded into weights: against explicit matrices, and against scores of normed vectors."""

import numpy as np
import pytest

from numerics.forms.folding import centring_mean, fold_input_norm, fold_output_norm
from tests.forms.agreement import AGREEMENT, agree
from tests.forms.strategies import Float

N, WIDTH = 5, 12


def centring(size: int) -> Float:
    return np.eye(size) - np.ones((size, size)) / size


def layernorm(x: Float, gain: Float) -> Float:
    return gain * (x - x.mean()) / x.std()


def rms(x: Float, gain: Float) -> Float:
    return gain * x / np.sqrt(np.mean(x**2))


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def test_input_norm_is_the_matrix_product(rng: np.random.Generator) -> None:
    W, gain = rng.standard_normal((N, WIDTH)), rng.standard_normal(WIDTH)
    assert agree(fold_input_norm(W, gain, centred=False), W @ np.diag(gain), AGREEMENT)
    assert agree(fold_input_norm(W, gain, centred=True), W @ np.diag(gain) @ centring(WIDTH), AGREEMENT)
    # Γ and C do not commute: the other order is another matrix.
    assert not agree(fold_input_norm(W, gain, centred=True), W @ centring(WIDTH) @ np.diag(gain), 1e-2)


def test_output_norm_is_the_matrix_product(rng: np.random.Generator) -> None:
    W, gain = rng.standard_normal((N, WIDTH)), rng.standard_normal(N)
    assert agree(fold_output_norm(W, gain, None), np.diag(gain) @ W, AGREEMENT)
    assert agree(fold_output_norm(W, gain, centring_mean(W)), np.diag(gain) @ centring(N) @ W, AGREEMENT)
    assert not agree(fold_output_norm(W, gain, centring_mean(W)), centring(N) @ np.diag(gain) @ W, 1e-2)


def test_mean_over_all_heads_centres_their_concatenation(rng: np.random.Generator) -> None:
    heads, gain = rng.standard_normal((3, N, WIDTH)), rng.standard_normal((3, N))
    whole = np.diag(gain.ravel()) @ centring(3 * N) @ heads.reshape(3 * N, WIDTH)
    for head in range(3):
        folded = fold_output_norm(heads[head], gain[head], centring_mean(heads))
        assert agree(folded, whole.reshape(3, N, WIDTH)[head], AGREEMENT)


@pytest.mark.parametrize("kind", ["rms", "layernorm"])
def test_score_is_the_folded_form_times_a_positive_number(rng: np.random.Generator, kind: str) -> None:
    """What the model computes for a pair, over the folded form, is the product of the four reciprocal norms."""
    norm = rms if kind == "rms" else layernorm
    W_Q, W_K = rng.standard_normal((2, N, WIDTH))
    gain, q_gain, k_gain = rng.standard_normal(WIDTH), rng.standard_normal(N), rng.standard_normal(N)
    centred = kind == "layernorm"
    folded_q, folded_k = (
        fold_output_norm(fold_input_norm(W, gain, centred), g, None if not centred else _mean(W, gain))
        for W, g in ((W_Q, q_gain), (W_K, k_gain))
    )
    for _ in range(5):
        x, y = rng.standard_normal((2, WIDTH))
        score = norm(W_Q @ norm(x, gain), q_gain) @ norm(W_K @ norm(y, gain), k_gain)
        form = (folded_q @ x) @ (folded_k @ y)
        spread = [_spread(v, centred) for v in (x, y, W_Q @ norm(x, gain), W_K @ norm(y, gain))]
        assert agree(score * np.prod(spread), form, AGREEMENT)


def _mean(W: Float, gain: Float) -> Float:
    return centring_mean(fold_input_norm(W, gain, centred=True))


def _spread(v: Float, centred: bool) -> float:
    return float(v.std() if centred else np.sqrt(np.mean(v**2)))
