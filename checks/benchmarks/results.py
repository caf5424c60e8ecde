"""From what pytest-benchmark wrote to the rows of a run, its machine and its commit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

PACKAGES = ("numpy", "scipy", "torch", "transformers", "numba", "pytest-benchmark")

Written = Mapping[str, Any]


def rows(written: Written, peaks: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """`{op, path, T, bands, p20, p50, p80, bytes}` per path: percentiles, in seconds, over the calls of all turns."""
    seconds: dict[tuple[Any, ...], list[float]] = defaultdict(list)
    for benchmark in written["benchmarks"]:
        info = benchmark["extra_info"]
        seconds[info["op"], info["path"], info["T"], info["bands"]] += benchmark["stats"]["data"]
    memory = {(peak["op"], peak["path"], peak["T"]): peak["bytes"] for peak in peaks}
    found = []
    for (op, path, T, bands), data in seconds.items():
        p20, p50, p80 = np.percentile(data, [20, 50, 80]).tolist()
        found.append(
            {"op": op, "path": path, "T": T, "bands": bands, "p20": p20, "p50": p50, "p80": p80}
            | {"bytes": memory.get((op, path, T))}
        )
    return found


def machine(written: Written) -> dict[str, str]:
    """What the numbers were measured on; no name of the machine."""
    info, commit = written["machine_info"], written["commit_info"]
    cpu = info.get("cpu", {})
    return {
        "cpu": str(cpu.get("brand_raw") or info["machine"]),
        "cores": str(cpu.get("count") or "unknown"),
        "system": f"{info['system']} {info['release']}",
        "python": info["python_version"],
        "commit": str(commit.get("id") or "unknown") + (" with changes" if commit.get("dirty") else ""),
    }


def versions() -> dict[str, str]:
    return {name: version(name) for name in PACKAGES}
