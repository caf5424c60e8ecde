"""Rotary position embedding: frequencies and exact rotations in float64.

Band b turns by `position · θ_b`. Two layouts exist for the pair of dims that band b turns: `half` pairs dim b with
dim b + B, `interleaved` pairs dim 2b with 2b + 1 (B bands, 2B rotary dims). Dims beyond 2B are left as they are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from numerics.errors import UnsupportedArchitecture

Float = NDArray[np.float64]
Pairing = Literal["half", "interleaved"]

ROPE_TYPES = ("default", "linear", "llama3", "yarn", "longrope")


@dataclass(frozen=True)
class RotaryTable:
    """Rotary positions of one layer.

    `frequencies` (B,) in radians per position, decreasing in the default table; `attention_scaling` multiplies cos and
    sin (YaRN and LongRoPE; 1 elsewhere), so a score's rotary part carries its square.
    """

    head_dim: int
    pairing: Pairing
    frequencies: Float
    attention_scaling: float = 1.0

    @property
    def n_bands(self) -> int:
        return len(self.frequencies)

    @property
    def rotary_dim(self) -> int:
        return 2 * len(self.frequencies)

    def cos_sin(self, positions: ArrayLike) -> tuple[Float, Float]:
        """`cos(m θ_b)` and `sin(m θ_b)`, shapes (*positions, B), times `attention_scaling`.

        Error below 1e-12·(1 + m): the product m·θ is rounded once and θ carries a few ulp.
        """
        angles = np.asarray(positions, dtype=np.float64)[..., None] * self.frequencies
        return self.attention_scaling * np.cos(angles), self.attention_scaling * np.sin(angles)

    def pairs(self, x: Float) -> tuple[Float, Float]:
        """The two dims of every band as views of `x` (..., n): two arrays (..., B)."""
        bands, rotary = self.n_bands, self.rotary_dim
        if self.pairing == "half":
            return x[..., :bands], x[..., bands:rotary]
        return x[..., 0:rotary:2], x[..., 1:rotary:2]

    def rotate(self, x: Float, positions: ArrayLike) -> Float:
        """`R_m x` as the model applies it to q and to k: `x` (..., n), `positions` broadcast to (...,)."""
        return turn(self, x, *self.cos_sin(positions))

    def relative(self, x: Float, distance: ArrayLike) -> Float:
        """The rotation that a score sees, put on the query side alone: `(R_m q)·(R_n k) = relative(q, m − n)·k`.

        It differs from `rotate` by one more factor `attention_scaling` on the rotary dims.
        """
        cos, sin = self.cos_sin(distance)
        return turn(self, x, self.attention_scaling * cos, self.attention_scaling * sin)


def turn(table: RotaryTable, x: Float, cos: Float, sin: Float) -> Float:
    """Turn every band of `x` (..., n) by the angle whose cosine and sine (..., B) are given."""
    x = np.asarray(x, dtype=np.float64)
    out = np.array(np.broadcast_to(x, np.broadcast_shapes(x.shape, (*cos.shape[:-1], x.shape[-1]))))
    first, second = table.pairs(x)
    out_first, out_second = table.pairs(out)
    out_first[...] = first * cos - second * sin
    out_second[...] = second * cos + first * sin
    return out


def rotary_table(
    parameters: Mapping[str, Any],
    *,
    head_dim: int,
    pairing: Pairing,
    max_positions: int,
    model: str,
    rotary_dim: int | None = None,
) -> RotaryTable:
    """Table from a config's `rope_parameters` (`rope_type`, `rope_theta`, `partial_rotary_factor`, …).

    Formulas as in the papers that introduced each type: default `θ_b = base^(−2b/r)`; linear divides by `factor`;
    llama3 divides slow bands and blends the middle ones; YaRN blends by a ramp over bands; LongRoPE divides by its
    short factors, which the model uses up to its original context length. A type whose table depends on the length of
    the text (`dynamic`) or that is not known is refused.
    """
    kind = parameters.get("rope_type", "default")
    if kind not in ROPE_TYPES:
        raise UnsupportedArchitecture(
            f"{model}: rope_type {kind!r} is not known", f"use a model with one of {', '.join(ROPE_TYPES)}"
        )
    if rotary_dim is None:
        rotary_dim = int(head_dim * float(parameters.get("partial_rotary_factor") or 1.0))
    base = float(parameters["rope_theta"])
    frequencies = base ** (-np.arange(0, rotary_dim, 2, dtype=np.float64) / rotary_dim)
    scaling = 1.0
    if kind == "linear":
        frequencies = frequencies / float(parameters["factor"])
    elif kind == "llama3":
        frequencies = _llama3(frequencies, parameters)
    elif kind == "yarn":
        frequencies, scaling = _yarn(frequencies, base, rotary_dim, parameters, max_positions)
    elif kind == "longrope":
        frequencies, scaling = _longrope(frequencies, parameters, max_positions)
    return RotaryTable(head_dim, pairing, frequencies, scaling)


def _llama3(frequencies: Float, parameters: Mapping[str, Any]) -> Float:
    factor, context = float(parameters["factor"]), float(parameters["original_max_position_embeddings"])
    low, high = float(parameters["low_freq_factor"]), float(parameters["high_freq_factor"])
    turns = context * frequencies / (2 * math.pi)
    smooth = np.clip((turns - low) / (high - low), 0.0, 1.0)
    return (1 - smooth) * frequencies / factor + smooth * frequencies


def _yarn(
    frequencies: Float, base: float, rotary_dim: int, parameters: Mapping[str, Any], max_positions: int
) -> tuple[Float, float]:
    context = float(parameters["original_max_position_embeddings"])
    factor = float(parameters.get("factor") or max_positions / context)

    def band_with(turns: float) -> float:
        return rotary_dim * math.log(context / (turns * 2 * math.pi)) / (2 * math.log(base))

    first = band_with(float(parameters.get("beta_fast") or 32))
    last = band_with(float(parameters.get("beta_slow") or 1))
    if parameters.get("truncate", True):
        first, last = math.floor(first), math.ceil(last)
    first, last = max(first, 0), min(last, rotary_dim - 1)
    ramp = np.clip((np.arange(len(frequencies)) - first) / ((last - first) or 0.001), 0.0, 1.0)
    blended = frequencies / factor * ramp + frequencies * (1 - ramp)

    def magnitude(weight: float) -> float:
        return 1.0 if factor <= 1 else 0.1 * weight * math.log(factor) + 1.0

    scaling = parameters.get("attention_factor")
    if scaling is None:
        mscale, all_dim = parameters.get("mscale"), parameters.get("mscale_all_dim")
        scaling = magnitude(mscale) / magnitude(all_dim) if mscale and all_dim else magnitude(1.0)
    return blended, float(scaling)


def _longrope(frequencies: Float, parameters: Mapping[str, Any], max_positions: int) -> tuple[Float, float]:
    context = float(parameters["original_max_position_embeddings"])
    factor = float(parameters.get("factor") or max_positions / context)
    scaling = parameters.get("attention_factor")
    if scaling is None:
        scaling = 1.0 if factor <= 1 else math.sqrt(1 + math.log(factor) / math.log(context))
    return frequencies / np.asarray(parameters["short_factor"], dtype=np.float64), float(scaling)
