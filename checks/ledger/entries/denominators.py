"""Denominators: Z of a real query, and its mean, variance and tails when contents are drawn from the text's own."""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

from checks.ledger.entries.kernels import EXP, largest, smallest
from checks.ledger.entry import Entry
from checks.ledger.site import LayerSite
from numerics.positional import denominators
from numerics.positional.split import repeat_heads

Float = NDArray[np.float64]

KEYS, POOL = 5, 3
STEPS = np.array([0.5, 1.0, 1.5, 2.0, 3.0])
FROZEN = "tight at the least Z: there both sides differ by the rounding of two quotients"
SUMS = "243 equally likely outcomes added up: 243·eps of the largest"


def denominator_of_softmax(site: LayerSite) -> Float:
    """Z = Σ e^score / Σ e^exponent over the open keys, on a log scale."""
    Z = denominators.denominator(site.kernel, site.factor)
    logs = [np.where(site.open, part, -np.inf) for part in (site.known_scores, site.exponents)]
    scores, exponents = (np.logaddexp.reduce(part, axis=-1) for part in logs)
    return largest(np.abs(np.log(Z) - (scores - exponents)))


class Drawn:
    """All outcomes of the last query's contents: its `KEYS` weightiest other keys, each of `POOL` contents of the text.

    Exact: `POOL**KEYS` outcomes, equally likely. Weights are renormalised, the query's own term stays.
    """

    def __init__(self, site: LayerSite) -> None:
        row, factor = site.kernel[:, -1], site.factor[:, -1]
        own = site.queries[-1]
        others = site.open[-1] & (np.arange(site.length) != own)
        places = np.flatnonzero(others)
        order = places[np.argsort(-row[:, places], axis=-1)][:, :KEYS]
        chosen = np.concatenate([order, np.full((len(row), 1), own)], axis=1)
        weights = np.take_along_axis(row, chosen, axis=1)
        self.kernel = (weights / weights.sum(axis=1, keepdims=True))[:, None]  # (H, 1, KEYS + 1)
        spaced = places[np.linspace(0, len(places) - 1, POOL).astype(int)]
        self.pool = factor[:, spaced]  # (H, POOL)
        self.pool = self.pool / self.pool.max(axis=1, keepdims=True)  # its unit does not matter
        self.own = factor[:, own] / factor[:, spaced].max(axis=1)
        outcomes = np.array(list(product(range(POOL), repeat=KEYS)))
        drawn = np.concatenate(
            [self.pool[:, outcomes], np.broadcast_to(self.own[:, None, None], (len(row), len(outcomes), 1))], axis=2
        )
        self.factors = np.swapaxes(drawn, 0, 1)[:, :, None]  # (outcomes, H, 1, KEYS + 1)
        self.Z = denominators.denominator(self.kernel, self.factors)[..., 0]  # (outcomes, H)
        self.mean = self.pool.mean(axis=1)
        self.variance = self.pool.var(axis=1)
        self.weight = denominators.concentration_weight(self.kernel, [KEYS])[:, 0]
        self.expected = denominators.predicted_mean(self.kernel, self.factors[0], self.mean[:, None], [KEYS])[:, 0]

    def tails(self, t: Float) -> Float:
        """P(|Z − E Z| ≥ t) (H, K) for t (H, K); a hair below t, so that outcomes at t itself count."""
        gap = np.abs(self.Z - self.expected)[..., None]
        share: Float = (gap >= t * (1 - 1e-12)).mean(axis=0)
        return share


def usable(site: LayerSite) -> str:
    return "" if len(site.queries) and site.open[-1].sum() > KEYS else "its window holds too few keys"


def mean_and_variance(site: LayerSite) -> Float:
    drawn = Drawn(site)
    mean = np.abs(drawn.Z.mean(axis=0) - drawn.expected) / drawn.expected
    predicted = denominators.predicted_spread(drawn.kernel, drawn.variance[:, None], [KEYS])[:, 0] ** 2
    worst: Float = np.maximum(mean, np.abs(drawn.Z.var(axis=0) - predicted) / drawn.expected**2)
    return worst


def steps(drawn: Drawn) -> Float:
    """Deviations (H, K): multiples of the standard deviation, and shares of the mean."""
    spread = np.sqrt(drawn.variance * drawn.weight)[:, None] * STEPS
    relative = 0.1 * drawn.expected[:, None] * STEPS
    both = np.concatenate([spread, relative], axis=1)
    return np.where(both > 0, both, 1.0)


def chebyshev(site: LayerSite) -> Float:
    drawn = Drawn(site)
    t = steps(drawn)
    bound = denominators.chebyshev_bound(t, drawn.variance[:, None], drawn.weight[:, None])
    return smallest(bound - drawn.tails(t))


def hoeffding(site: LayerSite) -> Float:
    drawn = Drawn(site)
    t = steps(drawn)
    low, high = drawn.pool.min(axis=1, keepdims=True), drawn.pool.max(axis=1, keepdims=True)
    return smallest(denominators.hoeffding_bound(t, low, high, drawn.weight[:, None]) - drawn.tails(t))


def one_sided(site: LayerSite) -> Float:
    """P(Z − E Z ≥ t) ≤ exp(−2t²/((hi − lo)²·weight)), half the two-sided bound before it is cut at 1."""
    drawn = Drawn(site)
    t = steps(drawn)
    square = (np.ptp(drawn.pool, axis=1) ** 2 * drawn.weight)[:, None]
    bound = np.exp(-np.divide(2 * t**2, square, out=np.full(t.shape, np.inf), where=square > 0))
    gap = (drawn.Z - drawn.expected)[..., None]
    return smallest(bound - (gap >= t * (1 - 1e-12)).mean(axis=0))


def moments_of_contents(site: LayerSite) -> Float:
    """Mean and variance over the open keys against numpy on the listed values."""
    others = site.open & (np.arange(site.length) != site.queries[:, None])
    mean, variance = denominators.content_moments(site.factor, others)
    errors = np.zeros(len(mean))
    for row, keys in enumerate(others):
        listed = site.factor[:, row, keys]
        size = np.abs(listed).max(axis=-1)
        errors = np.maximum(errors, np.abs(mean[:, row] - listed.mean(axis=-1)) / size)
        errors = np.maximum(errors, np.abs(variance[:, row] - listed.var(axis=-1)) / size**2)
    return errors


def frozen(site: LayerSite) -> tuple[Float, Float, Float]:
    """Outputs N/Z and N/Z₀ (H, I, n_v) of the chosen queries, and η/(1 − η) (H,): every Z is within 1 ± η of Z₀."""
    Z = denominators.denominator(site.kernel, site.factor)
    high, low = Z.max(axis=1), Z.min(axis=1)
    Z0 = (high + low) / 2  # so η = (high − low)/(high + low), below 1
    values = repeat_heads(site.v, site.n_heads)
    N = np.einsum("hij,hjv->hiv", site.kernel * site.factor, values)
    return N / Z[..., None], N / Z0[:, None, None], (high - low) / (2 * low)


def frozen_head(site: LayerSite) -> Float:
    """Slack in each number of the output, in units of the head's largest bound."""
    output, still, share = frozen(site)
    bound = share[:, None, None] * np.abs(still)
    top = largest(bound)
    return smallest((bound - np.abs(output - still)) / np.where(top > 0, top, 1.0)[:, None, None])


def frozen_heads(site: LayerSite) -> Float:
    """The same of the sum of all heads in the residual stream, with the largest η; one number for the layer."""
    output, still, share = frozen(site)
    through = [np.einsum("hiv,hdv->hid", part, site.heads.W_O) for part in (output, still)]
    bound = share.max() * np.abs(through[1]).sum(axis=0)
    moved = np.abs(through[0].sum(axis=0) - through[1].sum(axis=0))
    return smallest((bound - moved)[None]) / float(bound.max())


ENTRIES = (
    Entry(
        "Z = Σ pos·f is the ratio of the two softmax normalisers",
        "§3",
        ("Expo.softmax_kernel",),
        ("positional.denominators.denominator",),
        "equality",
        denominator_of_softmax,
        1e-10,
        EXP,
    ),
    Entry(
        "contents drawn alike: E Z = mean f·Σ_{j≠n} pos_j + pos_n f_n, Var Z = Var f·Σ_{j≠n} pos_j²",
        "§3",
        ("denominator_mean", "denominator_variance", "En_Z", "Var_Z"),
        (
            "positional.denominators.predicted_mean",
            "positional.denominators.predicted_spread",
            "positional.denominators.concentration_weight",
        ),
        "equality",
        mean_and_variance,
        1e-12,
        SUMS,
        applies=usable,
    ),
    Entry(
        "Chebyshev: P(|Z − E Z| ≥ t) ≤ Var f·Σ pos²/t², also for t = η·E Z",
        "§3",
        ("chebyshev_denominator", "chebyshev_relative", "chebyshev", "markov"),
        ("positional.denominators.chebyshev_bound",),
        "inequality",
        chebyshev,
        1e-12,
        SUMS,
        applies=usable,
    ),
    Entry(
        "Hoeffding: P(|Z − E Z| ≥ t) ≤ 2 exp(−2t²/((hi − lo)²·Σ pos²)), also for t = η·E Z",
        "§3",
        ("Expo.hoeffding_two_sided", "Expo.hoeffding_denominator", "Expo.hoeffding_relative"),
        ("positional.denominators.hoeffding_bound",),
        "inequality",
        hoeffding,
        1e-12,
        SUMS,
        applies=usable,
    ),
    Entry(
        "Hoeffding, one side: P(Z − E Z ≥ t) ≤ exp(−2t²/((hi − lo)²·Σ pos²))",
        "§3",
        ("Expo.hoeffding_sharp",),
        ("positional.denominators.concentration_weight",),
        "inequality",
        one_sided,
        1e-12,
        SUMS,
        applies=usable,
    ),
    Entry(
        "Z frozen at Z₀, all Z within a factor 1 ± η of it: a head's output moves by at most η/(1 − η) of itself",
        "§3",
        ("frozen_denominator",),
        ("positional.denominators.denominator",),
        "inequality",
        frozen_head,
        1e-12,
        FROZEN,
    ),
    Entry(
        "the same of all heads of a layer together, where they write",
        "§3",
        ("frozen_denominator_heads",),
        ("positional.denominators.denominator",),
        "inequality",
        frozen_heads,
        1e-12,
        FROZEN,
    ),
    Entry(
        "mean and variance of the content factors over the keys of each query",
        "§3",
        (),
        ("positional.denominators.content_moments",),
        "equality",
        moments_of_contents,
        1e-12,
        "T numbers added in another order: T·eps of the largest",
    ),
)
