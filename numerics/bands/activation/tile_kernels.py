"""The triton kernels of `tiles.py`. Importing this module needs triton, not a GPU."""

from __future__ import annotations

import triton  # type: ignore[import-untyped]
import triton.language as tl  # type: ignore[import-untyped]


@triton.jit  # type: ignore[untyped-decorator]
def pack(
    first: tl.tensor,
    second: tl.tensor,
    factor: tl.tensor,
    packed: tl.tensor,
    length: tl.tensor,
    padded: tl.tensor,
    bands: tl.tensor,
    first_head: tl.tensor,
    first_token: tl.tensor,
    first_band: tl.tensor,
    second_head: tl.tensor,
    second_token: tl.tensor,
    second_band: tl.tensor,
    QUERY: tl.constexpr,
    DOUBLE: tl.constexpr,
    TOKENS: tl.constexpr,
    BANDS: tl.constexpr,
) -> None:
    """Two dims (heads, T, B) of any float dtype and strides → float32 (heads, B, 2, padded), each times `factor²`.

    Keys are stored as x and y, queries as x/y and |y|: see `tiles.py`. Zero beyond T.
    """
    head = tl.program_id(2).to(tl.int64)
    token = (tl.program_id(0) * TOKENS + tl.arange(0, TOKENS)).to(tl.int64)
    band = (tl.program_id(1) * BANDS + tl.arange(0, BANDS)).to(tl.int64)
    inside = (token < length)[:, None] & (band < bands)[None, :]
    x = tl.load(
        first + head * first_head + token[:, None] * first_token + band[None, :] * first_band, mask=inside, other=0.0
    )
    y = tl.load(
        second + head * second_head + token[:, None] * second_token + band[None, :] * second_band,
        mask=inside,
        other=0.0,
    )
    twice = tl.load(factor + head * bands + band, mask=band < bands, other=0.0)
    if DOUBLE:
        x = (x * twice[None, :]) * twice[None, :]
        y = (y * twice[None, :]) * twice[None, :]
    else:
        twice = twice.to(tl.float32)
        x = (x.to(tl.float32) * twice[None, :]) * twice[None, :]
        y = (y.to(tl.float32) * twice[None, :]) * twice[None, :]
    x = x.to(tl.float32)
    y = y.to(tl.float32)
    if QUERY:
        size = tl.maximum(tl.abs(y), tl.abs(x) * 0.9094947017729282e-12)  # 2^-40
        signed = tl.where(y < 0, -size, size)
        x = tl.where(size > 0, x / tl.where(size > 0, signed, 1.0), 0.0)
        y = size
    at = packed + (head * bands + band)[None, :] * 2 * padded + token[:, None]
    stored = (token < padded)[:, None] & (band < bands)[None, :]
    tl.store(at, x, mask=stored)
    tl.store(at + padded, y, mask=stored)


@triton.jit  # type: ignore[untyped-decorator]
def tile_rows(
    q: tl.tensor,
    k: tl.tensor,
    rows: tl.tensor,
    padded: tl.tensor,
    window: tl.tensor,
    bands: tl.tensor,
    group: tl.tensor,
    at_once: tl.tensor,
    QUERIES: tl.constexpr,
    KEYS: tl.constexpr,
    FLUSH: tl.constexpr,
) -> None:
    """Row sums (H, B, padded) of packed queries (H, B, 2, padded) and keys (H / group, B, 2, padded).

    Program (tile, group of bands, head); the longest rows start first. Keys from `whole` to `diagonal` are seen by
    every query of the tile and need no mask.
    """
    tile = tl.num_programs(0) - 1 - tl.program_id(0)
    head = tl.program_id(2).to(tl.int64)
    start = tile * QUERIES
    query = start + tl.arange(0, QUERIES)
    lowest = tl.maximum(0, start - window + 1) // KEYS * KEYS
    whole = (tl.maximum(0, start + QUERIES - window) + KEYS - 1) // KEYS * KEYS
    diagonal = tl.maximum(whole, (start + 1) // KEYS * KEYS)
    first_band = tl.program_id(1) * at_once
    for band in range(first_band, tl.minimum(bands, first_band + at_once)):
        queries = q + (head * bands + band) * 2 * padded
        keys = k + ((head // group) * bands + band) * 2 * padded
        ratio = tl.load(queries + query)
        row = _tiles(ratio, query, keys, lowest, tl.minimum(whole, padded), padded, window, True, QUERIES, KEYS)
        lost = tl.zeros([QUERIES], tl.float32)
        for flush in range(whole, diagonal, FLUSH * KEYS):
            stop = tl.minimum(diagonal, flush + FLUSH * KEYS)
            part = _tiles(ratio, query, keys, flush, stop, padded, window, False, QUERIES, KEYS) - lost
            total = row + part
            lost = (total - row) - part
            row = total
        row += _tiles(ratio, query, keys, diagonal, start + QUERIES, padded, window, True, QUERIES, KEYS) - lost
        size = tl.load(queries + padded + query)
        tl.store(rows + (head * bands + band) * padded + query, row * size)


@triton.jit  # type: ignore[untyped-decorator]
def _tiles(
    ratio: tl.tensor,
    query: tl.tensor,
    keys: tl.tensor,
    start: tl.tensor,
    stop: tl.tensor,
    padded: tl.tensor,
    window: tl.tensor,
    MASKED: tl.constexpr,
    QUERIES: tl.constexpr,
    KEYS: tl.constexpr,
) -> tl.tensor:
    """`Σ_j |k_y + ratio·k_x|` over the keys from `start` to `stop`, tile by tile, summed over the tile at the end."""
    sums = tl.zeros([QUERIES, KEYS], tl.float32)
    for first in range(start, stop, KEYS):
        key = first + tl.arange(0, KEYS)
        x = tl.load(keys + key)
        y = tl.load(keys + padded + key)
        pair = tl.abs(tl.fma(ratio[:, None], x[None, :], y[None, :]))
        if MASKED:
            distance = query[:, None] - key[None, :]
            pair = tl.where((distance >= 0) & (distance < window), pair, 0.0)
        sums += pair
    return tl.sum(sums, 1)
