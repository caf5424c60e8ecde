"""Activation of a band: rows of the shipped paths, the half-plane identity, the sweep with its tree."""

from __future__ import annotations

from typing import Literal

import numpy as np
from hypothesis import strategies as st

from checks.certified.draws import Float, dyadic_arrays, plane_vectors
from checks.certified.exact import Array, exact, exactly
from checks.certified.statements import Number, Subject, fraction, listed, number, pair, pairs, truths
from numerics.bands.activation import loops, row_activation

Path = Literal["reference", "direct", "halfplane"]
PATHS: tuple[Path, ...] = ("reference", "direct", "halfplane")


@st.composite
def _rows(draw: st.DrawFn) -> list[Number]:
    """The last row by every path that runs on the host, for one band of one head, with and without a window."""
    length = draw(st.integers(1, 5))
    q, k = draw(dyadic_arrays(1, length, 2)), draw(dyadic_arrays(1, length, 2))
    window, scale = draw(st.integers(1, length)), 1 / draw(st.sampled_from((1, 2, 8)))
    return [_last_row(q, k, window, scale, path) for path in PATHS]


@st.composite
def _long_rows(draw: st.DrawFn) -> list[Number]:
    """More positions than a leaf of the tree holds, so that the compiled sweep is used; few directions, many ties."""
    length = draw(st.integers(loops.BLOCK + 1, loops.BLOCK + 4))
    few = draw(dyadic_arrays(4, 2))
    chosen = draw(st.lists(st.integers(0, 3), min_size=2 * length, max_size=2 * length))
    q, k = few[np.array(chosen)].reshape(2, 1, length, 2)
    return [_last_row(q, k, length, 1.0, "halfplane")]


def _last_row(q: Float, k: Float, window: int, scale: float, path: Path) -> Number:
    length = q.shape[1]
    row = row_activation(q, k, n_bands=1, scale=scale, window=window, path=path)[0, 0, -1]
    keys = f"{pairs(q[0])} {pairs(k[0])} (fun i => i.val + 1 - {window})"
    return number(f"{fraction(scale)} * Formal.row (K := Rat) (T := {length}) {keys} {length - 1}", row)


def _events(q: Array, k: Array) -> tuple[Array, Array]:
    """Folded keys (2, T) and the angles (2T,) of keys and break directions, by the compiled loop's own Python."""
    folded, angles = np.empty((1, *k.shape), k.dtype), np.empty((1, 2 * k.shape[1]), k.dtype)
    exactly(loops.events)(q[None, None], k[None], folded, angles)
    return folded[0], angles[0]


@st.composite
def _directions(draw: st.DrawFn) -> list[Number]:
    """Folding, break directions and their angles; the row of a query from the keys on one side of its normal."""
    length = draw(st.integers(1, 4))
    q, k = draw(plane_vectors(length)), draw(plane_vectors(length))
    folded, angles = _events(q, k)
    breaks, _ = _events(q, exact(np.stack((-q[1], q[0]))))
    i = draw(st.integers(0, length - 1))
    before = angles[:length] < angles[length + i]
    rows = np.empty((1, 1, length), k.dtype)
    last = np.full((2, length), q[:, i : i + 1])
    exactly(loops.direct)(last[None, None], k[None], length, rows)
    signed = f"(keySum (n := {length}) {truths(before)} {pairs(folded.T)})"
    whole = f"(keySum (n := {length}) (fun _ => true) {pairs(folded.T)})"
    query, key = pair(q[:, i]), pair(k[:, i])
    border = exact([[-draw(st.integers(1, 9))], [0]])  # the opposite of the first direction: folded, not kept
    folded_border, border_angles = _events(border, border)
    return [
        number(f"(fold (K := Rat) {key}).1", folded[0, i]),
        number(f"(fold (K := Rat) {key}).2", folded[1, i]),
        number(f"(breakDirection (K := Rat) {query}).1", breaks[0, i]),
        number(f"(breakDirection (K := Rat) {query}).2", breaks[1, i]),
        number(f"(fold (K := Rat) {pair(border[:, 0])}).1", folded_border[0, 0]),
        number(f"angle (fold (K := Rat) {pair(border[:, 0])})", border_angles[0]),
        number(f"angle (fold (K := Rat) {key})", angles[i]),
        number(f"angle (breakDirection (K := Rat) {query})", angles[length + i]),
        number(f"abs (inner (K := Rat) {query} (twiceMinus {signed} {whole}))", rows[0, 0, -1]),
    ]


@st.composite
def _sweep(draw: st.DrawFn) -> list[Number]:
    """One pass over keys and queries by angle, with one position to a leaf of the tree."""
    length = draw(st.integers(1, 6))
    q, k = draw(plane_vectors(length)), draw(plane_vectors(length))
    folded, angles = _events(q, k)
    order = np.argsort(angles)
    rows = np.empty((1, 1, length), k.dtype)
    exactly(loops.own_blocks, BLOCK=1)(q[None, None], k[None], False, rows)
    exactly(loops.sweep, BLOCK=1)(order[None], q[None, None], folded[None], rows)
    depth = length.bit_length()
    events = listed(f".key {e}" if e < length else f".query {e - length}" for e in order)
    keys = f"(K := Rat) (T := {length}) {pairs(q.T)} {pairs(k.T)} (fun _ => 0)"
    i = draw(st.integers(0, length - 1))
    return [
        number(f"sweep (d := {depth}) {keys} {events} (SumTree.empty {depth})", rows.sum()),
        number(f"sum (fun i => Formal.row {keys} i)", rows.sum()),
        number(f"Formal.row {keys} {i}", rows[0, 0, i]),
    ]


SUBJECTS = (
    Subject(
        "activation rows",
        ("Activation",),
        ("row",),
        ("bands.activation.row_activation",),
        "float64, by the paths reference, direct and halfplane",
        _rows(),
    ),
    Subject(
        "compiled sweep",
        ("Activation",),
        ("row",),
        ("bands.activation.row_activation",),
        "float64, by the path halfplane",
        _long_rows(),
        at_most=3,
    ),
    Subject(
        "half-planes",
        ("Activation",),
        ("fold", "breakDirection", "angle", "keySum", "twiceMinus"),
        ("bands.activation.loops.events", "bands.activation.loops.direct"),
        "same code",
        _directions(),
    ),
    Subject(
        "sweep",
        ("Activation",),
        ("sweep", "SumTree", "row"),
        tuple(f"bands.activation.loops.{name}" for name in ("events", "own_blocks", "sweep")),
        "same code",
        _sweep(),
    ),
)
