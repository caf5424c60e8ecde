"""Fisher information of the bands of a document: one backward pass for all positions against one per position.

On Gemma 3 270M in float32, all layers, heads and bands: the gradient of the sum, and the sum of the gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray

from checks.benchmarks.case import Calls, Case, apart
from numerics.bands.likelihood import Unembedding, gradient_at_hidden
from numerics.bands.measure import factor_gradients, rotary_tables, unembedding_of
from numerics.bands.scaling import scale_bands
from numerics.models import Model, load_model
from numerics.models.visitor import AttentionCall

Float = NDArray[np.float64]

MODEL, BANDS = "gemma-3-270m", 128
AGREEMENT = 1e-3


def in_one_pass(model: Model, unembedding: Unembedding, ids: torch.Tensor, targets: torch.Tensor) -> list[Float]:
    """Gradients (H, B) by layer, as the product computes them."""
    return factor_gradients(model, unembedding, ids, followed_by(targets))


def per_position(model: Model, unembedding: Unembedding, ids: torch.Tensor, targets: torch.Tensor) -> list[Float]:
    """A backward pass for every position, added up: what single gradients would cost."""
    tables = rotary_tables(model)
    factors = [torch.ones((model.n_heads, table.n_bands), requires_grad=True) for table in tables]

    def scaled(call: AttentionCall) -> tuple[torch.Tensor, torch.Tensor]:
        return scale_bands(call.q, factors[call.layer], tables[call.layer].pairing), call.k

    with torch.enable_grad(), model.attention(scaled):
        hidden = model.forward(ids[None], logits=False)[0]
    gradient = gradient_at_hidden(unembedding, hidden, followed_by(targets))
    total = [np.zeros(factor.shape) for factor in factors]
    for position in range(len(ids)):
        alone = torch.zeros_like(gradient)
        alone[position] = gradient[position]
        found = torch.autograd.grad(hidden, factors, grad_outputs=alone, retain_graph=True)
        total = [a + b.double().numpy() for a, b in zip(total, found, strict=True)]
    return total


def followed_by(targets: torch.Tensor) -> Callable[[torch.Tensor], torch.Tensor]:
    """The given next tokens, whatever their probability, block after block of rows."""
    place = 0

    def choose(log_f: torch.Tensor) -> torch.Tensor:
        nonlocal place
        found = targets[place : place + len(log_f)]
        place += len(log_f)
        return found

    return choose


def document(length: int) -> Calls:
    model = load_model(MODEL, dtype="float32")
    unembedding = unembedding_of(model)
    ids, targets = torch.as_tensor(np.random.default_rng(0).integers(1000, 100_000, (2, length)))
    return {
        "backward per position": partial(per_position, model, unembedding, ids, targets),
        "one backward": partial(in_one_pass, model, unembedding, ids, targets),
    }


CASES = tuple(
    Case(
        "fisher", ("backward per position", "one backward"), partial(document, length), apart(AGREEMENT, relative=True),
        T=length, bands=BANDS, turns=3, threads=None,
    )
    for length in (6, 12, 24, 48)
)  # fmt: skip
