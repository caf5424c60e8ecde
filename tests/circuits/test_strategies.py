"""The comparison refuses wrong answers."""

from __future__ import annotations

import numpy as np

from tests.circuits.strategies import close


def test_close_refuses_planted_faults() -> None:
    right = np.array([1.0, 100.0])
    assert close(right, right * (1 + 1e-12))
    assert not close(right * 1.01, right)
    assert not close(right, right + 1e-3)
    assert not close(right[:1], right)
    assert not close([np.nan, 1.0], [np.nan, 1.0])
