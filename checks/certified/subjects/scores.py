"""A score taken apart: into position and content, and into rotary bands."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st

from checks.certified.draws import PYTHAGOREAN, dyadic_arrays, fractions, rational_arrays
from checks.certified.exact import Array, exact, exactly
from checks.certified.statements import Number, Subject, fraction, listed, number, pair, pairs, vector
from numerics.bands.split import band_pairs, band_scores
from numerics.models import rotary
from numerics.positional.split import four_terms, split_projection


@st.composite
def _four_terms(draw: st.DrawFn) -> list[Number]:
    """One query and one key of one head, projected from the position and the content of what the attention reads."""
    n, width = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    scale, bias = 1 / draw(st.sampled_from((1, 2, 4, 8))), draw(dyadic_arrays(1, 1, 1))
    sides = [
        split_projection(
            draw(dyadic_arrays(1, width)),
            draw(dyadic_arrays(1, width)),
            draw(dyadic_arrays(1, n, width)),
            draw(dyadic_arrays(1, n)),
        )
        for _ in range(2)
    ]
    terms = four_terms(*sides, query_positions=[0], key_positions=[0], scale=scale, bias=bias)
    parts = [[vector(part[0, 0]) for part in side] for side in sides]
    factor, q, k = fraction(scale), *(f"(fun i => {position} i + {content} i)" for position, content in parts)
    products = (f"{factor} * dot (K := Rat) (n := {n}) {a} {b}" for a in parts[0] for b in parts[1])
    return [
        *(number(formal, term[0, 0, 0]) for formal, term in zip(products, terms[:4], strict=True)),
        number(f"{factor} * dot (K := Rat) (n := {n}) {q} {k} + {fraction(bias[0, 0, 0])}", terms.score()[0, 0, 0]),
    ]


@st.composite
def _bands(draw: st.DrawFn) -> list[Number]:
    """A query at position i, a key at position j, bands with rational turns and some dims that do not rotate."""
    bands, rest = draw(st.integers(1, 2)), draw(st.integers(0, 2))
    pairing: rotary.Pairing = draw(st.sampled_from(("half", "interleaved")))
    steps = [draw(st.sampled_from(PYTHAGOREAN)) for _ in range(bands)]
    j, distance = draw(st.integers(0, 3)), draw(st.integers(0, 3))
    q, k = draw(rational_arrays(2 * bands + rest)), draw(rational_arrays(2 * bands + rest))
    scale: Any = draw(fractions().filter(bool))
    table = rotary.RotaryTable(2 * bands + rest, pairing, np.zeros(bands))
    turn = exactly(rotary.turn)
    turned_q, turned_k = (turn(table, x, *_at(steps, m)) for x, m in ((q, j + distance), (k, j)))
    split: dict[str, Any] = {"n_bands": bands, "pairing": pairing}
    parts = band_scores(turned_q, turned_k, scale=scale, **split)
    relative = band_scores(turn(table, q, *_at(steps, distance)), k, scale=scale, **split)
    (q_pairs, q_rest), (k_pairs, k_rest) = (band_pairs(x, **split) for x in (q, k))
    turns = [
        f"(⟨{fraction(Fraction(x, r))}, {fraction(Fraction(y, r))}, by decide +kernel⟩ : Turn Rat)" for x, y, r in steps
    ]
    found = [
        number(
            f"{fraction(scale)} * dot2 (({turns[b]}.pow {j + distance}).act {pair(q_pairs[b])}) "
            f"(({turns[b]}.pow {j}).act {pair(k_pairs[b])})",
            parts[b],
        )
        for b in range(bands)
    ]
    if rest:
        found.append(number(f"{fraction(scale)} * dot (n := {rest}) {vector(q_rest)} {vector(k_rest)}", parts[bands]))
    family = f"(fun b : Fin {bands} => {listed(turns)}.getD b.val Turn.one)"
    q_vector, k_vector = (
        f"(⟨{pairs(x)}, {vector(y)}⟩ : HeadVector Rat {bands} {rest})"
        for x, y in ((q_pairs, q_rest), (k_pairs, k_rest))
    )
    whole = f"(({q_vector}.rotate {family} {j + distance}).dot ({k_vector}.rotate {family} {j}))"
    shifted = f"(({q_vector}.rotate {family} {distance}).dot {k_vector})"
    return [
        *found,
        number(f"{fraction(scale)} * {whole}", parts.sum()),
        number(f"{fraction(scale)} * {shifted}", relative.sum()),
    ]


def _at(steps: list[tuple[int, int, int]], position: int) -> tuple[Array, Array]:
    """Cosine and sine (B,) of each band at a position: powers of its turn."""
    cos, sin = exact([1] * len(steps)), exact([0] * len(steps))
    c, s = (exact([Fraction(step[place], step[2]) for step in steps]) for place in (0, 1))
    for _ in range(position):
        cos, sin = c * cos - s * sin, s * cos + c * sin
    return cos, sin


SUBJECTS = (
    Subject(
        "four terms of a score",
        ("Matrices",),
        ("dot",),
        ("positional.split.split_projection", "positional.split.four_terms"),
        "float64",
        _four_terms(),
    ),
    Subject(
        "rotary bands",
        ("Rotary",),
        ("dot2", "Turn", "HeadVector"),
        ("models.rotary.turn", "bands.split.band_pairs", "bands.split.band_scores"),
        "as is; turn: same code; cosine and sine of a position, transcendental in numerics, by a twin on 3-4-5 turns",
        _bands(),
    ),
)
