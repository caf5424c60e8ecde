"""The profile that random heads of the same shape and the same gains would have.

The rows of W_K and W_Q are independent, centred, with covariance `P` (D, D): `P = 1` raw, `ΓΓ` or `CΓΓC` folded.
Then for `L = W_Kᵀ A W_Q` with any fixed A (gains, rotation): `E‖L‖² = ‖A‖²(tr P)²`, `E tr L² = ‖A‖² tr P²`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from numerics.forms.folding import fold_input_norm

Float = NDArray[np.float64]


def random_antisymmetric_share(width: int, gain: Float | None = None, centred: bool = False) -> float:
    """`a = E‖T‖²/E‖L‖² = ½(1 − tr P²/(tr P)²)`: raw ½(1 − 1/D), folded by Γ ½(1 − Σγ⁴/(Σγ²)²).

    With centring, `tr P = (1 − 1/D)Σγ²` and `tr P² = (1 − 2/D)Σγ⁴ + (Σγ²)²/D²`. `gain` (D,) or None for raw.
    """
    squares = (np.ones(width) if gain is None else gain) ** 2
    trace, trace_of_square = squares.sum(), np.sum(squares**2)
    if centred:
        trace_of_square = (1 - 2 / width) * trace_of_square + (trace / width) ** 2
        trace *= 1 - 1 / width
    return float((1 - trace_of_square / trace**2) / 2) if trace > 0 else float("nan")


def random_profile(antisymmetric_share: float, simulated: Float) -> Float:
    """Baseline (4,): a as given, b and c + d in the proportion of the mean of `simulated` (draws, 4), c = d.

    c = d holds exactly in expectation, as `L` and `−L` are equally likely.
    """
    _, b, c, d = np.mean(simulated, axis=0)
    symmetric = 1 - antisymmetric_share
    share_b = b / (b + c + d)
    half = symmetric * (1 - share_b) / 2
    return np.array([antisymmetric_share, symmetric * share_b, half, half])


def random_factor(rng: np.random.Generator, n: int, width: int) -> tuple[Float, Float]:
    """Key and query factors (n, r) of a head with standard normal weights (n, D), without drawing them.

    For 2n ≤ D the Cholesky factor of the Gram matrix of 2n normal rows has independent entries (Bartlett): normal
    below the diagonal, and `χ` with D − i degrees of freedom in place i of it. Else the weights themselves.
    """
    if 2 * n > width:
        return rng.standard_normal((n, width)), rng.standard_normal((n, width))
    factor = np.tril(rng.standard_normal((2 * n, 2 * n)), -1)
    np.fill_diagonal(factor, np.sqrt(rng.chisquare(width - np.arange(2 * n))))
    return factor[:n], factor[n:]


def random_weights(rng: np.random.Generator, n: int, gain: Float, centred: bool) -> tuple[Float, Float]:
    """`W_K`, `W_Q` (n, D) with standard normal entries and the norm before attention, `gain` (D,), folded in."""
    W_K, W_Q = rng.standard_normal((2, n, len(gain)))
    return fold_input_norm(W_K, gain, centred), fold_input_norm(W_Q, gain, centred)
