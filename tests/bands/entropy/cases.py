"""Heads with all that entropy and attribution depend on, and what is known of them without the code under test."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from numerics.models.rotary import Pairing

Float = NDArray[np.float64]

EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Heads:
    """Queries (H, T, n) and keys (G, T, n) of a layer, and how they score."""

    q: Float
    k: Float
    n_bands: int
    pairing: Pairing
    scale: float
    window: int | None = None
    softcap: float | None = None

    @property
    def arguments(self) -> dict[str, Any]:
        names = ("n_bands", "pairing", "scale", "window", "softcap")
        return {name: getattr(self, name) for name in names}

    @property
    def length(self) -> int:
        return self.q.shape[1]

    @property
    def n_parts(self) -> int:
        return self.n_bands + (self.q.shape[-1] > 2 * self.n_bands)

    def dims(self, part: int) -> list[int]:
        """The dims of a band, or of the remainder, one by one."""
        if part == self.n_bands:
            return list(range(2 * self.n_bands, self.q.shape[-1]))
        if self.pairing == "half":
            return [part, part + self.n_bands]
        return [2 * part, 2 * part + 1]

    def parts(self, head: int) -> Float:
        """(T, T, parts): what each part adds to the score of query i on key j."""
        k = np.repeat(self.k, len(self.q) // len(self.k), axis=0)[head]
        products = self.scale * self.q[head][:, None, :] * k[None, :, :]
        return np.stack([products[..., self.dims(part)].sum(axis=-1) for part in range(self.n_parts)], axis=-1)

    def admissible(self, i: int) -> list[int]:
        return [j for j in range(self.length) if j <= i and (self.window is None or i - self.window < j)]

    def capped(self, x: Float) -> Float:
        return x if self.softcap is None else self.softcap * np.tanh(x / self.softcap)

    def drops(self, head: int) -> Float:
        """H − log N (T,) of every query, from the textbook entropy."""
        x = self.capped(self.parts(head).sum(axis=-1))
        drops = []
        for i in range(self.length):
            row = x[i, self.admissible(i)]
            p = np.exp(row - row.max())
            p = p[p > 0] / p.sum()
            drops.append(-float((p * np.log(p)).sum()) - np.log(len(row)))
        return np.array(drops)

    @property
    def largest(self) -> float:
        """No score, nor part of one, is larger."""
        k = np.repeat(self.k, len(self.q) // len(self.k), axis=0)
        return float(self.scale * (np.abs(self.q) @ np.abs(np.swapaxes(k, -1, -2))).max())

    @property
    def rounding(self) -> float:
        """Of a sum of shares over T queries.

        A score errs by n·eps·X, X the largest; a weight by at most half as much, and by 64·eps, the sum over up to 1000
        nodes (√1000, doubled); a share is a mean of parts of size X under such weights.
        """
        return self.length * EPS * (64 + self.q.shape[-1]) * (1 + self.largest) ** 2

    def first(self, length: int) -> Heads:
        return replace(self, q=self.q[:, :length], k=self.k[:, :length])


def random_heads(
    seed: int = 0,
    *,
    heads: int = 2,
    kv_heads: int = 1,
    length: int = 96,
    n_bands: int = 4,
    rest: int = 0,
    spread: float = 3.0,
    **arguments: Any,
) -> Heads:
    """Gaussian queries and keys whose scores have standard deviation `spread`."""
    rng = np.random.default_rng(seed)
    n = 2 * n_bands + rest
    q, k = rng.standard_normal((heads, length, n)), rng.standard_normal((kv_heads, length, n))
    return Heads(q, k, n_bands, **{"pairing": "half", "scale": spread / np.sqrt(n), **arguments})


@st.composite
def layers(draw: st.DrawFn, max_length: int = 12) -> Heads:
    """Small layers: grouped or not, whole or partial rotary, windowed, capped, from flat to one-hot attention."""
    kv_heads = draw(st.integers(1, 2))
    return random_heads(
        draw(st.integers(0, 2**32 - 1)),
        heads=kv_heads * draw(st.integers(1, 3)),
        kv_heads=kv_heads,
        length=draw(st.integers(1, max_length)),
        n_bands=draw(st.integers(1, 4)),
        rest=draw(st.sampled_from([0, 1, 3])),
        spread=draw(st.sampled_from([0.0, 0.3, 3.0, 30.0, 300.0])),
        pairing=draw(st.sampled_from(["half", "interleaved"])),
        window=draw(st.none() | st.integers(1, max_length)),
        softcap=draw(st.none() | st.sampled_from([0.5, 5.0, 50.0])),
    )
