"""Whether content survives a shift: the assumption under every split into position and content.

The same token ids are read at positions + δ, nothing prepended. `E` and `E'` are what the attention reads minus the
mean at its position. Source: the article on positional kernels, which leaves the assumption unvalidated.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float64]


@dataclass
class Survival:
    """Sums over texts and positions; `value` is the share of content variance that the shift leaves as it was."""

    changed: float = 0.0
    total: float = 0.0

    def add(self, content: Float, shifted: Float) -> None:
        """Contents `E` and `E'` (…, D) of the same tokens without and with the shift."""
        self.changed += float(np.sum((shifted - content) ** 2))
        self.total += float(np.sum(shifted**2) + np.sum(content**2))

    def merge(self, other: Survival) -> None:
        """Take in the sums of other texts."""
        self.changed += other.changed
        self.total += other.total

    @property
    def value(self) -> float:
        """`1 − Σ‖E' − E‖²/(Σ‖E'‖² + Σ‖E‖²)`: 1 unchanged, 0 unrelated, −1 reversed; 1 where there is no content."""
        return 1 - self.changed / self.total if self.total > 0 else 1.0
