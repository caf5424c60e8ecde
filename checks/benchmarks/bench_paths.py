"""Every path of every case: held to the others first, then timed with pytest-benchmark.

`python -m checks bench` runs this and writes the page. By itself, with all that pytest-benchmark offers:
`python -m pytest -c checks/benchmarks/pytest.ini checks/benchmarks --only entropy --benchmark-compare`.
"""

from __future__ import annotations

from typing import Any

import pytest
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from checks.benchmarks import operations
from checks.benchmarks.case import Calls, Case


def chosen(config: pytest.Config) -> list[str]:
    """The operations asked for, or all that can run here."""
    asked = [name for name in str(config.getoption("only")).split(",") if name]
    return asked or [name for name in operations.NAMES if not operations.missing(name)]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """The paths of a case take turns, so that what slows the machine slows them all."""
    cases = [case for name in chosen(metafunc.config) for case in operations.cases(name)]
    turns = [(case, turn, path) for case in cases for turn in range(case.turns) for path in case.paths]
    names = [f"{case.key}-{turn}-{path}" for case, turn, path in turns]
    metafunc.parametrize(("case", "turn", "path"), turns, ids=names)


class Held:
    """The calls of the case at hand, and how far its paths are apart; one case at a time is held in memory."""

    def __init__(self) -> None:
        self.case: Case | None = None
        self.calls: Calls = {}
        self.error = float("nan")

    def take(self, case: Case) -> None:
        self.case, self.calls, self.error = case, {}, float("nan")
        self.calls = case.build()
        self.error = case.error(self.calls)


@pytest.fixture(scope="session")
def held() -> Held:
    return Held()


def test_path(held: Held, case: Case, turn: int, path: str, benchmark: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with threadpool_limits(case.threads):
        if case is not held.case:
            held.take(case)
            with capsys.disabled():
                print(
                    f"\n{case.key}: {', '.join(case.paths)}; apart by {held.error:.1e} of what is allowed", flush=True
                )
            assert held.error <= 1, "the paths disagree: none is timed"
        if not held.error <= 1:
            pytest.skip("the paths of this case disagree")
        benchmark.group = case.key
        benchmark.extra_info.update(op=case.op, path=path, T=case.T, bands=case.bands)
        benchmark.pedantic(held.calls[path], rounds=case.rounds, warmup_rounds=int(turn == 0))
