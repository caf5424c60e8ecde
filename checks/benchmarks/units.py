"""Times, sizes and lengths as a reader wants them."""

from __future__ import annotations


def duration(seconds: float) -> str:
    """With a unit that leaves one to three digits before the point."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


RESOLUTION = 2**19
"""What the kernel's count of pages can be off by, in batches, over the threads."""


def size(count: float | None) -> str:
    if count is None:
        return "–"
    if count < RESOLUTION:
        return "< 0.5 MiB"
    return f"{count / 2**30:.3g} GiB" if count >= 2**30 else f"{count / 2**20:.3g} MiB"


def tokens(length: int | None) -> str:
    return "–" if length is None else f"{length:,}".replace(",", "\u202f")
