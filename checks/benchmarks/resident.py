"""Peak memory of every path of an operation: `python -m checks.benchmarks.resident OPERATION` prints a row per path.

The number is what the process holds at most during a call, above what it held before: whoever allocates counts (numpy,
torch, compiled code). Small allocations would hide in pages that earlier calls left behind, so this runs in a process
of its own in which every larger block is taken from the system and given back, without huge pages. Linux only.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from checks.benchmarks import operations

GIVING_BACK = {"MALLOC_MMAP_THRESHOLD_": "16384", "MALLOC_TRIM_THRESHOLD_": "0", "MALLOC_ARENA_MAX": "1"}
NO_HUGE_PAGES = 41
"""PR_SET_THP_DISABLE of prctl(2)."""


def status(key: str) -> int:
    """Bytes of a line of /proc/self/status."""
    with open("/proc/self/status", encoding="ascii") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(key))


def peak(call: Callable[[], Any]) -> int:
    """Bytes that the process holds at most during a call, above what it held before."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/clear_refs", "w", encoding="ascii") as reset:
        reset.write("5")  # sets the peak back to the present value
    before = status("VmRSS")
    call()
    return max(0, status("VmHWM") - before)


def peaks(name: str) -> list[dict[str, Any]]:
    """`{op, T, path, bytes}` of every path of an operation, each after a first call."""
    rows = []
    for case in operations.cases(name):
        with threadpool_limits(case.threads):
            for path, call in case.build().items():
                call()
                rows.append({"op": case.op, "T": case.T, "path": path, "bytes": (case.peak or peak)(call)})
    return rows


def environment() -> dict[str, str]:
    """In which the C library gives back what is freed."""
    return {**os.environ, **GIVING_BACK}


def measured(name: str) -> list[dict[str, Any]] | None:
    """The same from a process of its own: empty where the system is not Linux, None if the process failed."""
    if not sys.platform.startswith("linux"):
        return []
    command = [sys.executable, "-m", "checks.benchmarks.resident", name]
    ran = subprocess.run(command, env=environment(), stdout=subprocess.PIPE, text=True, check=False)
    if ran.returncode:
        return None
    found: list[dict[str, Any]] = json.loads(ran.stdout.splitlines()[-1])
    return found


if __name__ == "__main__":
    ctypes.CDLL(None).prctl(NO_HUGE_PAGES, 1, 0, 0, 0)
    print(json.dumps(peaks(sys.argv[1])))
