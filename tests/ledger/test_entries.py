"""The statements hold on tiny models of different kinds, and each notices a fault in what it speaks about."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from checks.ledger.entries import ENTRIES, profiles
from checks.ledger.entries import kernels as kernel_entries
from checks.ledger.entry import Entry
from checks.ledger.site import LayerSite
from checks.ledger.walk import Measured, measure
from numerics import Model
from numerics.forms import description
from numerics.positional import denominators, spread
from tests.positional.walked import save_text

CASES = ["gpt2", "bert", "bloom", "llama", "gemma3", "gemma2", "gpt_neox", "t5"]
Load = Callable[[str], Model]


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return [save_text(tmp_path_factory.mktemp("text") / "words.txt", 2000)]


@pytest.mark.parametrize("case", CASES)
def test_every_statement_that_applies_holds(case: str, walkable: Load, text: list[Path]) -> None:
    found = measure(walkable(case), ENTRIES, text)
    assert [measured.entry.claim for measured in found if measured.holds is False] == []
    assert sum(measured.holds is True for measured in found) > len(ENTRIES) / 2
    for measured in found:
        assert measured.holds is not None or measured.unsuited or measured.numbers == 0


def failing(model: Model, entries: Sequence[Entry[LayerSite]], text: list[Path]) -> set[str]:
    found: list[Measured] = measure(model, entries, text)
    return {name for measured in found if measured.holds is False for name in measured.entry.theorems}


def test_a_wrong_count_is_noticed(walkable: Load, text: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    true = spread.effective_token_count
    monkeypatch.setattr(spread, "effective_token_count", lambda kernel: true(kernel) - 0.001)
    assert "ETC_uniform" in failing(walkable("llama"), kernel_entries.ENTRIES, text)
    monkeypatch.setattr(spread, "effective_token_count", lambda kernel: 1 / (kernel**2).sum(-1) ** 2)
    assert {"ETC_uniform", "ETC_le"} <= failing(walkable("llama"), kernel_entries.ENTRIES, text)


def test_a_bound_that_is_too_small_is_noticed(
    walkable: Load, text: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from checks.ledger.entries import denominators as entries

    true = denominators.chebyshev_bound
    monkeypatch.setattr(denominators, "chebyshev_bound", lambda *given: true(*given) / 4)
    assert "chebyshev_denominator" in failing(walkable("gpt2"), entries.ENTRIES, text)
    mean = denominators.predicted_mean
    monkeypatch.setattr(denominators, "predicted_mean", lambda *given: mean(*given) * (1 + 1e-9))
    assert "denominator_mean" in failing(walkable("gpt2"), entries.ENTRIES, text)


def test_an_output_that_moves_further_than_its_denominator_is_noticed(
    walkable: Load, text: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from checks.ledger.entries import denominators as entries

    true = entries.frozen

    def tighter(site: LayerSite) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        output, still, share = true(site)
        return output, still, 1e-3 * share

    monkeypatch.setattr(entries, "frozen", tighter)
    assert failing(walkable("gpt2"), entries.ENTRIES, text) == {"frozen_denominator", "frozen_denominator_heads"}


def test_a_wrong_profile_is_noticed(walkable: Load, text: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    true = profiles.antisymmetric_energy
    monkeypatch.setattr(profiles, "antisymmetric_energy", lambda form: true(form) * (1 + 1e-6))
    assert "frob_split" in failing(walkable("gpt2"), profiles.ENTRIES, text)
    numbers = description.describe
    monkeypatch.setattr(profiles, "describe", lambda form, noise=0.0: numbers(2 * form + np.eye(len(form)), noise))
    found = measure(walkable("gpt2"), profiles.ENTRIES, text)
    assert any(m.holds is False for m in found if "forms.description.describe" in m.entry.functions)


def test_a_wrong_band_is_noticed(walkable: Load, text: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    from checks.ledger.entries import bands

    total, shares, pair = bands.total_activation, bands.entropy_attribution, bands.pair_attribution

    def off(*given: Any, **options: Any) -> Any:
        return total(*given, **options) * (1 + 1e-9 * (options["path"] == "halfplane"))

    def flat(*given: Any, **options: Any) -> Any:
        found = shares(*given, **options)
        return replace(found, bands=found.bands * 1.01)

    def tilted(*given: Any, **options: Any) -> Any:
        found = pair(*given, **options)
        return replace(found, attribution=found.attribution + 1e-4 * np.arange(len(found.attribution))[:, None])

    monkeypatch.setattr(bands, "total_activation", off)
    monkeypatch.setattr(bands, "entropy_attribution", flat)
    monkeypatch.setattr(bands, "pair_attribution", tilted)
    found = failing(walkable("llama"), bands.ENTRIES, text)
    assert {"sweep_is_double_sum", "entropy_shares_sum", "attribution_over_keys", "attribution_over_bands"} <= found
    assert "score_band_split" not in found
    monkeypatch.setattr(bands, "scale_bands", lambda q, theta, pairing: 0 * q)
    assert "zeroing_bands_moves_at_most" in failing(walkable("llama"), bands.ENTRIES, text)


def test_a_wrong_circuit_is_noticed(walkable: Load, text: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    from checks.ledger.entries import circuits

    true, product = circuits.composition, circuits.copying_product
    monkeypatch.setattr(circuits, "composition", lambda reads, writes: true(reads[[1, 0, 2]], writes))
    monkeypatch.setattr(circuits, "copying_product", lambda v, o, cross: product(v, o, cross.T))
    monkeypatch.setattr(circuits, "virtual_pattern", lambda later, earlier: earlier @ later)
    found = measure(walkable("gpt2"), circuits.ENTRIES, text)
    claims = {measured.entry.claim for measured in found if measured.holds is False}
    assert any("Frobenius ratios" in claim for claim in claims)
    assert any("virtual head" in claim for claim in claims)
    assert any("power sums" in claim for claim in claims)
