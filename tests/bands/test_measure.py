"""The walk over a model: bands are those of the scores and the entropy that the model itself computes."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

from numerics import Model, load_model, results
from numerics.bands.measure import BandSums, band_metrics
from numerics.bands.split import band_scores
from numerics.errors import InvalidArgument
from numerics.models.visitor import AttentionCall
from tests.bands.rotary import OTHERS, ROTARY
from tests.models.tiny import TINY, V
from tests.models.truth import InFloat64, observe
from tests.positional.walked import save_text, save_walkable

Load = Callable[[str], Model]
LENGTH = 14
MIN = np.finfo(np.float32).min / 2


def text_ids(seed: int = 1) -> torch.Tensor:
    return torch.randint(5, V, (LENGTH,), generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("case", ROTARY)
def test_bands_sum_to_the_models_own_scores_and_entropy(case: str, walkable: Load) -> None:
    """Against the argument and the result of the model's softmax, in float64 throughout."""
    model, ids = walkable(case), text_ids()
    truth = observe(model, ids[None], float64=True)
    parts: dict[int, np.ndarray] = {}

    def keep(call: AttentionCall) -> None:
        q = call.q[0].numpy()
        k = call.k[0].numpy().repeat(len(q) // call.k.shape[1], axis=0)
        assert call.rotary is not None
        parts[call.layer] = band_scores(
            q[:, :, None], k[:, None], scale=call.scale, n_bands=call.rotary.n_bands, pairing=call.rotary.pairing
        )

    sums = BandSums(model, ("activation", "entropy"), None)
    with torch.no_grad(), InFloat64():
        with model.attention(keep):
            model.forward(ids[None])
        sums.add(ids.numpy())
    found = sums.values
    for layer in range(model.n_layers):
        seen, softcap = truth.scores[layer] > MIN, model.heads(layer).softcap
        scores = parts[layer].sum(axis=-1)
        if softcap is not None:
            scores = softcap * np.tanh(scores / softcap)
        # Scores of size below 100, sums of at most 24 terms: 24 · 100 · eps = 5e-13.
        assert np.abs(scores - truth.scores[layer])[seen].max() < 1e-10
        bands = model.positions.rotary(layer).n_bands  # type: ignore[union-attr]
        sizes = np.einsum("hijb,hij->hb", np.abs(parts[layer]), seen)
        np.testing.assert_allclose(found["activation"][layer], sizes[:, :bands], rtol=1e-11)
        np.testing.assert_allclose(found["activation_unrotated"][layer], sizes[:, bands:].sum(axis=-1), rtol=1e-11)

        p = truth.pattern[layer]
        entropy = -np.where(p > 0, p * np.log(np.where(p > 0, p, 1)), 0).sum(axis=-1)
        change = (entropy - np.log(seen.sum(axis=-1))).sum(axis=-1)
        together = found["entropy"][layer].sum(axis=-1) + found["entropy_unrotated"][layer]
        assert (found["residual"][layer] <= 1e-6).all()
        assert (change < -1e-3).all()
        np.testing.assert_allclose(found["entropy_change"][layer], change, rtol=0, atol=1e-10)
        assert (np.abs(together - change) <= LENGTH * found["residual"][layer] + 1e-10).all()
    partly = any(call.shape[-1] > found["activation"].shape[-1] for call in parts.values())
    assert partly == bool(found["activation_unrotated"].any()) == bool(found["entropy_unrotated"].any())


@pytest.mark.parametrize("case", ["gpt_neox", "gemma3", "gptj"])
def test_table_of_a_text(case: str, walkable: Load, tmp_path: Path) -> None:
    model = walkable(case)
    texts = [save_text(tmp_path / f"{seed}.txt", words, seed=seed) for seed, words in enumerate((40, 9, 16, 40, 40))]
    told: list[tuple[int, int]] = []
    metrics = ("activation", "entropy", "fisher")
    table = band_metrics(model, texts, tokens=52, length=16, metrics=metrics, progress=lambda *at: told.append(at))
    assert told == [(1, 3), (2, 3), (3, 3)]
    assert table.attrs["documents"] == 3
    assert table.attrs["text"] == "0.txt, 1.txt, 2.txt, 3.txt, 4.txt"
    # The document that is too short is passed over, longer ones are clipped, the last is not needed.
    sums = BandSums(model, ("activation", "entropy"), None)
    for place in (0, 2, 3):
        sums.add(np.array(model.vocabulary.tokenizer(texts[place].read_text())["input_ids"][:16]))
    for name, values in sums.values.items():
        assert np.array_equal(table[name], values), name
        assert table[name].dims == ("layer", "head", "band")[: values.ndim]
    for layer in range(model.n_layers):
        rotary = model.positions.rotary(layer)
        assert rotary is not None
        np.testing.assert_array_equal(table["frequency"][layer], rotary.frequencies)
        np.testing.assert_allclose(table["wavelength"][layer] * rotary.frequencies, 2 * math.pi)
    again = band_metrics(model, texts, tokens=52, length=16, metrics=metrics)
    results.save(table, tmp_path / "a.nc")
    results.save(again, tmp_path / "b.nc")
    assert (tmp_path / "a.nc").read_bytes() == (tmp_path / "b.nc").read_bytes()
    rows = results.to_table(table)
    assert list(rows.columns[:6]) == ["model", "layer", "head", "band", "frequency", "wavelength"]
    assert len(rows) == table["activation"].size
    row = rows[(rows["layer"] == 1) & (rows["head"] == 2) & (rows["band"] == 1)].iloc[0]
    assert row["entropy"] == float(table["entropy"].sel(layer=1, head=2, band=1))
    assert row["entropy_unrotated"] == float(table["entropy_unrotated"].sel(layer=1, head=2))


def test_a_layer_with_fewer_bands_is_padded(walkable: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bands that are left out of a layer's table join the dims that do not rotate."""
    model, text = walkable("gptj"), save_text(tmp_path / "words.txt", 20)
    whole = band_metrics(model, [text], length=16)
    tables = [model.positions.rotary(layer) for layer in range(model.n_layers)]
    assert tables[1] is not None
    tables[1] = dataclasses.replace(tables[1], frequencies=tables[1].frequencies[:2])
    monkeypatch.setitem(
        model.__dict__, "positions", dataclasses.replace(model.positions, rotary=lambda layer: tables[layer])
    )
    table = band_metrics(model, [text], length=16, metrics=("activation", "entropy", "fisher"))
    for name in ("activation", "entropy", "fisher", "frequency", "wavelength"):
        assert table[name].isel(layer=0).notnull().all()
        assert table[name].isel(layer=1, band=slice(0, 2)).notnull().all()
        assert table[name].isel(layer=1, band=slice(2, 4)).isnull().all()
    for name in ("activation", "entropy"):
        np.testing.assert_allclose(table[name][1, :, :2], whole[name][1, :, :2], rtol=0, atol=1e-9)
    moved = whole["entropy"][1, :, 2:].sum("band") + whole["entropy_unrotated"][1]
    np.testing.assert_allclose(table["entropy_unrotated"][1], moved, rtol=0, atol=1e-9)
    rows = results.to_table(table)
    assert len(rows) == model.n_heads * (4 + 2)
    assert rows["activation"].notna().all()
    results.save(table, tmp_path / "bands.nc")
    assert results.load(tmp_path / "bands.nc").identical(table)


def test_the_shipped_sample_is_read_where_no_text_is_given(walkable: Load) -> None:
    table = band_metrics(walkable("llama"), length=32, metrics=("activation",))
    assert table.attrs["documents"] == 2
    assert table.attrs["text"].startswith("shipped sample")
    assert set(table.data_vars) == {"activation", "activation_unrotated"}


class TestBadInput:
    def refused(self, model: Model, text: Sequence[Path], words: str, **arguments: object) -> None:
        with pytest.raises(InvalidArgument, match=words) as caught:
            band_metrics(model, text, **({"length": 16} | arguments))  # type: ignore[arg-type]
        assert "\n" not in str(caught.value)

    @pytest.fixture
    def text(self, tmp_path: Path) -> list[Path]:
        return [save_text(tmp_path / "words.txt", 20)]

    @pytest.mark.parametrize("case", [case for case in sorted(TINY) if case in OTHERS])
    def test_a_model_without_rotary_positions_is_refused_by_its_scheme(
        self, case: str, walkable: Load, text: list[Path]
    ) -> None:
        model = walkable(case)
        scheme = re.escape(model.positions.scheme)
        self.refused(model, text, "is not rotary", metrics=("fisher",))
        self.refused(model, text, rf"{case} is not rotary in every layer \(its positions: {scheme}\)")

    def test_unusable_counts(self, walkable: Load, text: list[Path]) -> None:
        self.refused(walkable("llama"), text, "15 tokens do not hold one document of 16", tokens=15)
        self.refused(walkable("llama"), text, "no next token", length=1)
        self.refused(walkable("llama"), text, "no document fills a chunk of 30 tokens", length=30)
        self.refused(walkable("llama"), text, "use some of activation, entropy, fisher", metrics=("random",))
        self.refused(walkable("llama"), text, "use some of activation, entropy, fisher", metrics=())

    def test_what_is_not_finite_is_refused_by_layer_and_head(self, tmp_path: Path, text: list[Path]) -> None:
        model = load_model(str(save_walkable("llama", tmp_path / "llama")), dtype="float64")
        attention = model._module.base_model.get_submodule("layers.1.self_attn")
        with torch.no_grad():
            attention.q_proj.weight[2 * model.head_dim] = math.inf
        self.refused(model, text, "llama: q of layer 1, head 2 is NaN or infinite")
