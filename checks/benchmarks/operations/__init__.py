"""The operations that are timed: a module each, with its `CASES` and, where it needs more, why it is `missing`."""

from __future__ import annotations

import importlib

from checks.benchmarks.case import Case

NAMES = ["profiles", "kernels", "activation", "activation_gpu", "entropy", "attribution", "fisher", "peers"]


def cases(name: str) -> tuple[Case, ...]:
    """The cases of an operation, those of the smallest size first."""
    found: tuple[Case, ...] = importlib.import_module(f"{__name__}.{name}").CASES
    return found


def missing(name: str) -> str:
    """Why an operation cannot run here, or ''."""
    reason = getattr(importlib.import_module(f"{__name__}.{name}"), "missing", None)
    return str(reason()) if reason is not None else ""
