"""Which path is fastest, by device and by how many keys a query sees."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Literal

Path = Literal["reference", "direct", "halfplane", "triton"]
PATHS: tuple[Path, ...] = ("reference", "direct", "halfplane", "triton")

COMPILED_CROSSOVER = 1024
"""Keys per query from which `halfplane` beats `direct`, both compiled; `python -m checks bench` measures it."""
PLAIN_CROSSOVER = 1536
"""The same where numba is missing and both run in torch."""


def installed(package: str) -> bool:
    return find_spec(package) is not None


def choose(length: int, *, window: int | None = None, device: str = "cpu", double: bool = False) -> Path:
    """The path `total_activation` takes for texts of `length` tokens if it is told none.

    Direct work per query grows as the number of its keys, half-plane work as the logarithm, so min(T, W) decides. On a
    GPU the tiles do some 10^13 pairs a second while one core of the host sorts 10^7 keys: by that arithmetic they stay
    ahead to about 10^6 tokens; this is not measured. They work in float32: float64 tensors (`double`) go to the host.
    """
    if device == "cuda" and not double and installed("triton"):
        return "triton"
    keys = length if window is None else min(length, window)
    crossover = COMPILED_CROSSOVER if installed("numba") else PLAIN_CROSSOVER
    return "direct" if keys < crossover else "halfplane"
