"""The entries of all subjects."""

from checks.ledger.entries import bands, circuits, denominators, kernels, profiles, rotations
from checks.ledger.entry import Entry

_OF_SUBJECTS = (
    *profiles.ENTRIES,
    *kernels.ENTRIES,
    *denominators.ENTRIES,
    *rotations.ENTRIES,
    *bands.ENTRIES,
    *circuits.ENTRIES,
)

ENTRIES: tuple[Entry, ...] = tuple(sorted(_OF_SUBJECTS, key=lambda entry: entry.section))
"""In the order of the sections of MATH.md."""
