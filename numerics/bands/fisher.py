"""Diagonal Fisher information of the band factors.

With `f(s, θ)` the next-token distribution after a prefix s when the queries are `q ⊙ θ`, the information on θ_i at
θ = 1 is `Σ_j E_{t ~ f(s_j)}[(∂_i log f(s_j, θ)[t])²]` over the prefixes of a document. Its estimate samples one t̂_j per
prefix and squares one gradient, that of `Σ_j log f(s_j, θ)[t̂_j]`: the t̂_j are independent and every
`E ∂_i log f = 0`, so the products of two different prefixes vanish in expectation. Squares add over documents.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

Tensor = torch.Tensor


def sampler(seed: int) -> Callable[[Tensor], Tensor]:
    """A function that draws one token per row from `log f` (rows, V): the sampled targets t̂ of one document."""
    generator = torch.Generator().manual_seed(seed)
    return lambda log_f: torch.multinomial(log_f.exp(), 1, generator=generator)[:, 0]


def gradients_at_factors(hidden: Tensor, gradient: Tensor, factors: list[Tensor]) -> list[Tensor]:
    """Gradients of a number with respect to the `factors`, from its gradient at the `hidden` states they lead to.

    One backward pass through the layers; nothing is added to the gradients of the model's weights.
    """
    return list(torch.autograd.grad(hidden, factors, grad_outputs=gradient))
