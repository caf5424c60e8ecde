"""The parts of a score: one product per rotary band, and one of the dims that do not rotate.

`s = Σ_b σ q_b·k_b + σ q_rest·k_rest`, q and k after QK-norm and rotation. Band b holds dims b and b + B (`half`) or 2b
and 2b + 1 (`interleaved`); dims from 2B on are the remainder. The sum of the bands is at most the sum of their sizes:
theorem `activation_bounds_score`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from numerics.errors import InvalidArgument
from numerics.models.rotary import Pairing

Float = NDArray[np.float64]


def band_pairs(x: Float, *, n_bands: int, pairing: Pairing) -> tuple[Float, Float]:
    """The two dims of every band (..., B, 2) and the dims that do not rotate (..., n − 2B) of `x` (..., n), as views.

    Raises InvalidArgument for a band count that does not fit n, or an unknown pairing.
    """
    if x.ndim == 0 or not 1 <= n_bands <= x.shape[-1] // 2:
        raise InvalidArgument(
            f"{n_bands} bands do not fit vectors of shape {x.shape}", "give between 1 and half as many bands as dims"
        )
    rotating, rest = x[..., : 2 * n_bands], x[..., 2 * n_bands :]
    if pairing == "half":
        return rotating.reshape(*x.shape[:-1], 2, n_bands).swapaxes(-1, -2), rest
    if pairing == "interleaved":
        return rotating.reshape(*x.shape[:-1], n_bands, 2), rest
    raise InvalidArgument(f"pairing {pairing!r} is not known", "use 'half' or 'interleaved'")


def band_sums(x: Float, *, n_bands: int, pairing: Pairing) -> Float:
    """Sum of `x` (..., n) over the dims of each part: (..., B), or (..., B + 1) with the remainder last if n > 2B."""
    pairs, rest = band_pairs(x, n_bands=n_bands, pairing=pairing)
    bands = pairs[..., 0] + pairs[..., 1]
    if not rest.shape[-1]:
        return bands
    return np.concatenate((bands, rest.sum(axis=-1, keepdims=True)), axis=-1)


def band_scores(q: Float, k: Float, *, scale: float, n_bands: int, pairing: Pairing) -> Float:
    """`σ q_b·k_b` of vectors (..., n) that broadcast: (..., B), or (..., B + 1) with the remainder last if n > 2B.

    They sum to the score `σ q·k` before softcap and bias. Allocates the products (..., n) of all pairs.
    """
    return band_sums((scale * q) * k, n_bands=n_bands, pairing=pairing)
