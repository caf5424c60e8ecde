"""Times, sizes and lengths as a reader wants them."""

from __future__ import annotations


def duration(seconds: float) -> str:
    """With a unit that leaves one to three digits before the point."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def size(count: float | None) -> str:
    if count is None:
        return "–"
    for unit, step in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= step:
            return f"{count / step:.3g} {unit}"
    return f"{count:.0f} B"


def tokens(length: int | None) -> str:
    return "–" if length is None else f"{length:,}".replace(",", "\u202f")
