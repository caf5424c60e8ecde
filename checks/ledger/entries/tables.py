"""What holds of every table that a command saves: profiles, kernels, bands, circuits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from checks.ledger.entry import TABLES, Entry
from checks.ledger.tables import TableSite

Float = NDArray[np.float64]

FLOAT32 = float(np.finfo(np.float32).eps)


def worst(numbers: Float) -> Float:
    """Largest number of each head, NaN left out; NaN for a head that has none."""
    flat = numbers.reshape(len(numbers), -1)
    top: Float = np.where(np.isnan(flat), -np.inf, flat).max(axis=1)
    return np.where(np.isneginf(top), np.nan, top)


def within(low: float, high: float, *names: str) -> Callable[[TableSite], Float]:
    """The least distance of the numbers of some variables from the ends of an interval, inside it ≥ 0."""

    def slack(site: TableSite) -> Float:
        found = [-worst(np.maximum(low - site.numbers(name), site.numbers(name) - high)) for name in names]
        return np.asarray(np.fmin.reduce(found))

    return slack


# -- profiles -------------------------------------------------------------------------------------------------------


def simplex(site: TableSite) -> Float:
    profile = site.numbers("profile")
    return worst(np.maximum(np.abs(profile.sum(axis=-1) - 1), -profile.min(axis=-1)))


def extras(site: TableSite) -> Float:
    """Symmetric energy = 1 − a, (1 − pairing)²·(1 − a) = c + d, balance = 1 − |n₊ − n₋|/(n₊ + n₋)."""
    a, _, c, d = np.moveaxis(site.numbers("profile"), -1, 0)
    up, down = site.numbers("n_positive"), site.numbers("n_negative")
    counted = np.where(up + down > 0, up + down, np.nan)
    errors = [
        site.numbers("symmetric_energy") - (1 - a),
        (1 - site.numbers("pairing")) ** 2 * (1 - a) - (c + d),
        site.numbers("balance") - (1 - np.abs(up - down) / counted),
    ]
    return np.asarray(np.fmax.reduce([worst(np.abs(error)) for error in errors]))


def lobes(site: TableSite) -> Float:
    """b, c, d of the first distance from the saved eigenvalues of S/‖L‖, both lobes in decreasing order."""
    saved = site.numbers("profile")[:, 0, 1:]
    errors = []
    for values, bcd in zip(site.numbers("symmetric_spectrum"), saved, strict=True):
        up, down = np.sort(np.maximum(values, 0))[::-1], np.sort(np.maximum(-values, 0))[::-1]
        apart = up - down
        right = [2 * up @ down, np.sum(apart[apart > 0] ** 2), np.sum(apart[apart < 0] ** 2)]
        errors.append(np.abs(np.array(right) - bcd).max())
    return np.array(errors)


# -- kernels --------------------------------------------------------------------------------------------------------


def kernel_sums(site: TableSite) -> Float:
    """Every mean kernel and every one of a single text is ≥ 0 and sums to 1."""
    found = []
    for name in ("kernel", "kernel_gallery"):
        kernel = site.numbers(name)
        found.append(worst(np.maximum(np.abs(kernel.sum(axis=-1) - 1), -kernel.min(axis=-1))))
    return np.asarray(np.fmax.reduce(found))


def token_counts(site: TableSite) -> Float:
    """1 ≤ ETC ≤ keys that carry weight."""
    etc = site.numbers("etc")
    support = (site.numbers("kernel") > 0).sum(axis=-1)
    return -worst(np.maximum(1 - etc, (etc - support) / support))


def denominator_moments(site: TableSite) -> Float:
    """Mean and standard deviation are those of the Z that stand beside them, text by text."""
    Z = site.numbers("denominator")
    size = np.abs(Z).mean(axis=-1)
    mean, sd = site.numbers("denominator_mean"), site.numbers("denominator_sd")
    return worst(np.maximum(np.abs(Z.mean(axis=-1) - mean), np.abs(Z.std(axis=-1, ddof=1) - sd)) / size)


def fewer_strays(site: TableSite) -> Float:
    """Observed shares and both bounds fall as the deviation grows."""
    names = ("exceedance", "chebyshev", "hoeffding")
    return np.asarray(np.fmin.reduce([-worst(np.diff(site.numbers(name), axis=-1)) for name in names]))


# -- bands ----------------------------------------------------------------------------------------------------------


def per_query(site: TableSite) -> float:
    return float(site.table.attrs["length"] * site.table.attrs["documents"])


def shares_sum(site: TableSite) -> Float:
    bands = np.nansum(site.numbers("entropy"), axis=-1) + site.numbers("entropy_unrotated")
    return np.asarray(np.abs(bands - site.numbers("entropy_change"))) / per_query(site)


def below_uniform(site: TableSite) -> Float:
    return -site.numbers("entropy_change") / per_query(site)


def wavelengths(site: TableSite) -> Float:
    turns = site.table["frequency"].to_numpy() * site.table["wavelength"].to_numpy() / (2 * np.pi)
    return np.array([float(np.nanmax(np.abs(turns - 1)))])


ENTRIES: tuple[Entry[TableSite], ...] = (
    Entry(
        "profile: (a, b, c, d) ≥ 0 with sum 1, at every distance",
        TABLES, ("profile_simplex",), ("profile",), "equality", simplex, 1e-14,
        "one division and a sum of four: 4 eps",
    ),
    Entry(
        "profile: symmetric energy, pairing and balance are those of the profile and the counts beside them",
        TABLES, (), ("profile",), "equality", extras, 1e-14,
        "a few sums and divisions of numbers of size 1",
    ),
    Entry(
        "profile: b, c, d are those of the saved spectrum, its lobes in decreasing order",
        TABLES, ("decreasing_rearrangement_unique",), ("profile",), "equality", lobes, 4 * FLOAT32,
        "eigenvalues are saved in float32, each within eps/2 of itself: products and squares within 2·eps·‖S‖²/‖L‖²",
    ),
    Entry(
        "kernels: kernels are ≥ 0 and sum to 1, means over texts and single ones",
        TABLES, (), ("positional_kernels",), "equality", kernel_sums, FLOAT32, "weights are saved in float32",
    ),
    Entry(
        "kernels: 1 ≤ ETC ≤ number of keys that carry weight",
        TABLES, ("one_le_ETC", "ETC_le_support"), ("positional_kernels",), "inequality", token_counts, 1e-12,
        "a sum of squares, and its inverse",
    ),
    Entry(
        "kernels: total variations, shares of attention and of strays, and bounds on them lie in [0, 1]",
        TABLES, (), ("positional_kernels",), "inequality",
        within(0, 1, "tv_kernel", "tv_uniform", "sink_mass", "exceedance", "chebyshev", "hoeffding"), 1e-12,
        "sums of weights that sum to 1 up to rounding",
    ),
    Entry(
        "kernels: mean and deviation of Z over texts are those of the Z beside them",
        TABLES, (), ("positional_kernels",), "equality", denominator_moments, 1e-12, "sums over the same texts",
    ),
    Entry(
        "kernels: the share of strays and both bounds do not rise with the deviation",
        TABLES, (), ("positional_kernels",), "inequality", fewer_strays, 1e-14, "means of falling numbers",
    ),
    Entry(
        "bands: the entropy shares sum to H − log N, per query",
        TABLES, ("entropy_shares_sum",), ("band_metrics",), "equality", shares_sum, 1e-6,
        "the quadrature stops at 1e-6 nats per query",
    ),
    Entry(
        "bands: attention has at most the entropy of uniform attention, H ≤ log N",
        TABLES, (), ("band_metrics",), "inequality", below_uniform, 1e-6, "the same",
    ),
    Entry(
        "bands: wavelength × frequency = 2π",
        TABLES, (), ("band_metrics",), "equality", wavelengths, 1e-15, "a division and a product: 2 eps",
    ),
    Entry(
        "circuits: composition scores lie in [0, 1]",
        TABLES, ("composition_in_unit_interval",), ("head_circuits",), "inequality", within(0, 1, "composition"),
        1e-12, "a quotient of norms",
    ),
    Entry(
        "circuits: behaviours are shares of attention or of tokens, in [0, 1]",
        TABLES, (), ("head_circuits",), "inequality", within(0, 1, "behaviour"), 1e-6,
        "attention of a model that runs in float32",
    ),
)  # fmt: skip
