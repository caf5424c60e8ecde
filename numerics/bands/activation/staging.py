"""What every path reads: the two dims of some bands as float64, checked, and scaled by powers of two."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from numerics.errors import InvalidArgument

Float = NDArray[np.float64]
Int = NDArray[np.int64]
Array: TypeAlias = NDArray[Any] | torch.Tensor
Pairing = Literal["half", "interleaved"]

TARGET = 480
"""Scaled numbers stay below 2^480: products of two, summed over 2^60 keys, stay below 2^1022."""
SAFE = 300
"""Largest numbers between 2^-300 and 2^300 are left as they are: nothing overflows, nor underflows that counts."""


class Shape(NamedTuple):
    """H query heads on G kv heads, T tokens, n dims."""

    heads: int
    kv_heads: int
    length: int
    dims: int

    @property
    def group(self) -> int:
        """Query heads that share one kv head."""
        return self.heads // self.kv_heads


class Staged(NamedTuple):
    """Values (…, 2, T) float64, contiguous; the true ones are these times `2^exponent` (…)."""

    values: Float
    exponent: Int


def shape_of(q: Array, k: Array) -> Shape:
    """Shape of queries (H, T, n) and keys (G, T, n), or InvalidArgument saying what does not fit."""
    shapes = f"q {tuple(q.shape)} and k {tuple(k.shape)}"
    expected = "give q (heads, tokens, dims) and k (kv heads, tokens, dims) of one text"
    for x in (q, k):
        if not (x.is_floating_point() if isinstance(x, torch.Tensor) else np.issubdtype(x.dtype, np.floating)):
            raise InvalidArgument(
                f"queries and keys are numbers with a fraction, not {x.dtype}", "convert them to float"
            )
    if q.ndim != 3 or k.ndim != 3 or q.shape[1:] != k.shape[1:] or 0 in (*q.shape[:2], *k.shape[:2]):
        raise InvalidArgument(f"{shapes} do not fit", expected)
    if q.shape[0] % k.shape[0]:
        raise InvalidArgument(f"{shapes}: {k.shape[0]} kv heads do not divide {q.shape[0]} heads", expected)
    return Shape(q.shape[0], k.shape[0], q.shape[1], q.shape[2])


def check_bands(shape: Shape, n_bands: int, pairing: str) -> None:
    """InvalidArgument unless `n_bands` pairs fit the head's dims and the layout is known."""
    if pairing not in ("half", "interleaved"):
        raise InvalidArgument(f"pairing {pairing!r} is not known", "use 'half' or 'interleaved'")
    if not 1 <= n_bands <= shape.dims // 2:
        raise InvalidArgument(
            f"{n_bands} bands do not fit {shape.dims} dims", f"give n_bands from 1 to {shape.dims // 2}"
        )


def check_scale(scale: float) -> None:
    if not np.isfinite(scale):
        raise InvalidArgument(f"the scale is {scale}", "give the model's finite score scale")


def keys_seen(length: int, window: int | None) -> int:
    """The most keys a query sees: the window, or all T; InvalidArgument for a window without a key."""
    if window is not None and window < 1:
        raise InvalidArgument(f"a window of {window} positions admits no key", "give a window of 1 or more, or None")
    return length if window is None else min(window, length)


def pairs(x: Array, n_bands: int, pairing: Pairing) -> tuple[Array, Array]:
    """The two dims of every band as views (…, B) of x (…, n)."""
    if pairing == "half":
        return x[..., :n_bands], x[..., n_bands : 2 * n_bands]
    return x[..., 0 : 2 * n_bands : 2], x[..., 1 : 2 * n_bands : 2]


def float64(x: Array) -> Float:
    """The numbers as float64 in main memory."""
    if isinstance(x, torch.Tensor):
        on_host: Float = x.detach().to(device="cpu", dtype=torch.float64).numpy()
        return on_host
    return np.asarray(x, dtype=np.float64)


def stage(first: Array, second: Array, name: str) -> Staged:
    """Both dims (heads, T, bands) as (bands, heads, 2, T), each band of a head scaled by its own power of two.

    The power keeps |q·k| and its sums inside float64 and is exact, but for numbers 2^-1500 times the largest of their
    band. Raises InvalidArgument for NaN and infinity.
    """
    heads, length, bands = first.shape
    values = np.empty((bands, heads, 2, length))
    for component, x in enumerate((first, second)):
        values[:, :, component] = float64(x).transpose(2, 0, 1)
    exponent = _exponents(np.abs(values).max(axis=(-2, -1)), name)
    if exponent.any():
        values = np.ldexp(values, -exponent[..., None, None])
    return Staged(values, exponent)


def unscaled(sums: Float, exponent: Int, scale: float) -> Float:
    """`|scale|·sums·2^exponent`, or InvalidArgument where that leaves float64."""
    mantissa, power = np.frexp(abs(scale))
    with np.errstate(over="ignore"):
        found: Float = np.ldexp(sums * mantissa, exponent + power)
    if not np.isfinite(found).all():
        raise InvalidArgument("an activation is too large for float64", "divide q or k by a power of two")
    return found


def refuse_non_finite(name: str) -> InvalidArgument:
    return InvalidArgument(f"{name} holds NaN or infinity in its bands", "run the model in float32 or finer")


def _exponents(largest: Float, name: str) -> Int:
    if not np.isfinite(largest).all():
        raise refuse_non_finite(name)
    power = np.frexp(largest)[1].astype(np.int64)
    return np.where((largest == 0) | (np.abs(power) <= SAFE), 0, power - TARGET)
