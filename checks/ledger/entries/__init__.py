"""The entries of all subjects."""

from checks.ledger.entries import bands, circuits, denominators, kernels, profiles, rotations, tables
from checks.ledger.entry import Entry
from checks.ledger.site import LayerSite
from checks.ledger.tables import TableSite

_OF_SUBJECTS = (
    *profiles.ENTRIES,
    *kernels.ENTRIES,
    *denominators.ENTRIES,
    *rotations.ENTRIES,
    *bands.ENTRIES,
    *circuits.ENTRIES,
)

ENTRIES: tuple[Entry[LayerSite], ...] = tuple(sorted(_OF_SUBJECTS, key=lambda entry: entry.section))
"""In the order of the sections of MATH.md."""
TABLES: tuple[Entry[TableSite], ...] = tables.ENTRIES
"""What holds of the tables that the commands save."""
