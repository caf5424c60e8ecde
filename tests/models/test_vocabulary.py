"""The two ends of a model: from ids to the first residual stream, from the last one to logits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from numerics.models import Model
from tests.models.rebuild import normed
from tests.models.tiny import TINY

Load = Callable[[str], Model]
ENCODERS = {"bert", "roberta", "distilbert", "mpnet"}
DECODERS = [case for case, (model_type, _) in sorted(TINY.items()) if model_type not in ENCODERS]


def last_stream_and_logits(model: Model, ids: torch.Tensor) -> tuple[Any, Any]:
    """Input of the final norm (of the unembedding, where there is none) and logits, from the model's own pass."""
    arch, module, seen = model._architecture, model._module, []
    if model.vocabulary.final_norm is not None:
        last = module.base_model.get_submodule(arch.final_norm_name)
    elif model.name == "opt-post-norm":
        last = module.base_model.decoder.project_out
    hook = last.register_forward_pre_hook(lambda _, args: seen.append(args[0]))
    with torch.no_grad():
        logits = model.forward(ids)
    hook.remove()
    return seen[-1][0].double().numpy(), logits[0].double().numpy()


@pytest.mark.parametrize("case", DECODERS)
def test_logits_from_the_last_residual_stream(case: str, tiny: Load, ids: torch.Tensor) -> None:
    model = tiny(case)
    ends = model.vocabulary
    stream, logits = last_stream_and_logits(model, ids)
    x = stream if ends.final_norm is None else normed(ends.final_norm, stream)
    assert ends.W_U is not None
    ours = x @ ends.W_U.T + (0.0 if ends.b_U is None else ends.b_U)
    ours *= ends.logit_scale
    if ends.logit_softcap is not None:
        ours = ends.logit_softcap * np.tanh(ours / ends.logit_softcap)
    # The final RMS or Cohere norm is computed in float32: D = 64 roundings of numbers of the logits' size.
    assert np.max(np.abs(ours - logits)) < 64 * 2.0**-23 * (1 + np.max(np.abs(logits)))


@pytest.mark.parametrize("case", sorted(TINY))
def test_first_residual_stream_from_ids(case: str, tiny: Load, ids: torch.Tensor) -> None:
    model = tiny(case)
    ends, seen = model.vocabulary, []
    first = model._module.base_model.get_submodule(model._architecture.block_name(0).rstrip("."))
    hook = first.register_forward_pre_hook(
        lambda _, args, kwargs: seen.append(args[0] if args else kwargs["hidden_states"]), with_kwargs=True
    )
    with torch.no_grad():
        model.forward(ids)
    hook.remove()
    ours = ends.W_E[ids[0].numpy()]
    if ends.W_pos is not None:
        ours = ours + ends.W_pos[: ids.shape[1]]
    if ends.token_type is not None:
        ours = ours + ends.token_type
    if ends.embedding_norm is not None:
        ours = normed(ends.embedding_norm, ours)
    # Gemma's √D is rounded to float32 by the model.
    assert np.max(np.abs(ours - seen[0][0].double().numpy())) < 4 * 2.0**-23 * np.max(np.abs(ours))


@pytest.mark.parametrize("case", sorted(ENCODERS))
def test_tables_of_an_encoder(case: str, tiny: Load) -> None:
    model = tiny(case)
    embeddings = model._module.embeddings
    first = {"roberta": 2, "mpnet": 2}.get(case, 0)
    assert np.array_equal(model.vocabulary.W_E, embeddings.word_embeddings.weight.detach().numpy())
    assert np.array_equal(model.vocabulary.W_pos, embeddings.position_embeddings.weight.detach().numpy()[first:])
    assert model.vocabulary.W_U is None
    assert model.vocabulary.final_norm is None


def test_gemma_embeddings_carry_the_square_root_of_the_width(tiny: Load) -> None:
    ends = tiny("gemma3").vocabulary
    table = tiny("gemma3")._module.base_model.embed_tokens.weight.detach().numpy()
    np.testing.assert_allclose(ends.W_E, 8.0 * table, rtol=1e-15)
    assert np.array_equal(ends.W_U, table)


@pytest.mark.parametrize("case", DECODERS)
def test_hidden_states_without_logits_are_those_under_the_logits(case: str, tiny: Load, ids: torch.Tensor) -> None:
    model = tiny(case)
    with torch.no_grad():
        hidden = model.forward(ids, logits=False)[0].double().numpy()
        logits = model.forward(ids)[0].double().numpy()
    ends = model.vocabulary
    assert hidden.shape[0] == ids.shape[1]
    if case == "opt-post-norm":  # the hidden states are narrowed to the width of the tokens first
        assert hidden.shape[1] == 32
        return
    assert ends.W_U is not None
    ours = (hidden @ ends.W_U.T + (0.0 if ends.b_U is None else ends.b_U)) * ends.logit_scale
    if ends.logit_softcap is not None:
        ours = ends.logit_softcap * np.tanh(ours / ends.logit_softcap)
    np.testing.assert_allclose(ours, logits, rtol=0, atol=1e-10)
