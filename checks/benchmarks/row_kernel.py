"""A Triton kernel of total activation as first written, for the tiles of the product to be timed against."""

from __future__ import annotations

import torch
import triton  # type: ignore[import-untyped]
import triton.language as tl  # type: ignore[import-untyped]


@triton.jit  # type: ignore[untyped-decorator]
def _by_rows(
    q: tl.tensor,
    k: tl.tensor,
    out: tl.tensor,
    length: tl.tensor,
    bands: tl.tensor,
    head_step: tl.tensor,
    token_step: tl.tensor,
    QUERIES: tl.constexpr,
    LANES: tl.constexpr,
) -> None:
    """One block of queries and of bands, the keys one after the other, each masked: such a kernel as first written."""
    head = tl.program_id(0)
    block = tl.program_id(2)
    band = tl.program_id(1) * LANES + tl.arange(0, LANES)
    query = block * QUERIES + tl.arange(0, QUERIES)
    start = head.to(tl.int64) * head_step
    known = band < bands
    at = start + query[:, None].to(tl.int64) * token_step + band[None, :]
    inside = (query < length)[:, None] & known[None, :]
    q1 = tl.load(q + at, mask=inside, other=0.0).to(tl.float32)
    q2 = tl.load(q + at + bands, mask=inside, other=0.0).to(tl.float32)
    sums = tl.zeros([QUERIES, LANES], tl.float32)
    for key in range(0, tl.minimum(block * QUERIES + QUERIES, length)):
        here = start + tl.cast(key, tl.int64) * token_step + band
        k1 = tl.load(k + here, mask=known, other=0.0).to(tl.float32)
        k2 = tl.load(k + here + bands, mask=known, other=0.0).to(tl.float32)
        sums += tl.where((query >= key)[:, None], tl.abs(q1 * k1[None, :] + q2 * k2[None, :]), 0.0)
    tl.store(out + (head * tl.num_programs(2) + block) * bands + band, tl.sum(sums, 0), mask=known)


def by_rows(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    """Activation (H, B) of queries and keys (H, T, 2B), layout `half`, contiguous, by the row-at-a-time kernel."""
    heads, length, dims = q.shape
    bands, lanes, queries = dims // 2, 32, 64
    blocks = -(-length // queries)
    out = torch.empty(heads, blocks, bands, dtype=torch.float32, device=q.device)
    grid = (heads, -(-bands // lanes), blocks)
    _by_rows[grid](q, k, out, length, bands, q.stride(0), q.stride(1), QUERIES=queries, LANES=lanes)
    return out.sum(1, dtype=torch.float64)
