"""All pairs on a GPU: tiles over queries and keys, summed in registers, in float32.

A program owns `QUERIES` queries and goes through their keys `KEYS` at a time, for several bands one after the other.
Each lane sums its own pairs; the sums of a tile are added up only every `FLUSH` tiles, into compensated row sums.
Nothing of size T × T exists, and no number is added to by two programs: the result is the same in every run. No tile
lies in shared memory. That holds a few KiB, for the sum over a tile and for the transpose of the packed dims; the
smallest GPUs have 48 KiB. 64 × 64 pairs in 128 lanes are 32 running sums a lane, well below the registers of a lane.

A pair costs two instructions: `|q·k| = |q_y|·|k_y + (q_x/q_y) k_x|`, the quotient taken once per query with |q_y| held
above 2^-40 |q_x| (an error of 2^-40 |q||k|, far below float32).

Error of a row, u = 2^-24 and S = Σ|q||k|: inputs, quotient (division is off by up to 2 ulp), product and final factor
below 14u, a lane's `FLUSH` additions, `KEYS` for a tile, 2u for the compensated sum: `(FLUSH + KEYS + 16)·u·S`,
whatever the length. Numbers 2^-100 times the largest of their band count as zero.

This module is importable without triton and without a GPU.
"""

from __future__ import annotations

import os
from types import ModuleType

import numpy as np
import torch

from numerics.bands.activation.staging import Array, Int, refuse_non_finite
from numerics.errors import InvalidArgument, MissingExtra

QUERIES, KEYS, FLUSH = 64, 64, 64
"""KEYS divides QUERIES: a tile ends where its diagonal does."""
WARPS, REGISTERS = 4, 128
"""Of the registers a lane may hold, so that 16 warps live on a multiprocessor at once. The compiler would take 209, for
the masks of the few tiles at the edge; held to 128 it saves some of those to memory, and none in the loop that counts:
that one is 32 FFMA, 32 FADD and 16 other instructions, as compiled for sm_80 and sm_90."""
PACK_TOKENS, PACK_BANDS = 64, 32
ENOUGH_PROGRAMS = 2048
"""Some fifteen per multiprocessor of the largest GPUs. With more of them than that, one takes several bands."""

Pair = tuple[Array, Array]


def rows(q: Pair, k: Pair, window: int) -> tuple[torch.Tensor, Int]:
    """Row sums (H, B, T) of the two dims (H, T, B) of q and those (G, T, B) of k, G | H, and their exponents (H, B).

    Keys i − W < j ≤ i. The sums are float32, on the GPU; the true ones are these times `2^exponent`. Arrays that are
    not on the GPU are copied there.
    """
    kernels = _kernels()
    (qx, qy), (kx, ky) = (tuple(_placed(x) for x in pair) for pair in (q, k))
    heads, length, bands = qx.shape
    group = heads // kx.shape[0]
    padded = -(-length // QUERIES) * QUERIES
    tiles = padded // QUERIES
    at_once = max(1, min(bands, heads * bands * tiles // ENOUGH_PROGRAMS))
    with torch.cuda.device_of(qx):  # type: ignore[no-untyped-call]
        packed_q, q_exponent = _packed(kernels, qx, qy, padded, "q")
        packed_k, k_exponent = _packed(kernels, kx, ky, padded, "k")
        found = torch.empty(heads, bands, padded, dtype=torch.float32, device=qx.device)
        kernels.tile_rows[(tiles, -(-bands // at_once), heads)](
            packed_q, packed_k, found, padded, window, bands, group, at_once,
            QUERIES=QUERIES, KEYS=KEYS, FLUSH=FLUSH, num_warps=WARPS, maxnreg=REGISTERS,
        )  # fmt: skip
    return found[..., :length], q_exponent + np.repeat(k_exponent, group, axis=0)


def _packed(
    kernels: ModuleType, first: torch.Tensor, second: torch.Tensor, padded: int, name: str
) -> tuple[torch.Tensor, Int]:
    """Float32 (heads, B, 2, padded), zero beyond T, and the even powers of two taken out (heads, B)."""
    heads, length, bands = first.shape
    norms = [torch.linalg.vector_norm(x, ord=float("inf"), dim=1).double() for x in (first, second)]
    largest = torch.maximum(*norms).cpu().numpy()
    if not np.isfinite(largest).all():
        raise refuse_non_finite(name)
    exponent = np.frexp(largest)[1].astype(np.int64)
    exponent = np.where(largest == 0, 0, exponent + exponent % 2)
    # The factor is applied twice: as one, it could leave the range that the product has.
    factor = torch.from_numpy(np.ldexp(1.0, -exponent // 2)).to(first.device)
    packed = torch.empty(heads, bands, 2, padded, dtype=torch.float32, device=first.device)
    kernels.pack[(-(-padded // PACK_TOKENS), -(-bands // PACK_BANDS), heads)](
        first, second, factor, packed, length, padded, bands, *first.stride(), *second.stride(),
        QUERY=name == "q", DOUBLE=first.dtype == torch.float64, TOKENS=PACK_TOKENS, BANDS=PACK_BANDS,
    )  # fmt: skip
    return packed, exponent


def interpreting() -> bool:
    """True where triton runs its kernels on the CPU: `TRITON_INTERPRET=1`, set before triton is first imported."""
    return os.environ.get("TRITON_INTERPRET") == "1"


def _kernels() -> ModuleType:
    try:
        from numerics.bands.activation import tile_kernels
    except ModuleNotFoundError as error:
        if error.name != "triton":
            raise
        raise MissingExtra("the path 'triton'", "gpu") from error
    if not (torch.cuda.is_available() or interpreting()):
        raise InvalidArgument("the path 'triton' needs a GPU, and torch sees none", "use the path 'halfplane'")
    return tile_kernels


def _placed(x: Array) -> torch.Tensor:
    if not isinstance(x, torch.Tensor):
        known = x.dtype.newbyteorder("=") if x.dtype.itemsize <= 8 else np.float64
        x = torch.from_numpy(np.array(x, dtype=known))
    x = x.detach()
    return x if x.is_cuda or interpreting() else x.cuda()
