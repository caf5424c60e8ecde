"""Skip-trigrams "A … B → C": a head at B attends to an earlier A and so raises C.

QK ranks the sources A of a destination B, OV the outputs C of a source A; one head holds both only in this factored
form, and cannot choose C by A and B together. **Chosen** here: per source its best destination and its best output, and
sources in order of the product of the two values, both positive. Source: Elhage et al. 2021.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float64]
Ints = NDArray[np.int64]

BLOCK = 1024
"""Sources that are multiplied at a time."""


class Trigrams(NamedTuple):
    """Rows of the tables for A, B and C, and the values that join them, each (k,), strongest first."""

    source: Ints
    destination: Ints
    output: Ints
    qk: Float
    ov: Float


def skip_trigrams(query: Float, key: Float, value: Float, unembedding: Float, k: int) -> Trigrams:
    """The `k` sources A with the largest `max_B q_B·k_A × max_C u_C·v_A`, and these B and C.

    `query` (N_B, n), `key` (N_A, n), `value` (N_A, n_v), `unembedding` (N_C, n_v) are `W_U W_O`. Sources of which one
    of the two is not positive are left out, so there may be fewer.
    """
    destination, qk = _best(key, query)
    output, ov = _best(value, unembedding)
    strength = np.maximum(qk, 0) * np.maximum(ov, 0)
    order = np.argsort(-strength, kind="stable")[:k]
    order = order[strength[order] > 0]
    return Trigrams(order, destination[order], output[order], qk[order], ov[order])


def _best(left: Float, right: Float) -> tuple[Ints, Float]:
    """Per row of `left` the row of `right` with the largest product, and that product."""
    index, value = np.empty(len(left), dtype=np.int64), np.empty(len(left))
    for first in range(0, len(left), BLOCK):
        products = left[first : first + BLOCK] @ right.T
        index[first : first + BLOCK] = products.argmax(axis=1)
        value[first : first + BLOCK] = products.max(axis=1)
    return index, value
