"""A small made-up model with the views that `profile` reads: heads, positions, provenance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from numerics.models.heads import HeadWeights, Norm, Projection, QKNorm
from numerics.models.rotary import RotaryTable

Float = NDArray[np.float64]


def head_weights(
    W_Q: Float,
    W_K: Float,
    *,
    layer: int = 0,
    norm: Norm | None = None,
    q_norm: QKNorm | None = None,
    k_norm: QKNorm | None = None,
) -> HeadWeights:
    """One layer with query weights (H, n, D) and key weights (G, n, D); values and outputs must not be read."""

    def unread() -> Any:
        raise AssertionError("a profile reads W_Q and W_K alone")

    heads, n, width = W_Q.shape
    return HeadWeights(
        model="fake",
        layer=layer,
        n_heads=heads,
        n_kv_heads=len(W_K),
        head_dim=n,
        width=width,
        scale=n**-0.5,
        causal=True,
        softcap=None,
        window=None,
        norm=norm,
        post_norm=None,
        q_norm=q_norm,
        k_norm=k_norm,
        _read_q=lambda: Projection(W_Q, np.ones((heads, n))),
        _read_k=lambda: Projection(W_K, np.ones((len(W_K), n))),
        _read_v=unread,
        _read_o=unread,
    )


@dataclass
class FakeModel:
    layers: Sequence[HeadWeights]
    tables: Sequence[RotaryTable | None] | None = None
    stacks: tuple[str, ...] | None = None
    name: str = "fake"
    source: str = "fake"
    scheme: str = "learned absolute"
    read: list[int] = field(default_factory=list)

    @property
    def n_layers(self) -> int:
        return len(self.layers)

    @property
    def n_heads(self) -> int:
        return max(layer.n_heads for layer in self.layers)

    @property
    def head_dim(self) -> int:
        return self.layers[0].head_dim

    @property
    def width(self) -> int:
        return self.layers[0].width

    @property
    def positions(self) -> SimpleNamespace:
        tables = self.tables
        return SimpleNamespace(scheme=self.scheme, rotary=lambda layer: None if tables is None else tables[layer])

    def heads(self, layer: int) -> HeadWeights:
        self.read.append(layer)
        return self.layers[layer]

    def provenance(self, created_by: str) -> dict[str, str]:
        return {"model": self.name, "source": self.source, "created_by": created_by}


def random_model(
    rng: np.random.Generator,
    layers: int = 2,
    heads: int = 3,
    kv_heads: int = 3,
    n: int = 4,
    width: int = 16,
    **more: Any,
) -> FakeModel:
    """Normal weights in every head."""
    return FakeModel(
        [
            head_weights(rng.standard_normal((heads, n, width)), rng.standard_normal((kv_heads, n, width)), layer=layer)
            for layer in range(layers)
        ],
        **more,
    )
