"""Positional schemes: what a model knows of a token's place, as data and exact float64 functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from numerics.models.rotary import RotaryTable

Float = NDArray[np.float64]


class ScoreBias(Protocol):
    """A term added to the score of query position i on key position j, a function of i − j alone, one per head."""

    def matrix(self, queries: ArrayLike, keys: ArrayLike) -> Float:
        """Bias (H, queries, keys) for the given positions."""
        ...


@dataclass(frozen=True)
class AlibiBias:
    """`−slope_h · (i − j)`, `slopes` (H,) (Press et al., arXiv 2108.12409).

    Models add `slope·j` instead, which differs by a constant along each row: the softmax is the same.
    """

    slopes: Float

    def matrix(self, queries: ArrayLike, keys: ArrayLike) -> Float:
        distance = np.asarray(queries, dtype=np.float64)[:, None] - np.asarray(keys, dtype=np.float64)[None, :]
        return -self.slopes[:, None, None] * distance


@dataclass(frozen=True)
class RelativeBias:
    """`table[bucket(j − i), h]`, `table` (buckets, H) (Raffel et al., arXiv 1910.10683, §2.1).

    The nearest distances have a bucket each, farther ones share buckets of geometrically growing width, all beyond
    `max_distance` share the last. Bidirectional models use the upper half of the table for keys after the query.
    """

    table: Float
    bidirectional: bool
    max_distance: int

    def buckets(self, key_minus_query: NDArray[np.int64]) -> NDArray[np.int64]:
        """Row of the table for each relative position j − i."""
        available = len(self.table)
        offset = np.zeros_like(key_minus_query)
        if self.bidirectional:
            available //= 2
            offset = np.where(key_minus_query > 0, available, 0)
            distance = np.abs(key_minus_query)
        else:
            distance = np.maximum(-key_minus_query, 0)
        exact = available // 2
        # The model takes the logarithm in float32 and truncates: a bucket edge falls where float32 puts it.
        ratio = np.log(np.maximum(distance, 1).astype(np.float32) / np.float32(exact))
        wide = exact + (ratio / np.float32(math.log(self.max_distance / exact)) * np.float32(available - exact)).astype(
            np.int64
        )
        return offset + np.where(distance < exact, distance, np.minimum(wide, available - 1))

    def matrix(self, queries: ArrayLike, keys: ArrayLike) -> Float:
        offsets = np.asarray(keys, dtype=np.int64)[None, :] - np.asarray(queries, dtype=np.int64)[:, None]
        return np.moveaxis(self.table[self.buckets(offsets)], -1, 0)


@dataclass(frozen=True)
class Positions:
    """How one model encodes positions. `scheme` is its name in tables.

    `limit` is the number of positions that the model can be given, None where nothing bounds it.
    `learned` says whether a table of position vectors is added to the embeddings (the table itself is
    `vocabulary.W_pos`); `rotary(layer)` and `bias(layer)` give that layer's rotation and score bias, or None.
    """

    learned: bool
    rotary: Callable[[int], RotaryTable | None]
    bias: Callable[[int], ScoreBias | None]
    scheme: str
    limit: int | None


def scheme_name(learned: bool, rotary: bool, bias: str | None) -> str:
    """`learned absolute`, `rotary`, `alibi`, `relative bias`, their sums, or `none`."""
    parts = ["learned absolute"] * learned + ["rotary"] * rotary + ([bias] if bias else [])
    return " + ".join(parts) or "none"


def alibi_slopes(heads: int) -> Float:
    """Slopes of BLOOM and Falcon: `2^(−8k/P)` for the power of two P ≤ heads, then odd powers of the next table."""
    power = 2 ** math.floor(math.log2(heads))
    slopes = 2.0 ** (-8.0 * np.arange(1, power + 1) / power)
    extra = 2.0 ** (-8.0 * np.arange(1, 2 * (heads - power) + 1, 2) / (2 * power))
    return np.concatenate([slopes, extra])


def mpt_alibi_slopes(heads: int, largest_exponent: float) -> Float:
    """Slopes of MPT: `2^(−m·k/P)` for the power of two P ≥ heads; odd k first, then even k, cut to `heads`."""
    power = 2 ** math.ceil(math.log2(heads))
    slopes = 2.0 ** (-largest_exponent * np.arange(1, power + 1) / power)
    return slopes if power == heads else np.concatenate([slopes[1::2], slopes[::2]])[:heads]
