"""Log-probabilities of tokens from last hidden states, a block of positions at a time.

The logits of a text are T × V: 2 GB of float32 for 2048 tokens of a vocabulary of 262 144. Here they exist for `rows`
positions only, forwards and backwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

Tensor = torch.Tensor

BLOCK = 1 << 26
"""Logits that exist at once (256 MiB in float32)."""


@dataclass(frozen=True)
class Unembedding:
    """From last hidden states to `log f(t)`: `W_U` (V, D), `b_U` (V,) or None, in the dtype that the model runs in.

    `logits = logit_scale·(W_U x + b_U)`, then `c·tanh(·/c)` with a `softcap` c.
    """

    W_U: Tensor
    b_U: Tensor | None
    logit_scale: float
    softcap: float | None

    @property
    def rows(self) -> int:
        """Positions per block."""
        return max(1, BLOCK // len(self.W_U))

    def log_probabilities(self, hidden: Tensor) -> Tensor:
        """`log f` (rows, V) of hidden states (rows, D), in nats, float32 or finer."""
        logits = torch.nn.functional.linear(hidden, self.W_U, self.b_U) * self.logit_scale
        if self.softcap is not None:
            logits = self.softcap * torch.tanh(logits / self.softcap)
        if logits.dtype in (torch.float16, torch.bfloat16):
            logits = logits.float()
        return torch.log_softmax(logits, dim=-1)

    def blocks(self, hidden: Tensor) -> Iterator[tuple[slice, Tensor]]:
        """Which positions of `hidden` (T, D), and their `log f` (rows, V)."""
        for first in range(0, len(hidden), self.rows):
            place = slice(first, first + self.rows)
            yield place, self.log_probabilities(hidden[place])


def surprisals(unembedding: Unembedding, hidden: Tensor, ids: Tensor) -> NDArray[np.float64]:
    """`−log f(s_j)[t_{j+1}]` (T − 1,) in nats of a text `ids` (T,) with last hidden states (T, D)."""
    found = np.empty(len(ids) - 1)
    for place, log_f in unembedding.blocks(hidden[:-1]):
        found[place] = -log_f.gather(1, ids[1:][place, None])[:, 0].double().numpy()
    return found


def gradient_at_hidden(unembedding: Unembedding, hidden: Tensor, choose: Callable[[Tensor], Tensor]) -> Tensor:
    """Gradient (T, D) of `Σ_j log f(s_j)[t_j]` with respect to `hidden` (T, D).

    `choose` gets `log f` (rows, V), detached, a block of positions at a time and in order, and returns their t (rows,).
    """
    leaf = hidden.detach().requires_grad_()
    for _, log_f in unembedding.blocks(leaf):
        log_f.gather(1, choose(log_f.detach())[:, None]).sum().backward()  # type: ignore[no-untyped-call]
    assert leaf.grad is not None
    return leaf.grad
