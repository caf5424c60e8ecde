"""Mean and spread over texts, in one pass and in mergeable pieces.

Source: B. Welford (1962); T. Chan, G. Golub, R. LeVeque (1979) for the merge.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from numerics.errors import InvalidArgument

Float = NDArray[np.float64]


@dataclass
class Moments:
    """Mean (…, T, D) of the samples seen, and their summed squared deviation per position, `scatter` (…, T).

    The deviation is summed over the last axis: `scatter_i = Σ_texts ‖x_i − mean_i‖²`, so memory is that of one sample.
    Any split of the samples over `add` and `merge` gives the same numbers up to rounding (error ~ eps·√count relative
    to the largest sample: deviations are taken from the running mean, never from raw squares).
    """

    mean: Float
    scatter: Float
    count: int = 0

    @classmethod
    def empty(cls, shape: tuple[int, ...]) -> Moments:
        """An accumulator for samples of `shape` (…, T, D)."""
        return cls(np.zeros(shape), np.zeros(shape[:-1]))

    def add(self, batch: ArrayLike) -> None:
        """Add samples (B, …, T, D), one per text. Raises InvalidArgument on another shape, NaN or infinity."""
        samples = np.asarray(batch, dtype=np.float64)
        if samples.shape[1:] != self.mean.shape:
            raise InvalidArgument(
                f"samples of shape {samples.shape[1:]} do not fit an accumulator of shape {self.mean.shape}",
                "give texts of one length, with the texts on the first axis",
            )
        if not np.isfinite(samples).all():
            raise InvalidArgument("a sample holds NaN or infinity", "run the model in float32 or finer")
        if len(samples) == 0:
            return
        mean = samples.mean(axis=0)
        scatter = np.zeros_like(self.scatter)
        for sample in samples:  # one at a time: a batch of deviations would double the peak
            scatter += np.einsum("...d,...d->...", sample - mean, sample - mean)
        self.merge(Moments(mean, scatter, len(samples)))

    def merge(self, other: Moments) -> None:
        """Take in the samples that `other` has seen: `δ = mean' − mean`, `scatter += scatter' + ‖δ‖²·N N'/(N+N')`."""
        if other.mean.shape != self.mean.shape:
            raise InvalidArgument(
                f"accumulators of shapes {self.mean.shape} and {other.mean.shape} cannot be merged",
                "use the same model and the same text length for both",
            )
        if other.count == 0:
            return
        total = self.count + other.count
        step = other.mean - self.mean
        self.mean = self.mean + step * (other.count / total)
        between = np.einsum("...d,...d->...", step, step) * (self.count * other.count / total)
        self.scatter = self.scatter + other.scatter + between
        self.count = total

    @property
    def variance(self) -> Float:
        """Unbiased variance per position, summed over the last axis: `scatter/(N − 1)`, shape (…, T)."""
        if self.count < 2:
            raise InvalidArgument(f"a variance needs two texts, {self.count} seen", "ask for more samples")
        return self.scatter / (self.count - 1)

    @property
    def standard_error(self) -> Float:
        """Length of the standard error of the mean vector: `√(variance/N)`, shape (…, T), in the units of x."""
        return np.sqrt(self.variance / self.count)


def positional_share(moments: Moments, skip: int = 0) -> Float:
    """Share (…,) of the variance that is position's: `(Var P − s²/N)/(Var P − s²/N + s²)`, P = mean (…, T, D).

    `Var P` = Σ_i ‖P_i − P̄‖²/(T − 1) over positions ≥ `skip`, `s²` the mean over them of the variance over texts. With
    T − 1 the noise of P adds exactly `s²/N` to `Var P` (contents of different positions independent), so the share is
    0 on average, and may be slightly negative, where position does nothing. 0 if nothing varies at all.
    """
    P, within = moments.mean[..., skip:, :], moments.variance[..., skip:].mean(axis=-1)
    if P.shape[-2] < 2:
        raise InvalidArgument(
            f"texts of {moments.mean.shape[-2]} tokens leave {max(P.shape[-2], 0)} positions after skipping {skip}",
            "use longer texts",
        )
    raw = np.sum((P - P.mean(axis=-2, keepdims=True)) ** 2, axis=(-2, -1)) / (P.shape[-2] - 1)
    between = raw - within / moments.count
    total = between + within
    share: Float = np.divide(between, total, out=np.zeros_like(total), where=total > 0)
    return share
