"""The report: a static site with what was measured of every head, that opens from disk with the network off.

Public: `write(datasets, out)`, `attribution_page(dataset, out)`, `check_place(out)`, `DEFAULT_DISTANCES`. How a page
or a section of the head card is added: `numerics.report.pages`.
"""

from numerics.report.single import attribution_page
from numerics.report.site import check_place, write

# Distances (query − key) that a report measures on models with rotary positions.
DEFAULT_DISTANCES = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)

__all__ = ["DEFAULT_DISTANCES", "attribution_page", "check_place", "write"]
