"""Models with hand-made heads: the walk must find what was put in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from numerics import load_model
from numerics.circuits import head_circuits
from tests.circuits.walked import COPIES, PERIOD, V, hand_made_gpt2
from tests.positional.walked import save_text


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_text(tmp_path_factory.mktemp("text") / "words.txt", 2000, V)


def walk(folder: Path, text: Path, **options: Any) -> Any:
    model = load_model(str(folder), dtype="float64")
    return head_circuits(model, period=PERIOD, copies=COPIES, seeds=3, text=[text], **options)


@pytest.fixture(scope="module", params=["folded", "raw"])
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, text: Path) -> Any:
    folder = hand_made_gpt2(tmp_path_factory.mktemp("two-layers"))
    return walk(folder, text, pairs="0.0,0.1,1.0", form=request.param)


def test_the_heads_do_what_they_were_made_for(found: Any) -> None:
    """Scores > .99: MATCH is 20 above e^−20·40 for all other keys."""
    for layer, head, kind in [(0, 0, "previous_token"), (0, 1, "first_token"), (1, 0, "induction")]:
        scores = found["behaviour"].sel(layer=layer, head=head)
        assert float(scores.sel(kind=kind)) > 0.99
        others = [other for other in scores["kind"].values if other not in (kind, "direct_copying")]
        assert float(scores.sel(kind=others).max()) < 0.01
        assert float(found["behaviour_sd"].sel(layer=layer, head=head, kind=kind)) < 1e-6


def test_the_induction_heads_keys_are_composed_with_the_previous_token_head(found: Any) -> None:
    composition = found["composition"]
    best = composition.stack(pair=composition.dims).dropna("pair").idxmax("pair").item()
    assert dict(zip(composition.dims, best, strict=True)) == {
        "later_layer": 1, "later_head": 0, "layer": 0, "head": 0, "composition_kind": "K"
    }  # fmt: skip
    # Both L₂ᵀ and OV₁ are multiples of partial isometries of rank V on one subspace: √V/(√V √V).
    assert float(composition.max()) == pytest.approx(V**-0.5, rel=1e-9)
    mean, sd = (
        float(found[name].sel(composition_kind="K")) for name in ("composition_baseline", "composition_baseline_sd")
    )
    assert float(composition.max()) > mean + 10 * sd


def test_the_induction_head_copies_and_the_second_copy_is_foretold(found: Any) -> None:
    assert float(found["copying"].sel(layer=1, head=0)) == pytest.approx(1.0, abs=1e-9)
    assert float(found["behaviour"].sel(layer=1, head=0, kind="direct_copying")) == 1.0
    assert float(found["loss"].sel(copy=1)) < float(found["loss"].sel(copy=0)) - 0.5


def test_the_virtual_head_looks_at_the_earlier_copy(found: Any) -> None:
    """The token before the one after the earlier copy."""
    assert found["virtual"].values.tolist() == ["0.0→1.0", "0.1→1.0"]
    virtual = found["virtual_behaviour"]
    assert float(virtual.sel(virtual="0.0→1.0", kind="duplicate_token")) > 0.99
    assert float(virtual.sel(virtual="0.1→1.0", kind="first_token")) > 0.99


def test_tables_of_the_induction_head_are_its_copying(found: Any) -> None:
    """OV raises each token itself and nothing else; every value is the same, so ids break the ties."""
    pairs = found.sel(chosen="1.0", circuit="OV")
    kept = pairs["pair_left"].values >= 0
    tokens = int(found.attrs["pair_tokens"])
    assert tokens == V - 5
    first = pairs.isel(rank=slice(0, tokens))
    assert np.array_equal(first["pair_left"], first["pair_right"])
    assert set(first["pair_left"].values.tolist()) == set(range(5, V))
    assert pairs["pair_left_token"].values[kept].tolist() == [f"w{i}" for i in pairs["pair_left"].values[kept]]
    assert "trigram_source" in found


def test_a_one_layer_copying_head_has_score_one(tmp_path: Path, text: Path) -> None:
    found = walk(hand_made_gpt2(tmp_path / "one", layers=1), text)
    assert float(found["copying"].sel(layer=0, head=0)) == pytest.approx(1.0, abs=1e-9)
    assert float(found["behaviour"].sel(layer=0, head=0, kind="direct_copying")) == 1.0
    assert float(found["behaviour"].sel(layer=0, head=0, kind="previous_token")) > 0.99
    assert bool(found["composition"].isnull().all())
    assert bool(found["composition_baseline"].isnull().all())
