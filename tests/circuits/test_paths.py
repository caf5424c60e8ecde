"""Path expansion of one-layer attention-only models against the logits that transformers computes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from numerics import Model, load_model
from numerics.circuits.paths import Frozen, path_expansion
from numerics.models.heads import Norm
from numerics.models.visitor import AttentionCall
from tests.models.tiny import V
from tests.models.truth import InFloat64


def attention_only(case: str, folder: Path) -> Model:
    """One layer of random weights, gains and biases, the MLP's output zero."""
    from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    if case == "gpt2":
        module: Any = GPT2LMHeadModel(GPT2Config(vocab_size=V, n_embd=32, n_layer=1, n_head=4, n_positions=32))
        last = [module.transformer.h[0].mlp.c_proj.weight, module.transformer.h[0].mlp.c_proj.bias]
    else:
        config = LlamaConfig(
            vocab_size=V, hidden_size=32, intermediate_size=8, num_hidden_layers=1, num_attention_heads=4,
            num_key_value_heads=2, attention_bias=case == "llama-bias",
        )  # fmt: skip
        module = LlamaForCausalLM(config)
        last = [module.model.layers[0].mlp.down_proj.weight]
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
        for parameter in last:
            parameter.zero_()
    module.double().save_pretrained(folder)
    return load_model(str(folder), dtype="float64")


def frozen(norm: Norm, x: np.ndarray) -> Frozen:
    centred = norm.kind == "layernorm"
    of = x - x.mean(axis=-1, keepdims=True) if centred else x
    scale = 1 / np.sqrt((of**2).mean(axis=-1) + norm.eps)
    return Frozen(scale, norm.gain, np.zeros(len(norm.gain)) if norm.bias is None else norm.bias, centred)


@pytest.mark.parametrize("case", ["gpt2", "llama", "llama-bias"])
def test_the_paths_sum_to_the_logits(case: str, tmp_path: Path) -> None:
    """`Formal.path_expansion`, with norms frozen and biases as a path of their own: 1e-10."""
    model = attention_only(case, tmp_path)
    ids = torch.randint(0, V, (1, 20), generator=torch.Generator().manual_seed(1))
    seen: list[AttentionCall] = []
    with torch.no_grad(), InFloat64(), model.attention(seen.append):
        logits = model.forward(ids)[0].numpy()
    ends, heads = model.vocabulary, model.heads(0)
    x = ends.W_E[ids[0].numpy()]
    if ends.W_pos is not None:
        x = x + ends.W_pos[: len(x)]
    patterns = seen[0].pattern()[0].numpy()
    to_kv = [heads.kv_head(head) for head in range(heads.n_heads)]
    values, value_bias = heads.W_V[to_kv], heads.b_V[to_kv]
    assert heads.norm is not None
    assert ends.final_norm is not None
    assert ends.W_U is not None
    # What the final norm freezes: the residual after the layer, written out head by head.
    before = frozen(heads.norm, x)
    read = before.linear(x) + before.bias
    after = x + heads.b_O
    for head in range(heads.n_heads):
        after = after + patterns[head] @ (read @ values[head].T + value_bias[head]) @ heads.W_O[head].T
    paths = path_expansion(
        x, patterns, values, heads.W_O, ends.W_U,
        before=before, after=frozen(ends.final_norm, after), value_bias=value_bias, output_bias=heads.b_O,
        logit_bias=ends.b_U,
    )  # fmt: skip
    assert paths.shape == (2 + heads.n_heads, *logits.shape)
    np.testing.assert_allclose(paths.sum(axis=0), logits, rtol=0, atol=1e-10)
    # No path is idle: leaving one out is far from the logits (all but the biases of a model without any).
    for path in paths[:-1] if case == "llama" else paths:
        assert np.abs(path).max() > 1e-3
    # The path of a head is its OV circuit on its pattern: scaled rows of A (W_U Γ C W_O W_V …).
    lens = frozen(ends.final_norm, after)
    one = lens.linear(patterns[1] @ before.linear(x) @ (heads.W_O[1] @ values[1]).T) @ ends.W_U.T
    np.testing.assert_allclose(paths[2], one, rtol=0, atol=1e-10)


def test_without_norms_and_biases_it_is_the_theorem() -> None:
    """Direct W_U W_E, and A_h ⊗ W_U OV_h W_E on one-hot tokens."""
    rng = np.random.default_rng(0)
    W_E, W_U = rng.standard_normal((2, 11, 6))
    values, outputs = rng.standard_normal((2, 3, 6)), rng.standard_normal((2, 6, 3))
    patterns, ids = rng.random((2, 5, 5)), np.array([3, 1, 4, 1, 5])
    one_hot = np.eye(11)[ids]
    paths = path_expansion(W_E[ids], patterns, values, outputs, W_U)
    np.testing.assert_allclose(paths[0], one_hot @ (W_U @ W_E.T).T, rtol=0, atol=1e-12)
    for head in range(2):
        circuit = W_U @ outputs[head] @ values[head] @ W_E.T
        np.testing.assert_allclose(paths[1 + head], patterns[head] @ one_hot @ circuit.T, rtol=0, atol=1e-12)
    assert not paths[-1].any()
