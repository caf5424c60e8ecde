"""Goals, exponents and the page of the benchmarks, from made-up rows."""

from __future__ import annotations

from typing import Any

import pytest

from checks.benchmarks import command
from checks.benchmarks.goals import Goal, exponents, verdict
from checks.benchmarks.growth import curves
from checks.benchmarks.page import page
from checks.benchmarks.units import duration, size


def row(op: str, path: str, p50: float, T: int | None = None, peak: int = 1000) -> dict[str, Any]:
    return {"op": op, "path": path, "T": T, "bands": 1, "p20": 0.9 * p50, "p50": p50, "p80": 1.1 * p50, "bytes": peak}


def test_a_goal_is_met_from_its_number_on() -> None:
    rows = [row("sort", "slow", 2.0, 64), row("sort", "fast", 0.5, 64, 10), row("sort", "fast", 9.0, 128)]
    assert verdict(Goal("sort", "slow", "fast", 4.0, 64), rows).met is True
    assert verdict(Goal("sort", "slow", "fast", 4.1, 64), rows).met is False
    assert verdict(Goal("sort", "slow", "fast", 100, 64, of="bytes"), rows).ratio == 100
    assert verdict(Goal("sort", "slow", "fast", 1.0, 128), rows).met is None


def test_exponents_are_those_of_the_longer_half() -> None:
    rows = [row("op", "square", max(4e-3, 1e-6 * T**2), T) for T in (8, 16, 32, 64, 128, 256)]
    rows += [row("op", "line", max(2e-3, 1e-3 * T), T) for T in (1, 2, 4, 8)]
    rows += [row("op", "few", 1.0, T) for T in (8, 16, 64)] + [row("other", "x", 1.0)]
    assert exponents(rows) == {("op", "square"): pytest.approx(2.0), ("op", "line"): pytest.approx(1.0)}


def test_the_chosen_path_is_compared_with_the_best_one() -> None:
    rows = [row(command.ONE_BAND, "direct", 1.0, 128), row(command.ONE_BAND, "halfplane", 4.0, 128)]
    rows += [row(command.ONE_BAND, "direct", 9.0, 2**17), row(command.ONE_BAND, "halfplane", 1.0, 2**17)]
    found = command.chooser(rows)
    assert [(v.goal.T, v.ratio, v.met) for v in found] == [(128, 1.0, True), (2**17, 1.0, True)]
    rows[0]["p50"] = 8.0
    assert command.chooser(rows)[0].met is False


def test_numbers_have_units() -> None:
    assert [duration(x) for x in (12.0, 0.0345, 2e-5, 3e-8)] == ["12 s", "34.5 ms", "20 µs", "30 ns"]
    assert [size(x) for x in (None, 5, 3 * 2**20, 1.5 * 2**30)] == ["–", "< 0.5 MiB", "3 MiB", "1.5 GiB"]


def test_the_page_names_a_missed_goal_and_escapes() -> None:
    evil = "<script>alert(1)</script>"
    result = {
        "machine": {"cpu": evil, "cores": "2", "system": evil, "python": "3", "commit": evil},
        "versions": {"numpy": "2"},
        "rows": [*(row(evil, evil, 2.0 * T, T) for T in (64, 128, 256)), row(evil, "b", 64.0, 64)],
        "gpu": {"name": evil, "share_of_peak": {"64": 0.5}},
        "exponents": [{"op": evil, "path": "a", "exponent": 1.5}],
        "goals": [
            {"op": evil, "T": 64, "slow": "a", "fast": "b", "of": "p50", "goal": 3.0, "ratio": 2.0, "met": False}
        ],
    }
    text = page(result)
    assert evil not in text
    assert "missed" in text
    assert "width:50.0%" in text


def test_what_was_timed_at_three_lengths_is_drawn() -> None:
    rows = [row("few", "x", 1.0, T) for T in (1, 2)] + [row("one", "x", 1.0)]
    rows += [row("many", path, T / 8, T) for T in (32, 8, 16) for path in ("a", "b") if (path, T) != ("b", 32)]
    assert curves(rows) == {"many": {"a": [(8, 1.0), (16, 2.0), (32, 4.0)], "b": [(8, 1.0), (16, 2.0)]}}
