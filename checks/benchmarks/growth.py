"""Time against length of every operation that was timed at several: one log-log chart each, as inline SVG."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from checks.benchmarks.units import duration, tokens

WIDTH, HEIGHT = 460, 300
LEFT, RIGHT, TOP, BOTTOM = 62, 34, 12, 34
LABEL = 62
"""The least distance of two lengths that are written out."""
AT_LEAST = 3
"""Lengths that make a chart."""
COLOURS = 6
"""Series that the style of the page tells apart."""

Curves = Mapping[str, Sequence[tuple[int, float]]]


def curves(rows: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, list[tuple[int, float]]]]:
    """Operation → path → (T, p50) by length, of operations with enough lengths."""
    found: dict[str, dict[str, list[tuple[int, float]]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row["T"] is not None:
            found[row["op"]][row["path"]].append((row["T"], row["p50"]))
    return {
        op: {path: sorted(points) for path, points in of_op.items()}
        for op, of_op in found.items()
        if len({T for points in of_op.values() for T, _ in points}) >= AT_LEAST
    }


def charts(rows: Sequence[Mapping[str, Any]]) -> str:
    return "\n".join(chart(op, of_op) for op, of_op in curves(rows).items())


def chart(op: str, of_op: Curves) -> str:
    """One figure: axes, a line with points per path, and the names of the paths below."""
    lengths = sorted({T for points in of_op.values() for T, _ in points})
    times = [seconds for points in of_op.values() for _, seconds in points]
    low, high = math.floor(math.log10(min(times))), math.ceil(math.log10(max(times)))
    across = math.log(lengths[-1] / lengths[0])

    def x(T: int) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * math.log(T / lengths[0]) / across

    def y(seconds: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (high - math.log10(seconds)) / (high - low)

    parts = []
    for power in range(low, high + 1):
        line = y(10.0**power)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{line:.1f}" y2="{line:.1f}"/>')
        parts.append(
            f'<text class="tick" x="{LEFT - 8}" y="{line + 4:.1f}" text-anchor="end">{duration(10.0**power)}</text>'
        )
    named: list[int] = []
    for T in reversed(lengths):  # the longest always
        if not named or x(named[-1]) - x(T) >= LABEL:
            named.append(T)
    for T in named:
        parts.append(f'<text class="tick" x="{x(T):.1f}" y="{HEIGHT - 12}" text-anchor="middle">{tokens(T)}</text>')
    for place, (path, points) in enumerate(of_op.items()):
        line_points = " ".join(f"{x(T):.1f},{y(seconds):.1f}" for T, seconds in points)
        dots = "".join(
            f'<circle cx="{x(T):.1f}" cy="{y(seconds):.1f}" r="3">'
            f"<title>{escape(path)}, {tokens(T)} tokens: {duration(seconds)}</title></circle>"
            for T, seconds in points
        )
        parts.append(f'<g class="s{place % COLOURS}"><polyline points="{line_points}"/>{dots}</g>')
    names = "".join(f'<li class="s{place % COLOURS}"><i></i>{escape(path)}</li>' for place, path in enumerate(of_op))
    return (
        f'<figure><figcaption>{escape(op)}</figcaption><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="Median time of {escape(op)} against tokens, both logarithmic">{"".join(parts)}</svg>'
        f"<ul>{names}</ul></figure>"
    )
