"""The visitor sees what the model computes with, changes nothing by looking, and its edits reach the logits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from numerics.errors import InvalidArgument, UnreachableAttention
from numerics.models import Model, reach
from numerics.models.visitor import AttentionCall, Site, admissible
from tests.models.rebuild import unrotated
from tests.models.test_architectures import EPS32
from tests.models.tiny import TINY, tiny_module
from tests.models.truth import observe

CASES = sorted(TINY)
Load = Callable[[str], Model]


def visit(model: Model, ids: torch.Tensor) -> tuple[list[AttentionCall], torch.Tensor]:
    calls: list[AttentionCall] = []
    with torch.no_grad(), model.attention(calls.append):
        return calls, model.forward(ids)


@pytest.mark.parametrize("case", CASES)
def test_looking_changes_nothing_and_every_layer_is_seen_once(case: str, tiny: Load, ids: torch.Tensor) -> None:
    model = tiny(case)
    with torch.no_grad():
        plain = model.forward(ids)
    calls, visited = visit(model, ids)
    assert [call.layer for call in calls] == list(range(model.n_layers))
    if case == "falcon-alibi":
        # Its plain pass is sdpa (see test_falcon_alibi_is_counted_once), which sums in another order.
        torch.testing.assert_close(visited, plain, rtol=0, atol=1e-13)
    else:
        assert torch.equal(visited, plain)
    with torch.no_grad():
        assert torch.equal(model.forward(ids), plain), "the visitor was not taken away"


@pytest.mark.parametrize("case", CASES)
def test_call_holds_what_the_model_computes(case: str, tiny: Load, ids: torch.Tensor) -> None:
    """Its scores are the argument of the model's softmax, its pattern the result, its x the input of the attention."""
    model = tiny(case)
    truth = observe(model, ids, float64=False)
    for call in visit(model, ids)[0]:
        layer = call.layer
        scores = call.scores()[0].numpy()
        seen = np.isfinite(scores)
        assert np.array_equal(seen, truth.scores[layer] > np.finfo(np.float32).min / 2)
        # The models that round scores to float32 before the softmax: half an ulp of a score, n ≤ 24 terms as above.
        ours, theirs = scores[seen], truth.scores[layer][seen]
        assert (np.abs(ours - theirs) <= 64 * EPS32 * (1 + np.abs(ours))).all()
        # Softmax in float32 inside most models: relative error a few eps32 of a probability, plus the scores' own.
        assert np.max(np.abs(call.pattern()[0].numpy() - truth.pattern[layer])) < 64 * EPS32
        # Layers before this one may have rounded differently only where the plain pass is not the eager one.
        np.testing.assert_allclose(call.x[0].double().numpy(), truth.x[layer], rtol=0, atol=1e-12)


@pytest.mark.parametrize("case", CASES)
def test_unrotated_queries_and_keys_are_the_projections(case: str, tiny: Load, ids: torch.Tensor) -> None:
    model = tiny(case)
    for call in visit(model, ids)[0]:
        q, k = call.unrotated()
        ours = unrotated(model.heads(call.layer), call.x[0].double().numpy())
        for seen, rebuilt in zip((q, k), ours, strict=True):
            seen_heads = seen[0].double().numpy()
            if len(seen_heads) != len(rebuilt):  # Falcon's grouped layout hands each key head to all its queries
                rebuilt = np.repeat(rebuilt, len(seen_heads) // len(rebuilt), axis=0)
            # Turning back undoes the model's own float32 angles exactly up to the roundings of cos² + sin².
            assert np.max(np.abs(seen_heads - rebuilt)) < 16 * EPS32 * (1 + np.max(np.abs(rebuilt)))
        rotates = model.positions.rotary(call.layer) is not None
        assert rotates == (call.cos is not None)
        assert not rotates or float((q - call.q).abs().max()) > 1e-2, "q was not rotated when it was seen"


@pytest.mark.parametrize("case", CASES)
def test_an_edit_of_q_reaches_the_logits_with_gradient_in_every_layer(case: str, tiny: Load, ids: torch.Tensor) -> None:
    model = tiny(case)
    factors: dict[int, torch.Tensor] = {}

    def scale(call: AttentionCall) -> tuple[torch.Tensor, torch.Tensor]:
        factors[call.layer] = torch.ones(call.q.shape[1], 1, call.q.shape[-1], dtype=torch.float64, requires_grad=True)
        return call.q * factors[call.layer], call.k

    plain = model.forward(ids).detach()
    with model.attention(scale):
        output = model.forward(ids)
    # Multiplying by one changes nothing, except where OPT's q is divided by the scale and multiplied again.
    torch.testing.assert_close(output.detach(), plain, rtol=0, atol=1e-5)
    weights = torch.randn(output.shape, dtype=output.dtype, generator=torch.Generator().manual_seed(0))
    (output * weights).sum().backward()
    assert sorted(factors) == list(range(model.n_layers))
    for factor in factors.values():
        assert factor.grad is not None
        assert bool((factor.grad.abs().amax(dim=(1, 2)) > 0).all())


@pytest.mark.parametrize("case", CASES)
def test_switching_off_q_makes_attention_uniform_up_to_its_bias(case: str, tiny: Load, ids: torch.Tensor) -> None:
    model = tiny(case)
    with torch.no_grad():
        plain = model.forward(ids)
        with model.attention(lambda call: (torch.zeros_like(call.q), call.k)):
            assert float((model.forward(ids) - plain).abs().max()) > 1e-3


def test_an_edit_of_k_is_used_too(tiny: Load, ids: torch.Tensor) -> None:
    model = tiny("opt")
    with torch.no_grad():
        plain = model.forward(ids)
        with model.attention(lambda call: (call.q, torch.zeros_like(call.k))):
            assert float((model.forward(ids) - plain).abs().max()) > 1e-3


@pytest.mark.parametrize("case", ["bloom", "mpt", "gpt_neo", "mpnet"])
def test_a_model_that_ignores_the_visitor_is_refused(
    case: str, tiny: Load, ids: torch.Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """transformers lets these four be told to use another attention and goes on with its own, silently."""
    model = tiny(case)
    monkeypatch.delitem(reach._WRAPPED, model.model_type)
    monkeypatch.setattr(model._module, "set_attn_implementation", lambda name: None)
    with model.attention(lambda call: None), pytest.raises(UnreachableAttention, match="layer 0 called the visitor 0"):
        model.forward(ids)


def test_a_layer_that_is_visited_twice_is_refused(
    tiny: Load, ids: torch.Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tiny("llama")
    once = Site.visit
    monkeypatch.setattr(Site, "visit", lambda *a, **k: (once(*a, **k), once(*a, **k))[0])
    with model.attention(lambda call: None), pytest.raises(UnreachableAttention, match="2 times"):
        model.forward(ids)


def test_one_visitor_at_a_time_and_an_error_in_it_leaves_the_model_as_it_was(tiny: Load, ids: torch.Tensor) -> None:
    model = tiny("bloom")
    with torch.no_grad():
        plain = model.forward(ids)

    def broken(call: AttentionCall) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), model.attention(broken):
        model.forward(ids)
    with model.attention(lambda call: None), pytest.raises(InvalidArgument), model.attention(lambda call: None):
        pass
    with torch.no_grad():
        assert torch.equal(model.forward(ids), plain)


def test_falcon_alibi_is_counted_once(tiny: Load, ids: torch.Tensor) -> None:
    """transformers' eager Falcon adds ALiBi in the mask and again to the scores; its sdpa, and Falcon, add it once."""
    model = tiny("falcon-alibi")
    with torch.no_grad():
        ours = model.forward(ids)
        model._module.config._attn_implementation = "eager"
        eager = model.forward(ids)
        model._module.config._attn_implementation = "sdpa"
    assert float((eager - ours).abs().max()) > 1e-3, "transformers has mended it: let Falcon run eagerly again"


def test_huge_negative_scores_do_not_open_the_future() -> None:
    """A finite mask constant of −1e5 once let real scores of that size attend to the future."""
    q = torch.full((1, 1, 3, 1), 1.0, dtype=torch.float64)
    k = torch.tensor([-1.1e5, -1.2e5, -1.0e5], dtype=torch.float64).reshape(1, 1, 3, 1)
    mask = torch.full((3, 3), torch.finfo(torch.float32).min).triu(1)[None, None]
    call = AttentionCall(0, q[0], q, k, k, admissible(mask), 1.0, None, None, None, None, None, None)
    assert torch.equal(call.pattern()[0, 0].triu(1), torch.zeros(3, 3, dtype=torch.float64))


def test_a_row_without_admissible_keys_is_zero() -> None:
    q = torch.ones(1, 1, 2, 1)
    mask = torch.tensor([[False, False], [True, True]])[None, None]
    call = AttentionCall(0, q[0], q, q, q, mask, 1.0, None, None, None, None, None, None)
    assert torch.equal(call.pattern()[0, 0], torch.tensor([[0.0, 0.0], [0.5, 0.5]]))


@pytest.mark.parametrize("case", CASES)
def test_logits_at_some_places_are_those_of_the_whole_text(case: str, tiny: Load, ids: torch.Tensor) -> None:
    model, places = tiny(case), torch.tensor([1, 4, ids.shape[1] - 1])
    with torch.no_grad():
        whole, some = model.forward(ids), model.forward(ids, logits=places)
    assert some.shape == (*whole[:, :1].shape[:1], 3, whole.shape[-1])
    # Rows of a product in another block of rows: D terms of size 1 in float64.
    torch.testing.assert_close(some, whole[:, places], rtol=1e-12, atol=1e-12)


def test_positions_are_refused_where_they_are_relative_and_used_where_they_are_not(
    tiny: Load, ids: torch.Tensor
) -> None:
    shifted = torch.arange(ids.shape[1]) + 3
    with pytest.raises(InvalidArgument, match="relative"):
        tiny("bloom").forward(ids, shifted)
    with torch.no_grad():
        for case in ("gpt2", "opt", "roberta", "mpnet", "bert", "llama"):
            model, start = tiny(case), torch.arange(ids.shape[1])
            plain = model.forward(ids)
            assert torch.equal(model.forward(ids, start), plain), case
            moved = float((model.forward(ids, shifted) - plain).abs().max())
            # Rotary scores see differences only: what is left is the rounding of the model's float32 angles.
            assert moved < 1e-4 if case == "llama" else moved > 1e-3, case


def test_the_language_part_of_a_model_with_images_is_the_whole_models(tiny: Load, ids: torch.Tensor) -> None:
    model = tiny("gemma3-with-images")
    assert model.model_type == "gemma3_text"
    with torch.no_grad():
        whole = tiny_module("gemma3-with-images")(input_ids=ids).logits
        # The same weights in the same order of operations; the wrapper rounds its √D to another type.
        torch.testing.assert_close(model.forward(ids), whole, rtol=0, atol=1e-5)
