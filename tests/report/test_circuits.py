"""What the page of head circuits is given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numerics import load_model, report, results
from numerics.circuits import head_circuits
from numerics.errors import InvalidArgument
from numerics.report import circuits as encode
from tests.circuits.walked import PERIOD, V, hand_made_gpt2
from tests.positional.walked import save_text
from tests.report.circuit_datasets import (
    BROAD_CIRCUITS,
    EVIL_CIRCUITS,
    EVIL_TOKENS,
    KINDS,
    ROTARY_CIRCUITS,
    circuits,
)
from tests.report.datasets import ROTARY
from tests.report.test_site import bytes_of, entry

DECIMALS: dict[str, Any] = {"rtol": 0, "atol": 0.5e-4 + 1e-12}  # four decimals: half of the last one
DIGITS: dict[str, Any] = {"rtol": 0.5001e-3}  # four significant digits
NEXT = "pass what numerics.head_circuits returns"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    datasets = [ROTARY, ROTARY_CIRCUITS, BROAD_CIRCUITS, EVIL_CIRCUITS]
    return report.write(datasets, tmp_path_factory.mktemp("site") / "report").parent / "circuits.html"


def shown(page: Path, slug: str) -> dict[str, Any]:
    found: dict[str, Any] = entry(page, slug)["data"]["circuits"]
    return found


def numbers(values: Any) -> Any:
    return np.array(values, dtype=float)


# --- numbers ----------------------------------------------------------------------------------------------------------


def test_the_page_is_given_the_numbers_of_the_dataset(page: Path) -> None:
    data = shown(page, "tiny-rotary")
    assert (data["layers"], data["heads"], data["kinds"]) == (6, 4, list(KINDS))
    for i, kind in enumerate(KINDS):
        want = ROTARY_CIRCUITS["behaviour"].values[..., i].ravel()
        np.testing.assert_allclose(numbers(data["behaviour"][kind]), want, **DECIMALS)
        want = ROTARY_CIRCUITS["behaviour_sd"].values[..., i].ravel()
        np.testing.assert_allclose(numbers(data["behaviour_sd"][kind]), want, **DECIMALS)
    np.testing.assert_allclose(numbers(data["copying"]), ROTARY_CIRCUITS["copying"].values.ravel(), **DECIMALS)
    assert data["loss"] == [10.85, 0.7345]
    assert data["in_context_learning"] == [-0.3478, 0.0561]
    edges = data["composition"]["edges"]
    assert [(edges[k]["baseline"], edges[k]["baseline_sd"]) for k in "QKV"] == [
        (0.0591, 0.0011),
        (0.0603, 0.0009),
        (0.0612, 0.0013),
    ]


def test_a_head_is_called_by_its_strongest_behaviour_of_attention(page: Path) -> None:
    data = shown(page, "tiny-rotary")
    assert data["categories"] == [*KINDS[:4], "none"], "direct copying is no behaviour of attention"
    seen = set()
    for flat, code in enumerate(data["category"]):
        values = ROTARY_CIRCUITS["behaviour"].values[flat // 4, flat % 4]
        if np.isnan(values).all():
            assert code is None
            continue
        strong = {kind: v for kind, v in zip(KINDS[:4], values, strict=False) if v >= encode.STRONG}
        name = max(strong, key=lambda kind: strong[kind]) if strong else "none"
        assert data["categories"][code] == name
        seen.add(name)
    assert len(seen) >= 3
    assert data["category"][3 * 4 + 3] is None
    assert data["category"][2 * 4 + 1] is None


def test_an_earlier_copy_out_of_sight_does_not_hide_the_rest(page: Path) -> None:
    """NaN beside a strong behaviour: the head keeps its name, the number stays missing."""
    data = circuits(chosen=())
    data["behaviour"].values[1, 1] = [0.8, np.nan, np.nan, 0.1, 0.5]
    data["behaviour"].values[1, 2] = [0.1, np.nan, np.nan, 0.1, 0.9]
    found = encode.circuits(data)
    assert found["categories"][found["category"][5]] == "previous_token"
    assert found["categories"][found["category"][6]] == "none"
    assert found["behaviour"]["induction"][5] is None


# --- edges ------------------------------------------------------------------------------------------------------------


def edges(data: dict[str, Any], kind: str) -> dict[tuple[int, int], float]:
    """(later, earlier) → composition, in the order given."""
    found = data["composition"]["edges"][kind]
    return dict(zip(zip(found["later"], found["earlier"], strict=True), found["value"], strict=True))


scores = st.tuples(st.integers(1, 4), st.integers(1, 3)).flatmap(
    lambda shape: st.lists(
        st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0, float("nan")]),  # few values: many ties
        min_size=(shape[0] * shape[1]) ** 2,
        max_size=(shape[0] * shape[1]) ** 2,
    ).map(lambda values: np.reshape(values, (*shape, *shape)))
)


@settings(deadline=None, print_blob=True, derandomize=True)
@given(scores, st.integers(0, 6), st.integers(0, 3))
def test_kept_are_the_strongest_of_all_and_of_each_head(values: Any, strongest: int, each: int) -> None:
    layers, heads = values.shape[:2]
    data = circuits("x", layers, heads, chosen=())
    data["composition"].values[:] = values[..., None]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encode, "STRONGEST", strongest)
        patch.setattr(encode, "EACH", each)
        found = encode.circuits(data)
    kept = edges(found, "K")
    flat = values.reshape(layers * heads, -1)
    there = {
        (i, j): flat[i, j]
        for i in range(len(flat))
        for j in range(len(flat))
        if i // heads > j // heads and not np.isnan(flat[i, j])
    }
    assert found["composition"]["edges"]["K"]["pairs"] == len(there)
    assert kept.items() <= there.items(), "a pair of one layer, of a later one before an earlier, or one not measured"
    order = list(kept.values())
    assert order == sorted(order, reverse=True)
    first = found["composition"]["edges"]["K"]["strongest"]
    assert first == min(strongest, len(there))
    assert order[:first] == sorted(there.values(), reverse=True)[:first]
    for head in range(len(flat)):
        for end in (0, 1):
            own = sorted((v for pair, v in there.items() if pair[end] == head), reverse=True)
            mine = sorted((v for pair, v in kept.items() if pair[end] == head), reverse=True)
            assert mine[:each] == own[:each]
    assert len(kept) <= strongest + 2 * each * len(flat)


def test_every_edge_carries_its_composition(page: Path) -> None:
    data = shown(page, "tiny-broad")
    for i, kind in enumerate("QKV"):
        kept = edges(data, kind)
        assert len(kept) >= 500
        for (later, earlier), value in kept.items():
            want = BROAD_CIRCUITS["composition"].values[later // 12, later % 12, earlier // 12, earlier % 12, i]
            np.testing.assert_allclose(value, want, **DIGITS)
        assert data["composition"]["edges"][kind]["pairs"] == 21 * 144


# --- tokens -----------------------------------------------------------------------------------------------------------


def test_tables_of_tokens_are_those_of_the_dataset_without_their_filling(page: Path) -> None:
    first, second = shown(page, "tiny-rotary")["pairs"]
    assert (first["head"], second["head"]) == ("1.2", "4.0")
    assert [len(first["QK"]), len(first["OV"]), len(second["OV"])] == [20, 17, 20]
    for c, circuit in enumerate(("QK", "OV")):
        for rank, (left, right, value) in enumerate(second[circuit]):
            assert left == ROTARY_CIRCUITS["pair_left_token"].values[1, c, rank]
            assert right == ROTARY_CIRCUITS["pair_right_token"].values[1, c, rank]
            np.testing.assert_allclose(value, ROTARY_CIRCUITS["pair_value"].values[1, c, rank], **DIGITS)
    for rank, row in enumerate(first["trigrams"]):
        parts = [ROTARY_CIRCUITS[name].values[0, rank] for name in encode.TRIGRAM_COLUMNS]
        assert row[:3] == parts[:3]
        np.testing.assert_allclose(row[3:], parts[3:], **DIGITS)
    assert {row[0] for row in first["QK"]} <= set(EVIL_TOKENS)


def test_virtual_heads_have_their_behaviours(page: Path) -> None:
    (one,) = shown(page, "tiny-rotary")["virtual"]
    assert one["name"] == "1.2→4.0"
    np.testing.assert_allclose(one["behaviour"], ROTARY_CIRCUITS["virtual_behaviour"].values[0], **DECIMALS)
    np.testing.assert_allclose(one["copying"], ROTARY_CIRCUITS["virtual_copying"].values[0], **DECIMALS)


# --- files ------------------------------------------------------------------------------------------------------------


def test_profile_and_circuits_of_one_model_are_one_model(page: Path) -> None:
    both = entry(page, "tiny-rotary")
    assert list(both["data"]) == ["profile", "circuits"]
    assert both["made"]["circuits"]["created_by"] == "numerics circuits tiny-rotary"


def test_circuits_give_the_same_bytes_also_from_netcdf(tmp_path: Path) -> None:
    one = report.write([ROTARY_CIRCUITS, EVIL_CIRCUITS], tmp_path / "one")
    read = []
    for name, data in {"a": ROTARY_CIRCUITS, "b": EVIL_CIRCUITS}.items():
        results.save(data, tmp_path / f"{name}.nc")
        loaded = results.load(tmp_path / f"{name}.nc")
        read.append(loaded.transpose("composition_kind", "kind", "head", "layer", "rank", "circuit", ...))
    two = report.write(read, tmp_path / "two")
    assert bytes_of(one.parent) == bytes_of(two.parent)


def test_csv_of_circuits_has_one_row_per_head(page: Path) -> None:
    table = pd.read_csv(page.parent / "data" / "tiny-broad_circuits.csv")
    assert list(table.columns) == ["model", "layer", "head", *KINDS, *(f"{k}_sd" for k in KINDS), "copying"]
    assert len(table) == 84
    assert table["induction"].tolist() == BROAD_CIRCUITS["behaviour"].values[..., 2].ravel().tolist()
    assert table["first_token_sd"].tolist() == BROAD_CIRCUITS["behaviour_sd"].values[..., 3].ravel().tolist()
    assert len(pd.read_csv(page.parent / "data" / "tiny-rotary_circuits.csv")) == 22, "heads that are not there"


def test_what_was_not_measured_is_null() -> None:
    bare = ROTARY_CIRCUITS[["behaviour", "composition"]].assign_attrs(ROTARY_CIRCUITS.attrs)
    data = encode.circuits(bare)
    for name in ("behaviour_sd", "copying", "pairs", "virtual", "loss", "in_context_learning", "stack"):
        assert data[name] is None, name
    assert data["composition"]["edges"]["Q"]["baseline"] is None


def test_a_decoder_alone_has_no_copying_of_its_encoder() -> None:
    """T5: no composition between the stacks, no copying of the encoder."""
    data = circuits(layers=4, chosen=()).assign_coords(stack=("layer", ["encoder"] * 2 + ["decoder"] * 2))
    data["copying"].values[:2] = np.nan
    data["composition"].values[2:, :, :2] = np.nan
    found = encode.circuits(data)
    assert found["stack"] == ["encoder", "encoder", "decoder", "decoder"]
    assert found["copying"][:8] == [None] * 8
    assert None not in found["category"]
    assert found["composition"]["edges"]["V"]["pairs"] == 2 * 16


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda d: d.isel(kind=0, drop=True), "needs the variable 'behaviour' over layer, head, kind; " + NEXT),
        (
            lambda d: d.assign(composition=d["composition"].isel(later_head=0, drop=True)),
            "needs the variable 'composition' over later_layer, later_head, layer, head, composition_kind; " + NEXT,
        ),
        (lambda d: d.isel(layer=slice(0)), "holds no head; measure at least one head"),
        (lambda d: d.drop_vars("composition_kind"), "lacks the coordinate composition_kind; " + NEXT),
        (lambda d: d.drop_vars("kind"), "lacks the coordinate kind; " + NEXT),
    ],
)
def test_a_dataset_that_holds_no_circuits_is_refused(tmp_path: Path, spoil: Any, message: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        report.write([ROTARY, spoil(ROTARY_CIRCUITS)], tmp_path / "report")
    assert str(caught.value) == f"a dataset of head circuits {message}"
    assert list(tmp_path.iterdir()) == []


def test_a_text_that_is_markup_stands_nowhere_as_markup(page: Path) -> None:
    for path in [*page.parent.glob("*.html"), *page.parent.glob("data/*.js")]:
        text = path.read_text("utf-8")
        assert "owned'</script>" not in text
        assert "<b>bold" not in text
        assert "\u202e" not in text


def test_the_made_up_datasets_are_shaped_as_measured_ones(tmp_path: Path) -> None:
    """Names, dims and labels of a real measurement, and its report."""
    model = load_model(str(hand_made_gpt2(tmp_path / "model")), dtype="float64")
    text = save_text(tmp_path / "words.txt", 500, V)
    measured = head_circuits(model, period=PERIOD, seeds=2, pairs="0.0,1.0", text=[text], texts=0)
    assert set(ROTARY_CIRCUITS.dims) <= set(measured.dims)
    for name, variable in ROTARY_CIRCUITS.variables.items():
        if str(name).startswith("in_context_learning"):
            continue  # needs texts of 512 tokens
        assert measured[name].dims == variable.dims, name
        kinds = {measured[name].dtype.kind, variable.dtype.kind}
        assert len(kinds) == 1 or kinds == {"O", "U"}, name
    for name in ("kind", "composition_kind", "circuit"):
        assert measured[name].values.tolist() == ROTARY_CIRCUITS[name].values.tolist()
    assert {"period", "copies", "seeds", "form"} <= set(measured.attrs)
    page = report.write([measured], tmp_path / "report")
    data = shown(page, "model")
    assert data["categories"][data["category"][2]] == "induction", "head 1.0 of the hand-made model"
    assert edges(data, "K")[2, 0] == max(edges(data, "K").values()), "and it reads head 0.0 by key"
    assert [table["head"] for table in data["pairs"]] == ["0.0", "1.0"]
    assert [one["name"] for one in data["virtual"]] == ["0.0→1.0"]
