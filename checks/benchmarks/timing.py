"""Timing paths of one operation side by side, and the machine that the numbers belong to."""

from __future__ import annotations

import os
import platform
import subprocess
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np


def timed(paths: dict[str, Callable[[], object]], repeats: int) -> dict[str, list[float]]:
    """Seconds per call; the paths take turns, so that what slows the machine slows them all."""
    for call in paths.values():
        call()
    seconds: dict[str, list[float]] = {name: [] for name in paths}
    for _ in range(repeats):
        for name, call in paths.items():
            start = time.perf_counter()
            call()
            seconds[name].append(time.perf_counter() - start)
    return seconds


def row(op: str, path: str, call: Callable[[], object], seconds: list[float]) -> dict[str, Any]:
    """One line of the result file."""
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    p20, p50, p80 = np.percentile(seconds, [20, 50, 80]).tolist()
    return {"op": op, "path": path, "T": None, "bands": None, "p20": p20, "p50": p50, "p80": p80, "bytes": peak}


def machine() -> dict[str, str]:
    """What the numbers were measured on."""
    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False).stdout.strip()
    return {
        "cpu": platform.processor() or platform.machine(),
        "cores": str(os.cpu_count()),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "commit": commit or "unknown",
    }
