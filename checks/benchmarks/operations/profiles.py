"""Profile of one head: Gram path against QR + eigvalsh.

The `qr` path stops at the profile, `gram` goes on to all extras as the product does: the ratio is a lower bound.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from checks.benchmarks.case import Calls, Case, apart
from numerics.forms.coordinates import profile_coordinates
from numerics.forms.description import describe
from numerics.forms.reduction import reduce_by_gram, reduce_by_qr, reduce_pair
from numerics.forms.spectrum import antisymmetric_energy, symmetric_spectrum
from numerics.models.rotary import RotaryTable

Float = NDArray[np.float64]

AGREEMENT = 1e-10
DISTANCES = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)


def by_qr(W_K: Float, W_Q: Float) -> Float:
    """Profile of one head by QR and the eigenvalues of S: what there is to beat."""
    L = reduce_by_qr(W_K, W_Q).form()
    return profile_coordinates(symmetric_spectrum(L), antisymmetric_energy(L))


def by_gram(W_K: Float, W_Q: Float) -> Float:
    """Profile and extras of one head as `numerics.profile` computes them."""
    reduction = reduce_pair(W_K, W_Q)
    return describe(reduction.form(), reduction.noise).profile


def one_head(head_dim: int, width: int) -> Calls:
    W_K, W_Q = np.random.default_rng(0).standard_normal((2, head_dim, width))
    if reduce_by_gram(W_K, W_Q) is None:
        raise SystemExit("the random head does not take the Gram path: nothing to compare")
    return {"qr": partial(by_qr, W_K, W_Q), "gram": partial(by_gram, W_K, W_Q)}


def once_for_all(W_K: Float, W_Q: Float, rotary: RotaryTable) -> list[Float]:
    """Profiles of one rotary head at the 15 default distances, from one reduction, as `numerics.profile` does."""
    reduction = reduce_pair(W_K, W_Q)
    return [describe(reduction.form(turn(rotary, distance)), reduction.noise).profile for distance in DISTANCES]


def at_each_distance(W_K: Float, W_Q: Float, rotary: RotaryTable) -> list[Float]:
    """The same, the weights turned and reduced by QR at every distance."""
    return [by_qr(W_K, rotary.relative(W_Q.T, distance).T) for distance in DISTANCES]


def turn(rotary: RotaryTable, distance: int) -> Callable[[Float], Float]:
    return lambda x: rotary.relative(x, distance)


def one_rotary_head() -> Calls:
    W_K, W_Q = np.random.default_rng(0).standard_normal((2, 256, 640))
    rotary = RotaryTable(256, "half", 1e4 ** (-np.arange(128) / 128))
    return {
        "at each distance": partial(at_each_distance, W_K, W_Q, rotary),
        "one reduction": partial(once_for_all, W_K, W_Q, rotary),
    }


CASES = (
    Case("profile n=128 D=4096", ("qr", "gram"), partial(one_head, 128, 4096), apart(AGREEMENT), turns=30),
    Case(
        f"profile n=256 D=640, {len(DISTANCES)} distances",
        ("at each distance", "one reduction"),
        one_rotary_head,
        apart(AGREEMENT),
    ),
)
