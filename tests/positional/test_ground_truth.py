"""Models with hand-made weights whose kernels are known in closed form: the walk must find them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from numerics import load_model, positional_kernels
from tests.positional.walked import save_text, save_tokenizer

LENGTH, SKIP, V = 64, 5, 20
TURN = np.pi / LENGTH
SHARPNESS, DECAY = 40000.0, 0.1


def hand_made_gpt2(folder: Path) -> Path:
    """One layer, three heads of 4 dims; tokens hold nothing, so attention is the kernel.

    Position i is `(t, −t, u, −u, cos, sin, −cos, −sin, 0, 0, 0, 0)` with t = i/2T, u = √(1 − t²), and the angle i·π/T:
    mean 0 and length 2 for every i, so the LayerNorm before attention only multiplies by √(12/4).
    Head 0 scores by the cosine of the angle between key and the position before the query: the previous token.
    Head 1 has no query: uniform. Head 2 scores λ·(j − i) + const by a query bias: exponential decay.
    """
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(vocab_size=V, n_embd=12, n_layer=1, n_head=3, n_positions=LENGTH, layer_norm_epsilon=0.0)
    module: Any = GPT2LMHeadModel(config).double().eval()
    i = np.arange(LENGTH)
    t, angle = i / (2 * LENGTH), i * TURN
    u = np.sqrt(1 - t**2)
    table = np.stack(
        [t, -t, u, -u, np.cos(angle), np.sin(angle), -np.cos(angle), -np.sin(angle), *np.zeros((4, LENGTH))]
    )
    length = np.sqrt(12 / 4)
    weights = np.zeros((12, 36))  # Conv1D: (in, out), out = [all Q, all K, all V]
    back = np.array([[np.cos(TURN), np.sin(TURN)], [-np.sin(TURN), np.cos(TURN)]])  # turns by −TURN
    weights[4:6, 0:2] = (SHARPNESS * 2 / length**2) * back.T
    weights[4:6, 12:14] = np.eye(2)
    weights[0, 12 + 8] = 1.0
    bias = np.zeros(36)
    bias[8] = DECAY * 2 * LENGTH * 2 / length  # a query of 4 dims is divided by √4
    with torch.no_grad():
        attention = module.transformer.h[0].attn
        module.transformer.wte.weight.zero_()
        module.transformer.wpe.weight.copy_(torch.as_tensor(table.T))
        module.transformer.h[0].ln_1.weight.fill_(1.0)
        module.transformer.h[0].ln_1.bias.zero_()
        attention.c_attn.weight.copy_(torch.as_tensor(weights))
        attention.c_attn.bias.copy_(torch.as_tensor(bias))
    module.save_pretrained(folder)
    save_tokenizer(folder, V)
    return folder


def walk(folder: Path, text: Path) -> Any:
    model = load_model(str(folder), dtype="float64")
    return positional_kernels(model, [text], samples=4, length=LENGTH, skip=SKIP, query_texts=3, queries=[15, 31, 63])


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_text(tmp_path_factory.mktemp("text") / "words.txt", 1000, V)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory, text: Path) -> Any:
    return walk(hand_made_gpt2(tmp_path_factory.mktemp("hand-made")), text)


def test_attention_without_content_is_its_kernel(found: Any) -> None:
    """No content: f = 1, Z = 1 for every text, attention and kernel agree."""
    # Kernels are kept in float32.
    assert float(found["tv_kernel"].max()) < 1e-6
    np.testing.assert_allclose(found["denominator_mean"], 1.0, rtol=0, atol=1e-9)
    assert float(found["denominator_sd"].max()) < 1e-9
    assert float(found["consistency"].max()) < 1e-9


def test_previous_token_head(found: Any) -> None:
    head = found.sel(layer=0, head=0)
    # The keys beside the previous one score SHARPNESS·(1 − cos TURN) ≈ 48 less.
    np.testing.assert_allclose(head["etc"], 1.0, rtol=0, atol=1e-9)
    assert str(head["category"].values) == "local"
    assert int(head["peak_offset"]) == -1
    assert float(head["equivariance"]) < 1e-9
    assert float(head["distance_profile"].sel(distance=1)) == pytest.approx(1.0)


def test_uniform_head(found: Any) -> None:
    head = found.sel(layer=0, head=1)
    np.testing.assert_allclose(head["etc"], [15 - 4, 31 - 4, 63 - 4], rtol=1e-12)
    assert str(head["category"].values) == "uniform"
    assert int(head["peak_offset"]) == 0  # of equal values the nearest
    assert float(head["tv_uniform"]) < 1e-9
    # What a uniform head gives to the first five of n + 1 keys.
    assert float(head["sink_mass"]) == pytest.approx(np.mean([SKIP / 16, SKIP / 32, SKIP / 64]), rel=1e-9)


def test_exponentially_decaying_head(found: Any) -> None:
    head = found.sel(layer=0, head=2)
    for query in (15, 31, 63):
        weights = np.exp(-DECAY * np.arange(query - SKIP + 1))
        expected = weights.sum() ** 2 / np.sum(weights**2)
        assert float(head["etc"].sel(query=query)) == pytest.approx(expected, rel=1e-9)
        np.testing.assert_allclose(
            head["kernel"].sel(query=query)[SKIP : query + 1], weights[::-1] / weights.sum(), rtol=1e-5
        )
    assert str(head["category"].values) == "slow decay"
    assert int(head["peak_offset"]) == 0


def test_alibi_slopes_are_the_kernels(tmp_path: Path, text: Path) -> None:
    """BLOOM with no queries at all: each head's kernel is `exp(−slope·distance)`."""
    from transformers import BloomConfig, BloomForCausalLM

    module: Any = BloomForCausalLM(BloomConfig(vocab_size=V, hidden_size=16, n_layer=1, n_head=4)).double().eval()
    with torch.no_grad():
        module.transformer.h[0].self_attention.query_key_value.weight.zero_()
        module.transformer.h[0].self_attention.query_key_value.bias.zero_()
    module.save_pretrained(tmp_path / "bloom")
    save_tokenizer(tmp_path / "bloom", V)
    found = walk(tmp_path / "bloom", text)
    for head, slope in enumerate(2.0 ** (-2.0 * np.arange(1, 5))):
        weights = np.exp(-slope * np.arange(63 - SKIP + 1))
        expected = weights.sum() ** 2 / np.sum(weights**2)
        assert float(found["etc"].sel(layer=0, head=head, query=63)) == pytest.approx(expected, rel=1e-9)
        assert int(found["peak_offset"].sel(layer=0, head=head)) == 0
    assert float(found["tv_kernel"].max()) < 1e-6


def test_the_first_layer_approximation_is_exact_without_content(found: Any) -> None:
    """Tokens of no length and positions of one: nothing is left to approximate, up to rounding."""
    assert float(found["tv_first_layer"].max()) < 1e-12
