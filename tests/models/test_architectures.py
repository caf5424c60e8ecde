"""For every architecture: scores and outputs rebuilt from `HeadWeights` and positions are the model's own."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from numerics.models import HeadWeights, Model
from numerics.models.architectures import ARCHITECTURES
from tests.models.rebuild import attention_output, rebuild
from tests.models.tiny import TINY
from tests.models.truth import Truth, observe

EPS32 = 2.0**-23
CASES = sorted(TINY)
Load = Callable[[str], Model]

# These round to float32 inside whatever dtype they run in: the scores themselves (GPT-Neo, GPT-J, CodeGen, MPT) or a
# norm on q and k, and with it the scores (Qwen3, Gemma 3, OLMo 2, Cohere, whose rotation does so too).
FLOAT32_INSIDE = {"gpt_neo", "gptj", "codegen", "mpt", "qwen3", "gemma3_text", "olmo2", "cohere"}


def gaps(model: Model, truth: Truth, *, exact_rotation: bool = False) -> tuple[float, float, float]:
    """Worst gap between rebuilt scores and the model's own over layers, heads and admissible pairs.

    Returns it plain, over `Σ|q_b||k_b|`, and over `(1 + position)·Σ|q_b||k_b|`; infinite where the two disagree about
    which pairs are admissible. A model that adds ALiBi as slope·j is compared up to a constant per row.
    """
    worst = np.zeros(3)
    for layer in range(model.n_layers):
        ours = rebuild(model, layer, truth.x[layer], None if exact_rotation else truth.rotation.get(layer))
        admitted, theirs = np.isfinite(ours.scores), truth.scores[layer]
        if not np.array_equal(admitted, theirs > np.finfo(np.float32).min / 2):
            return np.inf, np.inf, np.inf
        gap = np.where(admitted, theirs - np.where(admitted, ours.scores, 0.0), 0.0)
        if model.positions.scheme == "alibi":
            gap = np.where(admitted, gap - np.diagonal(gap, axis1=1, axis2=2)[:, :, None], 0.0)
        position = 1.0 + np.arange(gap.shape[1])[:, None]
        sizes = (1.0, ours.magnitude, position * ours.magnitude)
        worst = np.maximum(worst, [np.max(np.abs(gap) / size) for size in sizes])
    return float(worst[0]), float(worst[1]), float(worst[2])


def test_every_supported_architecture_has_a_tiny_case() -> None:
    # `gemma3` also sees pictures; what is read of it is its language part, a `gemma3_text`.
    assert {model_type for model_type, _ in TINY.values()} - {"gemma3"} == set(ARCHITECTURES)


@pytest.mark.parametrize("case", CASES)
def test_scores_are_the_models_own(case: str, tiny: Load, ids: torch.Tensor) -> None:
    model = tiny(case)
    plain, relative, _ = gaps(model, observe(model, ids, float64=False))
    if model.model_type in FLOAT32_INSIDE:
        # Each of the n products is rounded to eps32/2, each of the n sums again, n ≤ 24: below 64·eps32·Σ|q||k|.
        assert relative < 64 * EPS32
    else:
        # n ≤ 24 products of order one in float64 on both sides: about 2·24·eps64 ≈ 1e-14, four orders to spare.
        assert plain < 1e-10


@pytest.mark.parametrize("case", CASES)
def test_scores_in_float64_throughout(case: str, tiny: Load, ids: torch.Tensor) -> None:
    """Is what remains in the float32 models rounding? Then it must vanish when their casts go to float64."""
    model = tiny(case)
    plain, _, _ = gaps(model, observe(model, ids, float64=True))
    assert plain < 1e-10


@pytest.mark.parametrize("case", CASES)
def test_exact_rotary_table_stays_within_the_models_rounding(
    case: str, tiny: Load, ids: torch.Tensor, record_property: Callable[[str, Any], None]
) -> None:
    """Models compute angles in float32: eps32·m·θ on each of q and k, θ ≤ 1, plus the rounding of cos and sin."""
    model = tiny(case)
    if model.positions.rotary(0) is None:
        assert "rotary" not in model.positions.scheme
        return
    _, _, by_position = gaps(model, observe(model, ids, float64=False), exact_rotation=True)
    record_property("case", case)
    record_property("rotary_gap", by_position / EPS32)
    assert by_position < 4 * EPS32


@pytest.mark.parametrize("case", CASES)
def test_outputs_are_the_models_own(case: str, tiny: Load, ids: torch.Tensor) -> None:
    """`Σ_h W_O Σ_j p_ij v_j + b_O` from the model's own pattern, after W_O and before any norm that follows it."""
    model = tiny(case)
    truth = observe(model, ids, float64=False)
    for layer in range(model.n_layers):
        values = rebuild(model, layer, truth.x[layer], truth.rotation.get(layer)).values
        output = attention_output(model.heads(layer), truth.pattern[layer], values)
        assert np.max(np.abs(output - truth.output[layer])) < 1e-10


# -- planted faults: each must be seen by the very comparison above -------------------------------------------------


def transposed(model: Model, patch: pytest.MonkeyPatch) -> bool:
    arch = model._architecture
    linear = arch.linear
    patch.setattr(arch, "linear", lambda name, shape: linear(name, shape).T.reshape(shape))
    return True


def tiled_kv_heads(model: Model, patch: pytest.MonkeyPatch) -> bool:
    heads = model.heads(0)
    patch.setattr(HeadWeights, "kv_head", lambda self, head: head % self.n_kv_heads)
    return 1 < heads.n_kv_heads < heads.n_heads


def flat_split(model: Model, patch: pytest.MonkeyPatch) -> bool:
    arch = model._architecture
    if arch.fused_blocks("q") is None:
        return False

    def flat(letter: Any) -> Any:
        blocks, rows = arch.__class__.fused_blocks(arch, letter)
        start = {"q": 0, "k": arch.n_heads, "v": arch.n_heads + arch.n_kv_heads}[letter]
        return blocks, np.arange(start, start + len(rows))

    patch.setattr(arch, "fused_blocks", flat)
    return not np.array_equal(flat("k")[1], arch.__class__.fused_blocks(arch, "k")[1])


def wrong_pairing(model: Model, patch: pytest.MonkeyPatch) -> bool:
    table = model.positions.rotary(0)
    if table is None or table.n_bands == 1:
        return False
    other: Any = "interleaved" if table.pairing == "half" else "half"
    rotary = model.positions.rotary
    replaced = dataclasses.replace(model.positions, rotary=lambda layer: swapped(rotary(layer), other))
    patch.setattr(model, "positions", replaced, raising=False)
    return True


def swapped(table: Any, pairing: Any) -> Any:
    return dataclasses.replace(table, pairing=pairing)


def reversed_q_and_k(model: Model, patch: pytest.MonkeyPatch) -> bool:
    arch = model._architecture
    projection = arch.projection
    patch.setattr(arch, "projection", lambda letter, n: projection({"q": "k", "k": "q"}.get(letter, letter), n))
    return arch.n_heads == arch.n_kv_heads


def dropped_bias(model: Model, patch: pytest.MonkeyPatch) -> bool:
    patch.setattr(model._architecture, "projection_bias", lambda letter: False)
    return bool(np.any(model._architecture.__class__.projection_bias(model._architecture, "q")))


def unscaled(model: Model, patch: pytest.MonkeyPatch) -> bool:
    scale = model._architecture.scale
    patch.setattr(model._architecture, "scale", lambda layer: 1.01 * scale(layer))
    return True


def window_longer_by_one(model: Model, patch: pytest.MonkeyPatch) -> bool:
    window = model._architecture.window
    windows = [window(layer) for layer in range(model.n_layers)]
    patch.setattr(model._architecture, "window", lambda layer: w + 1 if (w := window(layer)) else None)
    return any(windows)


def dropped_softcap(model: Model, patch: pytest.MonkeyPatch) -> bool:
    capped = model._architecture.softcap(0) is not None
    patch.setattr(model._architecture, "softcap", lambda layer: None)
    return capped


def forgotten_gain_offset(model: Model, patch: pytest.MonkeyPatch) -> bool:
    used = bool(model._architecture.norm_offset) and model.heads(0).q_norm is not None
    patch.setattr(model._architecture, "norm_offset", 0.0, raising=False)
    return used


def dropped_qk_norm(model: Model, patch: pytest.MonkeyPatch) -> bool:
    normed = model.heads(0).q_norm is not None
    patch.setattr(model._architecture, "qk_norm", lambda letter, layer: None)
    return normed


def dropped_score_bias(model: Model, patch: pytest.MonkeyPatch) -> bool:
    biased = model.positions.bias(0) is not None
    patch.setattr(model, "positions", dataclasses.replace(model.positions, bias=lambda layer: None), raising=False)
    return biased


FAULTS = [
    transposed,
    tiled_kv_heads,
    flat_split,
    wrong_pairing,
    reversed_q_and_k,
    dropped_bias,
    unscaled,
    window_longer_by_one,
    dropped_softcap,
    forgotten_gain_offset,
    dropped_qk_norm,
    dropped_score_bias,
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_planted_fault_is_seen(fault: Any, tiny: Load, ids: torch.Tensor) -> None:
    """In every case where the fault changes anything, the comparison of scores refuses it by a wide margin."""
    applicable = 0
    for case in CASES:
        model = tiny(case)
        truth = observe(model, ids, float64=False)
        with pytest.MonkeyPatch.context() as patch:
            if fault(model, patch):
                applicable += 1
                plain, _, _ = gaps(model, truth)
                assert plain > 1e-3, case
        assert gaps(model, truth)[1] < 64 * EPS32, f"{case}: the fault was not taken back"
    assert applicable > 0


def test_transposed_output_of_a_square_projection_is_seen(tiny: Load, ids: torch.Tensor) -> None:
    """GPT-2's `c_proj` is square and stored (in, out): a missed transpose changes no shape."""
    model = tiny("gpt2")
    truth = observe(model, ids, float64=False)
    values = rebuild(model, 0, truth.x[0], None).values
    heads = model.heads(0)
    right = attention_output(heads, truth.pattern[0], values)
    whole = np.moveaxis(heads.W_O, 0, 1).reshape(model.width, model.width).T
    wrong_weight = np.moveaxis(whole.reshape(model.width, model.n_heads, model.head_dim), 0, 1)
    wrong = np.einsum("hdn,hij,hjn->id", wrong_weight, truth.pattern[0], values) + heads.b_O
    assert np.max(np.abs(right - truth.output[0])) < 1e-10 < 1e-3 < np.max(np.abs(wrong - truth.output[0]))
