"""Fisher information of the band factors, against enumeration, separate gradients and finite differences."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from numerics import Model, load_model
from numerics.bands.fisher import sampler
from numerics.bands.measure import band_metrics, factor_gradients, unembedding_of
from numerics.bands.scaling import scale_bands
from numerics.models.visitor import AttentionCall
from tests.bands.rotary import ROTARY
from tests.models.tiny import LAYERS, TINY, V, save_tiny
from tests.models.truth import InFloat64
from tests.positional.walked import save_text

Load = Callable[[str], Model]
CASES = ("gemma2", "gptj", "gpt_neox", "gemma3", "cohere-qk-norm")


def log_f(model: Model, ids: torch.Tensor, theta: dict[int, torch.Tensor]) -> torch.Tensor:
    """`log f(s_j, θ)` (T, V) by the model's own logits."""

    def scaled(call: AttentionCall) -> tuple[torch.Tensor, torch.Tensor]:
        assert call.rotary is not None
        return scale_bands(call.q, theta[call.layer], call.rotary.pairing), call.k

    with model.attention(scaled), InFloat64():
        return torch.log_softmax(model.forward(ids[None])[0], dim=-1)


def ones(model: Model) -> dict[int, torch.Tensor]:
    return {
        layer: torch.ones(model.n_heads, model.positions.rotary(layer).n_bands, dtype=torch.float64)  # type: ignore[union-attr]
        for layer in range(model.n_layers)
    }


def separate_gradients(model: Model, ids: torch.Tensor) -> np.ndarray:
    """`∂ log f(s_j)[t]` (T, V, factors), one backward pass for each j and t."""
    theta = {layer: factor.requires_grad_() for layer, factor in ones(model).items()}
    table = log_f(model, ids, theta)
    rows = [
        torch.cat([g.ravel() for g in torch.autograd.grad(number, list(theta.values()), retain_graph=True)])
        for number in table.ravel()
    ]
    return torch.stack(rows).reshape(*table.shape, -1).numpy()


@pytest.fixture(scope="module")
def three_words(tmp_path_factory: pytest.TempPathFactory) -> Model:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(TINY, "three-words", ("llama", TINY["llama"][1] | {"vocab_size": 3}))
        folder = save_tiny("three-words", tmp_path_factory.mktemp("three") / "model")
    return load_model(str(folder), dtype="float64")


def test_expectation_over_all_targets_is_the_exact_diagonal(three_words: Model) -> None:
    """3 words, 3 prefixes: 27 target sequences, each weighed with its probability."""
    ids = torch.tensor([1, 0, 2])
    unembedding = unembedding_of(three_words)
    with torch.no_grad():
        f = log_f(three_words, ids, ones(three_words)).exp().numpy()
    estimate = np.zeros(0)
    for targets in itertools.product(range(3), repeat=3):
        with InFloat64():
            gradients = factor_gradients(three_words, unembedding, ids, lambda _, t=targets: torch.tensor(t))  # type: ignore[misc]
        square = np.square(np.concatenate([gradient.ravel() for gradient in gradients]))
        probability = np.prod(f[range(3), targets])
        estimate = probability * square if not estimate.size else estimate + probability * square
    exact = np.einsum("jt,jti->i", f, np.square(separate_gradients(three_words, ids)))
    assert exact.max() > 1e-3
    np.testing.assert_allclose(estimate, exact, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("case", CASES)
def test_gradient_of_the_sum_is_the_sum_of_gradients(case: str, walkable: Load) -> None:
    model = walkable(case)
    ids = torch.randint(5, V, (8,), generator=torch.Generator().manual_seed(4))
    targets = torch.randint(0, V, (8,), generator=torch.Generator().manual_seed(5))
    with InFloat64():
        found = factor_gradients(model, unembedding_of(model), ids, lambda _: targets)
    assert [gradient.shape for gradient in found] == [tuple(factor.shape) for factor in ones(model).values()]
    separate = separate_gradients(model, ids)[np.arange(8), targets.numpy()]
    assert np.abs(separate).max() > 1e-3
    np.testing.assert_allclose(np.concatenate([g.ravel() for g in found]), separate.sum(axis=0), rtol=0, atol=1e-11)


@pytest.mark.parametrize("case", CASES)
def test_gradients_are_finite_differences(case: str, walkable: Load) -> None:
    model = walkable(case)
    ids = torch.randint(5, V, (8,), generator=torch.Generator().manual_seed(4))
    targets = torch.randint(0, V, (8,), generator=torch.Generator().manual_seed(5))
    with InFloat64():
        found = factor_gradients(model, unembedding_of(model), ids, lambda _: targets)

    def total(layer: int, head: int, band: int, step: float) -> float:
        theta = ones(model)
        theta[layer][head, band] += step
        with torch.no_grad():
            return float(log_f(model, ids, theta)[torch.arange(8), targets].sum())

    for layer, head, band in [(0, 0, 0), (0, 3, 1), (LAYERS - 1, 2, 0), (LAYERS - 1, 1, 1)]:
        # Central difference: h² times a third derivative of order one, and 1e-14/h of rounding.
        difference = (total(layer, head, band, 1e-4) - total(layer, head, band, -1e-4)) / 2e-4
        assert found[layer][head, band] == pytest.approx(difference, abs=1e-7), (layer, head, band)


@pytest.mark.parametrize("case", ROTARY)
def test_every_band_of_every_head_has_a_gradient_and_no_weight_is_touched(case: str, walkable: Load) -> None:
    model = walkable(case)
    ids = torch.randint(5, V, (12,), generator=torch.Generator().manual_seed(4))
    found = factor_gradients(model, unembedding_of(model), ids, sampler(0))
    assert all((gradient != 0).all() for gradient in found)
    assert all(parameter.grad is None for parameter in model._module.parameters())


def test_targets_are_drawn_from_the_models_distribution() -> None:
    f = torch.tensor([0.7, 0.2, 0.1, 0.0])
    log_f, rows = f.log().expand(20_000, 4), 20_000
    drawn = sampler(1)(log_f)
    counts = torch.bincount(drawn, minlength=4)
    # Five standard deviations of a binomial count: one of 4 fails by chance with probability 2e-6.
    assert ((counts - rows * f).abs() <= 5 * (rows * f * (1 - f)).sqrt()).all()
    assert torch.equal(drawn, sampler(1)(log_f))
    assert not torch.equal(drawn, sampler(2)(log_f))
    one = sampler(1)
    assert not torch.equal(one(log_f), one(log_f))


def test_fisher_of_a_text_adds_the_squares_of_its_documents(walkable: Load, tmp_path: Path) -> None:
    model = walkable("llama")
    texts = [save_text(tmp_path / f"{seed}.txt", 20, seed=seed) for seed in range(2)]
    table = band_metrics(model, texts, length=16, metrics=("fisher",))
    assert set(table.data_vars) == {"fisher"}
    expected = np.zeros(table["fisher"].shape)
    for number, text in enumerate(texts):
        ids = torch.tensor(model.vocabulary.tokenizer(text.read_text())["input_ids"][:16])
        gradients = factor_gradients(model, unembedding_of(model), ids, sampler(number))
        expected += np.square(np.stack(gradients))
    np.testing.assert_allclose(table["fisher"], expected, rtol=1e-12)
