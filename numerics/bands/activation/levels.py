"""The half-plane sum without a compiler: positions halved again and again, in torch. O(T log² T) time, O(T) memory.

At each level the keys of a left half are sorted by angle and their sums taken; each query of the right half finds its
normal among them: `Formal.row_activation_by_rank`. Error bound as in `halfplane.py`: every pair lies in one product of
one level, and the levels add up like one more sum.
"""

from __future__ import annotations

import numpy as np
import torch

from numerics.bands.activation.staging import Float
from numerics.bands.activation.triangles import by_triangles

BASE = 64
"""Positions whose pairs are taken one by one."""
AT_ONCE = 1 << 19
"""Queries handled in one go, so that intermediate results stay near 100 MiB: four bands of 128k tokens."""


def rows(q: Float, k: Float, window: int) -> Float:
    """Rows (N, R, T) over the keys i − W < j ≤ i of queries (N, R, 2, T) and keys (N, 2, T)."""
    return by_triangles(_causal, q, k, window)


def _causal(q: Float, k: Float, strict: bool) -> Float:
    N, R, _, T = q.shape
    step = max(1, AT_ONCE // (R * T))
    parts = [
        _some(torch.from_numpy(q[n : n + step]), torch.from_numpy(k[n : n + step]), strict) for n in range(0, N, step)
    ]
    return np.concatenate([part.numpy() for part in parts])


def _some(q: torch.Tensor, k: torch.Tensor, strict: bool) -> torch.Tensor:
    N, R, _, T = q.shape
    padded = BASE
    while padded < T:
        padded *= 2
    q, k = (torch.nn.functional.pad(x, (0, padded - T)) for x in (q, k))
    found = _blocks(q, k, strict)
    folded, key_angle = _fold(k[:, 0], k[:, 1])
    _, query_angle = _fold(-q[:, :, 1], q[:, :, 0])
    half = BASE
    while half < padded:
        blocks = padded // (2 * half)
        order = key_angle.view(N, blocks, 2, half)[:, :, 0].sort(dim=-1)
        # sums of the left keys by angle, from none to all of them: (N, 2, blocks, half + 1)
        left = folded.view(N, 2, blocks, 2, half)[:, :, :, 0]
        by_angle = left.gather(-1, order.indices[:, None].expand_as(left))
        sums = torch.nn.functional.pad(by_angle.cumsum(-1), (1, 0))
        right = query_angle.view(N, R, blocks, 2, half)[:, :, :, 1]
        rank = torch.searchsorted(order.values, right.transpose(1, 2).flatten(2).contiguous())
        total = torch.zeros_like(right)
        for component in (0, 1):
            below = sums[:, component].gather(-1, rank).view(N, blocks, R, half).transpose(1, 2)
            signed = 2 * below - sums[:, component, None, :, -1:]
            total += q[:, :, component].view(N, R, blocks, 2, half)[:, :, :, 1] * signed
        found.view(N, R, blocks, 2, half)[:, :, :, 1] += total.abs()
        half *= 2
    return found[..., :T]


def _blocks(q: torch.Tensor, k: torch.Tensor, strict: bool) -> torch.Tensor:
    """Row sums of the pairs inside each block of `BASE` positions."""
    N, R, _, padded = q.shape
    blocks = padded // BASE
    queries = q.view(N, R, 2, blocks, BASE).permute(0, 1, 3, 4, 2)
    keys = k.view(N, 2, blocks, BASE).permute(0, 2, 1, 3)
    found = torch.empty(N, R, padded, dtype=torch.float64)
    step = max(1, (1 << 18) // (R * BASE * BASE))
    for b in range(0, blocks, step):
        products = queries[:, :, b : b + step] @ keys[:, None, b : b + step]
        sums = products.abs_().tril_(-1 if strict else 0).sum(-1)
        found[..., b * BASE : (b + step) * BASE] = sums.flatten(2)
    return found


def _fold(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Vectors (N, …) turned into the half plane, stacked at axis 1, and their angles `−x/(|x| + y)`, −1 for zero."""
    flip = (y < 0) | ((y == 0) & (x < 0))
    x, y = torch.where(flip, -x, x), torch.where(flip, -y, y)
    size = x.abs() + y
    angle = torch.where(size > 0, -x / torch.where(size > 0, size, 1.0), -1.0)
    return torch.stack((x, y), 1), angle
