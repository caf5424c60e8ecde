"""Nodes are added where they are needed, the residual tells, and nothing of size T × T is ever made."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from numerics.bands.entropy import by_parts, entropy_attribution
from numerics.bands.entropy.quadrature import graded
from numerics.bands.entropy.reference import entropy_attribution_reference
from tests.bands.entropy.cases import Heads, random_heads


@pytest.fixture
def rules_tried(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Numbers of nodes, in the order tried."""
    tried: list[int] = []
    for name in ("by_parts_weights", "capped_weights"):
        original = getattr(by_parts, name)

        def spy(*arguments: Any, original: Any = original) -> Any:
            tried.append(len(arguments[-1].nodes))
            return original(*arguments)

        monkeypatch.setattr(by_parts, name, spy)
    return tried


@pytest.mark.parametrize(
    ("spread", "softcap", "most"),
    [(1.0, None, 16), (9.0, None, 32), (25.0, None, 64), (1000.0, None, 300), (1.0, 50.0, 16), (5.0, 20.0, 32)],
)
def test_nodes_are_added_until_the_block_is_complete(
    rules_tried: list[int], spread: float, softcap: float | None, most: int
) -> None:
    heads = random_heads(20, heads=1, length=64, rest=2, spread=spread, softcap=softcap)
    found = entropy_attribution(heads.q, heads.k, **heads.arguments)
    assert rules_tried == [16, 32, 64, rules_tried[-1]][: len(rules_tried)]
    assert most / 2 < rules_tried[-1] <= most
    assert found.residual.max() <= 1e-6
    rules_tried.clear()
    entropy_attribution(heads.q, heads.k, **heads.arguments, tolerance=1e9)
    assert rules_tried == [16]


@pytest.mark.parametrize("softcap", [None, 30.0])
@pytest.mark.parametrize("length", [64, 65, 129])
@pytest.mark.parametrize("spread", [3.0, 8.0, 20.0])
def test_the_residual_tells_the_error_of_every_band(spread: float, length: int, softcap: float | None) -> None:
    heads = random_heads(21, length=length, rest=2, spread=spread, softcap=softcap)
    found = entropy_attribution(heads.q, heads.k, **heads.arguments)
    rows = entropy_attribution_reference(heads.q, heads.k, graded(4 * heads.largest), **heads.arguments)
    exact = rows.sum(axis=1)
    # One row's share errs by at most twice the largest residual of its block (BANDS: the block's maximum agrees with
    # the largest band error within 2 ×), and at most `length` of them add up.
    allowed = 2 * length * found.residual + heads.rounding
    assert (np.abs(found.bands - exact[:, : heads.n_bands]).max(axis=1) <= allowed).all()
    assert (np.abs(found.unrotated - exact[:, heads.n_bands]) <= allowed).all()
    assert (np.abs(found.bands.sum(axis=1) + found.unrotated - found.entropy) <= length * found.residual).all()


def test_the_residual_is_the_worst_of_all_blocks() -> None:
    """An early block of wild queries shows, although the later ones are tame."""
    heads = random_heads(22, heads=1, length=256, spread=0.1)
    heads.q[:, 40] *= 1e14
    assert entropy_attribution(heads.q, heads.k, **heads.arguments).residual[0] > 1e-6
    heads.q[:, 40] *= 1e-14
    assert entropy_attribution(heads.q, heads.k, **heads.arguments).residual[0] < 1e-12


class Fresh(TorchDispatchMode):
    """The most numbers in one tensor that torch made on memory of its own."""

    largest = 0

    def __torch_dispatch__(self, call: Any, types: Any, arguments: Any = (), options: Any = None) -> Any:
        result = call(*arguments, **(options or {}))
        given = [x for x in (*arguments, *(options or {}).values()) if isinstance(x, torch.Tensor)]
        if isinstance(result, torch.Tensor):
            known = {x.untyped_storage().data_ptr() for x in given}
            if result.untyped_storage().data_ptr() not in known and call is not torch.ops.aten.lift_fresh.default:
                self.largest = max(self.largest, result.numel())
        return result


def peak(heads: Heads) -> int:
    """Bytes that one call takes in numpy."""
    tracemalloc.start()
    entropy_attribution(heads.q, heads.k, **heads.arguments)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


@pytest.mark.parametrize("softcap", [None, 50.0])
def test_memory_grows_with_the_length_and_not_with_its_square(softcap: float | None) -> None:
    peaks = [peak(random_heads(23, heads=1, length=length, softcap=softcap)) for length in (256, 512, 1024)]
    # A few arrays of 64 × T and what does not grow: at most twice for twice the length. T × T of one byte is 1 MiB.
    assert peaks[1] <= 2.1 * peaks[0]
    assert peaks[2] <= 2.1 * peaks[1]
    assert peaks[2] <= 12 * 64 * 1024 * 8
    heads = random_heads(23, heads=1, length=512, softcap=softcap)
    with Fresh() as mode:
        entropy_attribution(heads.q, heads.k, **heads.arguments)
    assert 0 < mode.largest <= 64  # denominators: torch itself holds nothing that grows
    windowed = random_heads(23, heads=1, length=1024, softcap=softcap, window=64)
    assert peak(windowed) <= peaks[2] / 3
