"""Positional kernels: how far they reach, and the softmax denominator they make."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from checks.certified.draws import distributions, fractions, rational_arrays
from checks.certified.exact import Exact, exact, exactly, squared
from checks.certified.statements import Number, Subject, fraction, number, vector
from numerics.positional import denominators
from numerics.positional.spread import effective_token_count


@st.composite
def _spread(draw: st.DrawFn) -> list[Number]:
    length = draw(st.integers(1, 6))
    kernel = draw(distributions(length))
    query = draw(st.integers(0, length - 1))
    weight = denominators.concentration_weight(kernel[None], [query])[0]
    return [
        number(f"ETC (K := Rat) (n := {length}) {vector(kernel)}", effective_token_count(kernel)),
        number(f"ssq (K := Rat) (n := {length - 1}) {vector(np.delete(kernel, query))}", weight),
    ]


@st.composite
def _denominator(draw: st.DrawFn) -> list[Number]:
    """Contents drawn alike and independently from a finite pool; the query's own term is fixed."""
    length = draw(st.integers(2, 4))
    kernel, query = draw(distributions(length)), draw(st.integers(0, length - 1))
    factor = exact([abs(f) for f in draw(rational_arrays(length))])
    others = np.arange(length) != query
    mean, variance = (m[0] for m in denominators.content_moments(factor[None], others[None]))
    expected = denominators.predicted_mean(kernel[None], factor[None], mean, [query])[0]
    spread = denominators.predicted_spread(kernel[None], variance, [query])[0]
    count = length - 1
    pool, weights = vector(factor[others]), vector([Exact(1) / count] * count)
    p, own = vector(kernel[others]), fraction(kernel[query] * factor[query])
    Z = f"(fun X => Z (n := {count}) {p} {pool} X + {own})"
    return [
        number(
            f"Z (K := Rat) (n := {length}) (m := {length}) {vector(kernel)} {vector(factor)} (fun j => j)",
            denominators.denominator(kernel, factor),
        ),
        number(f"E (K := Rat) (m := {count}) {weights} {pool}", mean),
        number(f"Var (K := Rat) (m := {count}) {weights} {pool}", variance),
        number(f"En (K := Rat) (m := {count}) {weights} {count} {Z}", expected),
        number(f"VarN (K := Rat) (m := {count}) {weights} {count} {Z}", squared(spread)),
    ]


@st.composite
def _chebyshev(draw: st.DrawFn) -> list[Number]:
    """A coin thrown for each key: contents low or high."""
    length = draw(st.integers(1, 3))
    p, pool = draw(distributions(length)), draw(rational_arrays(2))
    share = draw(st.sampled_from((Exact(1) / 2, Exact(1) / 3)))
    coin = exact([share, 1 - share])
    mean = coin @ pool
    variance, weight = coin @ (pool - mean) ** 2, denominators.concentration_weight(_with_query(p)[None], [length])[0]
    t = abs(draw(fractions().filter(bool)))
    bound = exactly(denominators.chebyshev_bound)(t, variance, weight)
    Z = f"(Z (n := {length}) {vector(p)} {vector(pool)})"
    formal = f"VarN (K := Rat) (m := 2) {vector(coin)} {length} {Z} / ({fraction(t)} * {fraction(t)})"
    return [number(formal, bound)] if bound < 1 else []


def _with_query(p: np.ndarray) -> np.ndarray:
    """The kernel with the query itself behind its other keys, without weight."""
    return np.concatenate((p, exact([0])))


SUBJECTS = (
    Subject(
        "effective token count",
        ("Spread",),
        ("ETC", "ssq"),
        ("positional.spread.effective_token_count", "positional.denominators.concentration_weight"),
        "as is",
        _spread(),
    ),
    Subject(
        "denominator",
        ("Probability",),
        ("Z", "E", "Var", "En", "VarN"),
        tuple(
            f"positional.denominators.{name}"
            for name in ("denominator", "content_moments", "predicted_mean", "predicted_spread")
        ),
        "as is; the spread under its root",
        _denominator(),
    ),
    Subject(
        "Chebyshev bound",
        ("Probability",),
        ("VarN",),
        ("positional.denominators.chebyshev_bound",),
        "same code",
        _chebyshev(),
    ),
)
