"""Tiny models, saved and loaded once per run, and the rotary report at the end of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from numerics.models import Model, load_model
from tests.models.tiny import V, save_tiny

LENGTH = 14


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Model]:
    """`tiny(case)`: the model of a case, saved as a safetensors folder and loaded by the project in float64."""
    folder, loaded = tmp_path_factory.mktemp("tiny"), dict[str, Model]()

    def load(case: str) -> Model:
        if case not in loaded:
            loaded[case] = load_model(str(save_tiny(case, Path(folder) / case)), dtype="float64")
        return loaded[case]

    return load


@pytest.fixture
def ids() -> torch.Tensor:
    """One text (1, T) without special tokens, longer than the windows of the tiny models."""
    return torch.randint(5, V, (1, LENGTH), generator=torch.Generator().manual_seed(1))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    rows = sorted(
        (properties["case"], properties["rotary_gap"])
        for report in terminalreporter.stats.get("passed", [])
        if "rotary_gap" in (properties := dict(report.user_properties))
    )
    if rows:
        terminalreporter.section("rotary: model's float32 angles against exact ones")
        terminalreporter.write_line("worst gap over eps32·(1 + position)·Σ|q_b||k_b| (allowed: 4)")
        for case, gap in rows:
            terminalreporter.write_line(f"  {case:32s} {gap:.2f}")
