"""Total activation and its row sums, over all heads and bands, by the path asked for or the fastest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import torch

from numerics.bands.activation import direct, halfplane, levels, reference, tiles
from numerics.bands.activation.chooser import PATHS, Path, choose, installed
from numerics.bands.activation.staging import (
    Array,
    Float,
    Int,
    Pairing,
    Shape,
    check_bands,
    check_scale,
    keys_seen,
    pairs,
    shape_of,
    stage,
    unscaled,
)
from numerics.errors import InvalidArgument

AT_ONCE = 1 << 21
"""Numbers staged in one go on the host (16 MiB), if more than one band fits."""
AT_ONCE_ON_GPU = 1 << 28
"""The same there (1 GiB of float32), if more than one kv head fits."""

Rows = Callable[[Float, Float, int], Float]


class _Part(NamedTuple):
    """Rows (heads, bands, T), or their sums, of some heads and bands; the true ones are these times `2^exponent`."""

    heads: slice
    bands: slice
    values: Float
    exponent: Int


def total_activation(
    q: Array,
    k: Array,
    *,
    n_bands: int,
    pairing: Pairing = "half",
    scale: float = 1.0,
    window: int | None = None,
    path: Path | None = None,
) -> Float:
    """`A[h, b] = Σ_i Σ_j |scale·q_hi^b·k_gj^b|` (H, B), over keys j ≤ i, and i − W < j with a window of W.

    `q` (H, T, n) and `k` (G, T, n) after rotation, G | H, head h reads kv head `h·G // H`; numpy arrays or torch
    tensors of any float dtype and strides, never changed. `pairing` `half`: band b is dims b and b + B; `interleaved`:
    2b and 2b + 1. Dims beyond 2B are not read. In the unit of scores; MATH section 5.

    `path`: `reference` (the definition), `direct` (all pairs, strip by strip), `halfplane` (exact, O(T log T) time,
    O(T) memory), `triton` (tiles on a GPU, float32); None takes `choose`. `direct` and `halfplane` are compiled where
    numba is installed, else in torch. Error: `bounds.error_factor`. `Formal.fast_causal_activation_is_double_sum`,
    `Formal.fast_windowed_activation_is_double_sum`. Raises InvalidArgument for shapes that don't fit, for NaN or
    infinity in the bands and for a result beyond float64; MissingExtra for `triton` without triton.
    """
    shape = _check(q, k, n_bands, pairing, scale, window)
    found = np.empty((shape.heads, n_bands))
    for part in _parts(q, k, shape, n_bands, pairing, window, path, summed=True):
        found[part.heads, part.bands] = unscaled(part.values, part.exponent, scale)
    return found


def row_activation(
    q: Array,
    k: Array,
    *,
    n_bands: int,
    pairing: Pairing = "half",
    scale: float = 1.0,
    window: int | None = None,
    path: Path | None = None,
) -> Float:
    """`Σ_j |scale·q_hi^b·k_gj^b|` (H, B, T) of each query i. Arguments as in `total_activation`, its sum over i."""
    shape = _check(q, k, n_bands, pairing, scale, window)
    found = np.empty((shape.heads, n_bands, shape.length))
    for part in _parts(q, k, shape, n_bands, pairing, window, path, summed=False):
        found[part.heads, part.bands] = unscaled(part.values, part.exponent[..., None], scale)
    return found


def _check(q: Array, k: Array, n_bands: int, pairing: str, scale: float, window: int | None) -> Shape:
    shape = shape_of(q, k)
    check_bands(shape, n_bands, pairing)
    check_scale(scale)
    keys_seen(shape.length, window)
    return shape


def _parts(
    q: Array,
    k: Array,
    shape: Shape,
    n_bands: int,
    pairing: Pairing,
    window: int | None,
    path: Path | None,
    *,
    summed: bool,
) -> Iterator[_Part]:
    if path is None:
        on_gpu = all(isinstance(x, torch.Tensor) and x.is_cuda for x in (q, k))
        double = any(x.dtype.itemsize > 4 for x in (q, k))
        path = choose(shape.length, window=window, device="cuda" if on_gpu else "cpu", double=double)
    if path not in PATHS:
        raise InvalidArgument(f"path {path!r} is not known", f"use one of {', '.join(PATHS)}, or None")
    keys = keys_seen(shape.length, window)
    (qx, qy), (kx, ky) = pairs(q, n_bands, pairing), pairs(k, n_bands, pairing)
    if path == "triton":
        step = max(1, AT_ONCE_ON_GPU // (2 * (shape.group + 1) * n_bands * shape.length))
        for start in range(0, shape.kv_heads, step):
            kv = slice(start, min(shape.kv_heads, start + step))
            heads = slice(kv.start * shape.group, kv.stop * shape.group)
            rows, exponent = tiles.rows((qx[heads], qy[heads]), (kx[kv], ky[kv]), keys)
            values = rows.sum(dim=-1, dtype=torch.float64) if summed else rows
            yield _Part(heads, slice(None), values.cpu().double().numpy(), exponent)
        return
    rows_of = _on_host(path)
    step = max(1, AT_ONCE // (2 * (shape.group + 1) * shape.length))
    for head in range(shape.kv_heads):
        kv, heads = slice(head, head + 1), slice(head * shape.group, (head + 1) * shape.group)
        for start in range(0, n_bands, step):
            bands = slice(start, min(n_bands, start + step))
            query = stage(qx[heads, :, bands], qy[heads, :, bands], "q")
            key = stage(kx[kv, :, bands], ky[kv, :, bands], "k")
            found = rows_of(query.values, key.values[:, 0], keys).swapaxes(0, 1)
            yield _Part(heads, bands, found.sum(axis=-1) if summed else found, (query.exponent + key.exponent).T)


def _on_host(path: Path) -> Rows:
    if path == "reference":
        return reference.rows
    if path == "direct":
        return direct.rows if installed("numba") else direct.rows_by_strips
    return halfplane.rows if installed("numba") else levels.rows
