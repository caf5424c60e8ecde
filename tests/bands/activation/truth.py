"""What the paths are compared with: the definition in extended precision, written apart from all of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from numerics.bands.activation import total
from numerics.bands.activation.bounds import error_factor

Float = NDArray[np.float64]

LENGTHS = (1, 2, 17, 63, 64, 65, 129, 1537)
WINDOWS = (1, 2, 70, 5000)
HEAD_DIMS = (7, 16, 33, 60, 80, 96, 100, 128, 192, 256)
HOST_PATHS = ("reference", "direct", "halfplane", "direct without numba", "halfplane without numba")


class Exact(NamedTuple):
    """Per-query sums (H, B, T) of |σ q·k| and of |σ||q||k| over the admissible keys."""

    rows: Float
    sizes: Float


def exact(
    q: Float, k: Float, *, n_bands: int, pairing: str = "half", scale: float = 1.0, window: int | None = None
) -> Exact:
    heads, length, _ = q.shape
    rows, sizes = np.zeros((2, heads, n_bands, length), dtype=np.longdouble)
    for head in range(heads):
        kv = head * k.shape[0] // heads
        for band in range(n_bands):
            dims = [band, band + n_bands] if pairing == "half" else [2 * band, 2 * band + 1]
            q_b, k_b = (np.asarray(x[:, dims], dtype=np.longdouble) for x in (q[head], k[kv]))
            q_size, k_size = (np.sqrt((x * x).sum(axis=1)) for x in (q_b, k_b))
            for i in range(length):
                seen = slice(max(0, i + 1 - window) if window else 0, i + 1)
                rows[head, band, i] = np.abs(scale * (k_b[seen] @ q_b[i])).sum()
                sizes[head, band, i] = abs(scale) * q_size[i] * k_size[seen].sum()
    return Exact(rows, sizes)


def keys_seen(length: int, window: int | None) -> int:
    return min(length, window or length)


def within(found: Float, truth: Exact, path: str, window: int | None = None) -> bool:
    """Rows (H, B, T) or totals (H, B) inside the stated bound. 8 roundings of the comparison itself are granted."""
    factor = error_factor(path.split()[0], keys_seen(truth.rows.shape[-1], window))  # type: ignore[arg-type]
    right, size = truth if found.ndim == 3 else (x.sum(axis=-1) for x in truth)
    granted = (factor + 8 * np.finfo(np.float64).eps) * size
    return found.shape == right.shape and bool((np.abs(found - right) <= granted).all())


@contextmanager
def taking(path: str) -> Iterator[str]:
    """The name to give as `path`; where it ends in 'without numba', nothing is installed."""
    name, _, without = path.partition(" ")
    if without:
        with mock.patch.object(total, "installed", return_value=False):
            yield name
    else:
        yield name
