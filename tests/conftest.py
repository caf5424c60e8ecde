"""Rules of the whole suite: how Hypothesis runs, and that no test is skipped without being listed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import xarray as xr
from hypothesis import settings

if TYPE_CHECKING:
    from numerics import Model

# No clock, the same examples in every run, and a failure that can be replayed.
settings.register_profile("ci", deadline=None, print_blob=True, derandomize=True, max_examples=200)
settings.register_profile("nightly", deadline=None, print_blob=True, max_examples=10_000)
settings.load_profile("ci")

SKIPS = Path(__file__).with_name("skips.txt")
_unlisted: list[str] = []


def listed_skips() -> tuple[str, ...]:
    """Node ids (or their beginnings) that `skips.txt` allows to be skipped."""
    lines = SKIPS.read_text(encoding="utf-8").splitlines()
    return tuple(line.split("  ", 1)[0] for line in lines if line and not line.startswith("#"))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.skipped and not hasattr(report, "wasxfail") and not report.nodeid.startswith(listed_skips()):
        _unlisted.append(report.nodeid)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if _unlisted and not hasattr(session.config, "workerinput"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for nodeid in _unlisted:
        terminalreporter.write_line(f"SKIPPED without being listed in tests/skips.txt: {nodeid}", red=True)


@pytest.fixture(scope="session")
def keep() -> Callable[[xr.Dataset], xr.Dataset]:
    """Save a result of a real model, where `python -m checks all` has the ledger measure it as it was saved."""
    from checks.__main__ import DATASETS
    from numerics.results import save

    def kept(result: xr.Dataset) -> xr.Dataset:
        DATASETS.mkdir(parents=True, exist_ok=True)
        command = str(result.attrs["created_by"])
        made_from = command + str(result.attrs.get("text_sha256", ""))
        name = f"{result.attrs['model']}-{command.split()[1]}-{hashlib.sha256(made_from.encode()).hexdigest()[:8]}"
        save(result, DATASETS / f"{name}.nc")
        return result

    return kept


@pytest.fixture(scope="session")
def tiny_llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A rotary model of 2 layers and 4 heads as a safetensors folder."""
    from tests.models.tiny import save_tiny

    return save_tiny("llama", tmp_path_factory.mktemp("models") / "llama")


@pytest.fixture(scope="session")
def tiny_profile(tiny_llama: Path) -> xr.Dataset:
    from numerics import load_model, profile

    return profile(load_model(str(tiny_llama)), distances=(0, 3))


@pytest.fixture(scope="module")
def walkable(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Model]:
    """Tiny models with a tokenizer, by case, in float64; each is built once in a module."""
    from numerics import load_model
    from tests.positional.walked import save_walkable

    folder = tmp_path_factory.mktemp("walkable")
    loaded: dict[str, Model] = {}

    def load(case: str) -> Model:
        if case not in loaded:
            loaded[case] = load_model(str(save_walkable(case, folder / case)), dtype="float64")
        return loaded[case]

    return load
