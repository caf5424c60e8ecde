"""The entries, by subject."""

from checks.ledger.entries import bands, circuits, denominators, kernels, profiles, rotations
from checks.ledger.entry import Entry

ENTRIES: tuple[Entry, ...] = (
    *profiles.ENTRIES,
    *kernels.ENTRIES,
    *denominators.ENTRIES,
    *rotations.ENTRIES,
    *bands.ENTRIES,
    *circuits.ENTRIES,
)
