"""Every benchmark holds its paths to one another, and would notice a path that is wrong. No time is asserted."""

from __future__ import annotations

import subprocess
import sys
from copy import deepcopy
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_limits

from checks.benchmarks import operations
from checks.benchmarks.case import Calls, apart
from tests.bands.activation.test_tiles import environment

HERE = [name for name in operations.NAMES if not operations.missing(name)]


def half_a_percent_off(found: Any) -> Any:
    """The same, its largest number wrong: five times the widest of the tolerances, that of float32 gradients."""
    numbers = np.array(found)
    numbers.flat[int(np.abs(numbers).argmax())] *= 1.005
    return numbers


@pytest.mark.parametrize("name", HERE)
def test_paths_agree_and_a_wrong_one_is_noticed(name: str) -> None:
    for op in {case.op for case in operations.cases(name)}:
        case = next(case for case in operations.cases(name) if case.op == op)  # the smallest
        with threadpool_limits(1):
            found = {path: call() for path, call in case.build().items()}
        assert tuple(found) == case.paths
        calls = {path: partial(deepcopy, numbers) for path, numbers in found.items()}
        assert case.error(calls) <= 1
        for path, numbers in found.items():
            assert case.error({**calls, path: partial(half_a_percent_off, numbers)}) > 1, path


@pytest.mark.parametrize("name", HERE)
def test_rows_are_told_apart(name: str) -> None:
    keys = [case.key for case in operations.cases(name)]
    assert len(set(keys)) == len(keys)


def test_the_distance_is_the_largest_and_relative_where_asked() -> None:
    calls: Calls = {"a": lambda: [1.0, -200.0], "b": lambda: [1.0, -200.5], "c": lambda: [1.2, -200.0]}
    assert apart(0.1)(calls) == pytest.approx(5)
    assert apart(0.1, relative=True)(calls) == pytest.approx(5 / 200)


GPU_PATHS = """
from checks.benchmarks.operations.activation_gpu import cases, missing, share_of_peak

assert missing() == ""
found = cases(heads=2, bands=2, lengths=[17, 65], alone=1, crossover=[65])
assert [case.paths for case in found] == [("by rows", "triton", "strips")] * 2 + [("triton", "halfplane")]
for case in found:
    calls = dict(case.build())
    assert case.error(calls) <= 1, case
    for path in case.paths:
        assert case.error({**calls, path: lambda: 1.01 * calls[path]()}) > 1, path
    assert case.peak(calls["triton"]) >= 0
row = {"op": "total activation, GPU", "path": "triton", "T": 3, "bands": 2, "p50": 1.0}
assert share_of_peak([row], instructions=100.0) == {3: 0.75 * 2 * 12 / 100}
"""


def test_the_gpu_paths_agree() -> None:
    chosen = environment() if torch.cuda.is_available() else environment(TRITON_INTERPRET="1")
    ran = subprocess.run([sys.executable, "-c", GPU_PATHS], env=chosen, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr[-4000:]
