"""Log-probabilities a block at a time are those of the model's own logits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from numerics import Model
from numerics.bands import likelihood
from numerics.bands.likelihood import Unembedding, gradient_at_hidden, surprisals
from numerics.bands.measure import unembedding_of
from tests.bands.rotary import ROTARY
from tests.models.tiny import V

Load = Callable[[str], Model]


@pytest.mark.parametrize("rows", [1, 5, 100])
@pytest.mark.parametrize("case", ROTARY)
def test_surprisals_are_the_cross_entropy_of_the_models_logits(
    case: str, rows: int, walkable: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(likelihood, "BLOCK", rows * V)
    model = walkable(case)
    ids = torch.randint(5, V, (13,), generator=torch.Generator().manual_seed(2))
    with torch.no_grad():
        logits = model.forward(ids[None])[0]
        hidden = model.forward(ids[None], logits=False)[0]
        expected = torch.nn.functional.cross_entropy(logits[:-1].double(), ids[1:], reduction="none")
    # CodeGen casts its logits to float32: an ulp of a logit of up to 32.
    allowed = 4e-6 if case == "codegen" else 1e-12
    np.testing.assert_allclose(surprisals(unembedding_of(model), hidden, ids), expected.numpy(), rtol=0, atol=allowed)


@given(st.integers(1, 6), st.integers(1, 4), st.booleans(), st.sampled_from([None, 2.0]), st.integers(0, 2**32 - 1))
def test_gradient_in_blocks_is_that_of_the_whole(
    tokens: int, rows: int, bias: bool, softcap: float | None, seed: int
) -> None:
    generator = torch.Generator().manual_seed(seed)

    def random(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    unembedding = Unembedding(random(7, 5), random(7) if bias else None, 1.3, softcap)
    hidden, targets = random(tokens, 5).requires_grad_(), torch.randint(0, 7, (tokens,), generator=generator)
    logits = (hidden @ unembedding.W_U.T + (0 if unembedding.b_U is None else unembedding.b_U)) * 1.3
    if softcap is not None:
        logits = softcap * torch.tanh(logits / softcap)
    total = -torch.nn.functional.cross_entropy(logits, targets, reduction="sum")
    (expected,) = torch.autograd.grad(total, hidden)
    given_so_far = 0

    def choose(log_f: torch.Tensor) -> torch.Tensor:
        nonlocal given_so_far
        assert not log_f.requires_grad
        assert log_f.exp().sum(-1).sub(1).abs().max() < 1e-12
        given_so_far += len(log_f)
        return targets[given_so_far - len(log_f) : given_so_far]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(likelihood, "BLOCK", 7 * rows)
        found = gradient_at_hidden(unembedding, hidden, choose)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)
    assert hidden.grad is None


def test_half_precision_is_summed_in_float32() -> None:
    unembedding = Unembedding(torch.ones(3, 2, dtype=torch.bfloat16), None, 1.0, None)
    assert unembedding.log_probabilities(torch.ones(4, 2, dtype=torch.bfloat16)).dtype == torch.float32
