"""Positional kernels of all heads of a layer: batched against one pair of head and query at a time; walks over text.

The walks run MiniLM over random tokens: means of all six layers in one walk, against a walk for each layer.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from checks.benchmarks.case import Calls, Case, apart
from numerics.models import Model, load_model
from numerics.models.rotary import RotaryTable
from numerics.positional.kernel import admissible_keys, exponents_of_positions, positional_kernel
from numerics.positional.measure import _run, layer_of

Float = NDArray[np.float64]
Ints = NDArray[np.int64]

HEADS, GROUPS, HEAD_DIM, SKIP = 32, 8, 128, 5
EVERY = 16
"""One query in so many positions."""
TEXTS = 32


def batched(q: Float, keys: Float, queries: Ints, rotary: RotaryTable) -> Float:
    """Kernels (H, I, T) of all heads of a layer as the product computes them."""
    exponents = exponents_of_positions(q, keys, query_positions=queries, scale=0.1, rotate=rotary.rotate)
    return positional_kernel(exponents, admissible_keys(queries, keys.shape[1], causal=True), SKIP)


def by_pair(q: Float, keys: Float, queries: Ints, rotary: RotaryTable) -> Float:
    """The same head by head and query by query, the query turned to each distance: the definition."""
    kernels = np.zeros((HEADS, len(queries), keys.shape[1]))
    for head in range(HEADS):
        for place, n in enumerate(queries):
            seen = np.arange(SKIP, n + 1)
            turned = rotary.relative(np.broadcast_to(q[head, place], (len(seen), HEAD_DIM)), n - seen)
            exponents = 0.1 * np.einsum("jn,jn->j", turned, keys[head * GROUPS // HEADS, seen])
            weights = np.exp(exponents - exponents.max())
            kernels[head, place, seen] = weights / weights.sum()
    return kernels


def one_layer(length: int) -> Calls:
    rng = np.random.default_rng(0)
    queries = np.arange(EVERY - 1, length, EVERY)
    q, keys = rng.standard_normal((HEADS, len(queries), HEAD_DIM)), rng.standard_normal((GROUPS, length, HEAD_DIM))
    rotary = RotaryTable(HEAD_DIM, "half", 1e4 ** (-np.arange(HEAD_DIM // 2) / (HEAD_DIM // 2)))
    return {
        "by pair": partial(by_pair, q, keys, queries, rotary),
        "batched": partial(batched, q, keys, queries, rotary),
    }


def walk(model: Model, ids: Ints, layers: list[int]) -> list[Float]:
    """Mean inputs and mean attentions of the given layers over texts (N, T), in batches of 8, as one row per layer."""
    found = {layer: layer_of(model, layer, np.arange(15, 64, 16), ids.shape[1], SKIP) for layer in layers}

    def estimate(call: object) -> None:
        layer = found.get(call.layer)  # type: ignore[attr-defined]
        if layer is not None:
            layer.estimate(call)  # type: ignore[arg-type]

    for start in range(0, len(ids), 8):
        _run(model, ids[start : start + 8], estimate)
    return [np.concatenate([layer.moments.mean.ravel(), layer.attention.ravel()]) for layer in found.values()]


def six_layers(length: int) -> Calls:
    model = load_model("minilm")
    texts = np.random.default_rng(0).integers(1000, 30000, (TEXTS, length))
    layers = list(range(model.n_layers))
    return {
        "a walk each": lambda: [walk(model, texts, [layer])[0] for layer in layers],
        "one walk": lambda: walk(model, texts, layers),
    }


CASES = (
    *(
        Case(
            f"kernels of one layer, {HEADS} heads", ("by pair", "batched"), partial(one_layer, length), apart(1e-12),
            T=length, turns=10,
        )
        for length in (128, 256, 512, 1024)
    ),
    Case(
        f"means of 6 layers, {TEXTS} texts", ("a walk each", "one walk"), partial(six_layers, 64),
        apart(1e-12, relative=True), T=64, turns=4,
    ),
)  # fmt: skip
