"""One query's attention taken apart: complete over bands and keys, and that of the model itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from numerics import Model, results
from numerics.bands.pairs.measure import attribute
from numerics.errors import InvalidArgument
from tests.bands.rotary import ROTARY
from tests.models.truth import InFloat64, observe

Load = Callable[[str], Model]
TEXT = "w7 w9 w60 w11 w12 w5 w7 w9 w60 w11"


@pytest.mark.parametrize("case", ROTARY)
def test_attributions_are_complete_and_the_models_own(
    case: str, walkable: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = walkable(case)
    # Some model types bring a tokenizer class that is not made for words.
    monkeypatch.setitem(model.vocabulary.__dict__, "tokenizer", walkable("llama").vocabulary.tokenizer)
    ids = torch.tensor([[int(word[1:]) for word in TEXT.split()]])
    truth = observe(model, ids, float64=True)
    for layer, head, query in ((0, 1, -1), (1, 2, 7), (1, 3, 0)):
        with InFloat64():
            table = attribute(model, TEXT, layer, head, query)
        row = truth.pattern[layer][head, query]
        keys = np.flatnonzero(row)
        assert table["key"].values.tolist() == keys.tolist()
        assert table["token"].values.tolist() == [TEXT.split()[key] for key in keys]
        np.testing.assert_allclose(table["probability"], row[keys], rtol=0, atol=1e-10)
        rotary = model.positions.rotary(layer)
        assert rotary is not None
        assert ("attribution_unrotated" in table) == (rotary.rotary_dim < model.head_dim)
        parts = [table["attribution"].values]
        if "attribution_unrotated" in table:
            parts.append(table["attribution_unrotated"].values[:, None])
        whole = np.concatenate(parts, axis=1)
        # Completeness is what the nodes are refined to: 1e-9 of the largest probability.
        np.testing.assert_allclose(whole.sum(axis=1), row[keys], rtol=0, atol=2e-9)
        np.testing.assert_allclose(whole.sum(axis=0), 1 / whole.shape[1], rtol=0, atol=2e-9)
        assert float(table["residual"].max()) <= 1e-9
        np.testing.assert_array_equal(table["frequency"], rotary.frequencies)
        assert table.attrs["query"] == query % len(ids[0])
        assert table.attrs["query_token"] == TEXT.split()[query]


def test_table_and_file_of_a_query(walkable: Load, tmp_path: Path) -> None:
    table = attribute(walkable("gpt_neox"), TEXT, 1, 2)
    rows = results.to_table(table)
    assert list(rows.columns[:6]) == ["model", "key", "band", "token", "frequency", "wavelength"]
    assert len(rows) == table["attribution"].size
    assert rows["attribution"].sum() + table["attribution_unrotated"].sum() == pytest.approx(1)
    results.save(table, tmp_path / "pairs.nc")
    assert results.load(tmp_path / "pairs.nc").identical(table)
    assert table.attrs["created_by"].endswith("--layer 1 --head 2 --query -1")


@pytest.mark.parametrize(
    ("layer", "head", "query", "words"),
    [
        (2, 0, -1, "no layer 2; its layers are 0 to 1"),
        (0, 4, -1, "no head 4; its heads are 0 to 3"),
        (0, -1, -1, "no head -1"),
        (0, 0, 10, "10 tokens, none at 10; use a query from -10 to 9"),
        (0, 0, -11, "none at -11"),
    ],
)
def test_places_that_are_not_there(layer: int, head: int, query: int, words: str, walkable: Load) -> None:
    with pytest.raises(InvalidArgument, match=words):
        attribute(walkable("llama"), TEXT, layer, head, query)


def test_unusable_models_and_texts(walkable: Load) -> None:
    with pytest.raises(InvalidArgument, match="gpt2 is not rotary"):
        attribute(walkable("gpt2"), TEXT, 0, 0)
    with pytest.raises(InvalidArgument, match="no tokens; give some"):
        attribute(walkable("llama"), "", 0, 0)
