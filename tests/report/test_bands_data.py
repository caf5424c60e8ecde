"""What the pages of rotary bands are given: numbers, missing ones, joining, what is refused."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from numerics import report, results
from numerics.errors import InvalidArgument
from numerics.report import ablation as ablation_page
from numerics.report import attribution as attribution_page
from numerics.report import bands as bands_page
from tests.report import band_datasets as made
from tests.report.band_datasets import ABLATION, ATTRIBUTION, BANDS, FEW_BANDS
from tests.report.datasets import ROTARY
from tests.report.test_site import bytes_of, entry

# Four significant digits: off by at most half a unit of the fourth.
FOUR: dict[str, Any] = {"rtol": 0.5001e-3, "atol": 0}


def numbers(values: Any, *shape: int) -> Any:
    return np.array(values, dtype=float).reshape(shape or -1)


# --- bands ------------------------------------------------------------------------------------------------------------


@settings(deadline=None, print_blob=True, derandomize=True)
@given(
    hnp.arrays(
        float, hnp.array_shapes(min_dims=3, max_dims=3, max_side=17), elements=st.floats(-1e3, 1e3) | st.just(math.nan)
    ),
    st.booleans(),
)
def test_numbers_of_a_head_are_those_of_a_loop_over_its_bands(values: Any, rest: bool) -> None:
    layers, heads, count = values.shape
    wavelength = 2 * np.pi * 1.5 ** np.arange(layers * count).reshape(layers, count)
    unrotated = np.arange(layers * heads, dtype=float).reshape(layers, heads)
    data = xr.Dataset(
        {"entropy": (("layer", "head", "band"), values)},
        coords={"band": np.arange(count), "wavelength": (("layer", "band"), wavelength)},
    )
    if rest:
        data["entropy_unrotated"] = (("layer", "head"), -unrotated)
    found = bands_page.summary(data, "entropy")
    assert ("unrotated_share" in found) == rest
    for layer, head in np.ndindex(layers, heads):
        sizes = {band: abs(v) for band, v in enumerate(values[layer, head]) if not math.isnan(v)}
        total = sum(sizes.values())
        got = {name: column[layer, head] for name, column in found.items()}
        if total == 0:
            assert all(math.isnan(got[name]) for name in ("band", "wavelength", "top_share"))
        else:
            largest = max(sizes, key=lambda band: sizes[band])
            assert got["band"] == largest
            assert got["wavelength"] == wavelength[layer, largest]
            top = sorted(sizes.values(), reverse=True)[: math.ceil(len(sizes) / 8)]
            assert got["top_share"] == pytest.approx(sum(top) / total, rel=1e-12)
        if rest:
            whole = total + unrotated[layer, head]
            want = unrotated[layer, head] / whole if whole else math.nan
            assert got["unrotated_share"] == pytest.approx(want, rel=1e-12, nan_ok=True)


def test_the_page_of_bands_is_given_the_numbers_of_the_dataset() -> None:
    shown = bands_page.bands(BANDS)
    assert (shown["layers"], shown["heads"], shown["bands"]) == (6, 4, 16)
    assert shown["metrics"] == ["activation", "entropy", "fisher"]
    for metric in shown["metrics"]:
        np.testing.assert_allclose(numbers(shown["values"][metric], 6, 4, 16), BANDS[metric].values, **FOUR)
    np.testing.assert_allclose(numbers(shown["wavelength"], 6, 16), BANDS["wavelength"].values, **FOUR)
    change = numbers(shown["entropy_change"], 6, 4)
    np.testing.assert_allclose(change, BANDS["entropy_change"].values, **FOUR)
    assert shown["residual"] == pytest.approx(np.nanmax(BANDS["residual"].values), rel=0.05)
    assert (shown["documents"], shown["length"]) == (2, 512)


def test_bands_and_heads_that_a_layer_lacks_are_null_and_never_zero() -> None:
    shown = bands_page.bands(BANDS)
    for values in shown["values"].values():
        assert values[(1 * 4 + 2) * 16 + 8 : (1 * 4 + 3) * 16] == [None] * 8
        assert None not in values[(1 * 4 + 2) * 16 : (1 * 4 + 2) * 16 + 8]
    assert [i for i, code in enumerate(shown["there"]) if code is None] == [3 * 4 + 3]
    for columns in shown["columns"].values():
        assert [column[3 * 4 + 3] for column in columns.values()] == [None] * len(columns)


@pytest.mark.parametrize("metric", ["activation", "entropy", "fisher"])
def test_any_one_metric_makes_the_page(tmp_path: Path, metric: str) -> None:
    page = report.write([BANDS[[metric]]], tmp_path / "report")
    assert page.name == "bands.html"
    assert entry(page, "tiny-rotary")["data"]["bands"]["metrics"] == [metric]


def test_a_band_that_stands_still_has_no_wavelength() -> None:
    still = BANDS.copy(deep=True)
    still["wavelength"].values[0, 15] = np.inf
    assert bands_page.bands(still)["wavelength"][15] is None


def test_csv_of_bands_has_one_row_per_head_and_every_digit(tmp_path: Path) -> None:
    page = report.write([BANDS], tmp_path / "report")
    table = pd.read_csv(page.parent / "data" / "tiny-rotary_bands.csv")
    assert len(table) == 23
    row = table.set_index(["layer", "head"]).loc[(5, 1)]
    values = np.abs(BANDS["entropy"].values[5, 1])
    assert row["entropy_band"] == values.argmax()
    assert row["entropy_wavelength"] == BANDS["wavelength"].values[5, values.argmax()]
    assert row["entropy_top_share"] == pytest.approx(np.sort(values)[-2:].sum() / values.sum(), rel=1e-12)
    assert row["entropy_change"] == BANDS["entropy_change"].values[5, 1]


# --- ablation ---------------------------------------------------------------------------------------------------------


def test_the_page_of_ablations_is_given_the_numbers_of_the_dataset() -> None:
    turned = ABLATION.transpose("seed", "fraction", "band", "select", "head", "layer", "metric")
    for data in (ABLATION, turned):
        shown = ablation_page.ablation(data)
        nll = numbers(shown["nll"], 5, 2, 5, 3)
        np.testing.assert_allclose(nll, ABLATION["nll"].values, rtol=0, atol=0.5001e-5)
        assert shown["whole"] == 3.2
        assert shown["removed"] == ABLATION["removed"].values.ravel().tolist()
        assert (shown["r_squared"], shown["r_squared_log"], shown["log_dropped"]) == (0.6312, 0.7821, 3.0)
        assert list(shown["importance"]) == ["activation", "entropy", "entropy-signed", "fisher"], "random has none"
        for name, values in shown["importance"].items():
            want = ABLATION["importance"].sel(metric=name).values
            np.testing.assert_allclose(numbers(values, 6, 4, 16), want, rtol=0.5001e-2)
        assert [i for i, code in enumerate(shown["there"]) if code is None] == [15]


def test_without_fraction_zero_the_whole_model_is_not_known() -> None:
    assert ablation_page.ablation(ABLATION.isel(fraction=slice(1, None)))["whole"] is None


def test_a_sweep_of_random_alone_has_no_importance() -> None:
    shown = ablation_page.ablation(ABLATION.sel(metric=["random"]))
    assert shown["importance"] == {}
    assert "heads" not in shown


# --- attribution ------------------------------------------------------------------------------------------------------


def test_the_page_of_attributions_is_given_the_numbers_of_the_dataset() -> None:
    shown = attribution_page.attribution(ATTRIBUTION.transpose("band", "key", "identity"))
    np.testing.assert_allclose(numbers(shown["values"], 8, 16), ATTRIBUTION["attribution"].values, **FOUR)
    np.testing.assert_allclose(numbers(shown["probability"]), ATTRIBUTION["probability"].values, **FOUR)
    np.testing.assert_allclose(numbers(shown["unrotated"]), ATTRIBUTION["attribution_unrotated"].values, **FOUR)
    assert shown["tokens"] == ATTRIBUTION["token"].values.tolist()
    assert (shown["layer"], shown["head"], shown["query"], shown["query_token"]) == (5, 1, 7, " mat")
    assert shown["residual"] == 2e-12


def test_csv_of_an_attribution_has_one_row_per_key(tmp_path: Path) -> None:
    page = report.attribution_page(ATTRIBUTION, tmp_path / "report")
    table = pd.read_csv(page.parent / "data" / "tiny-rotary_attribution.csv", keep_default_na=False)
    assert table["token"].tolist() == ATTRIBUTION["token"].values.tolist()
    bands = table[[f"band_{i}" for i in range(16)]].to_numpy()
    assert bands.tolist() == ATTRIBUTION["attribution"].values.tolist()
    parts = bands.sum(axis=1) + table["unrotated"]
    np.testing.assert_allclose(parts, table["probability"], rtol=1e-12)


def test_a_page_of_one_attribution_stands_alone(tmp_path: Path) -> None:
    page = report.attribution_page(ATTRIBUTION, tmp_path / "out")
    assert page == tmp_path / "out" / "attribution.html"
    assert [p.name for p in (tmp_path / "out").glob("*.html")] == ["attribution.html"]
    again = report.attribution_page(ATTRIBUTION.copy(deep=True), tmp_path / "again")
    assert bytes_of(page.parent) == bytes_of(again.parent)


@pytest.mark.parametrize("data", [BANDS, ROTARY, ATTRIBUTION.drop_vars("token")])
def test_anything_else_has_no_page_of_an_attribution(tmp_path: Path, data: Any) -> None:
    with pytest.raises(InvalidArgument, match=r"attribution.*numerics\.attribute"):
        report.attribution_page(data, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_an_attribution_of_512_tokens_stays_compact(tmp_path: Path) -> None:
    page = report.attribution_page(made.attribution("long", tuple(" word" for _ in range(512)), 64), tmp_path / "out")
    # 512 × 65 numbers of at most 11 characters, 512 tokens of 8, keys and probabilities.
    assert (page.parent / "data" / "long.js").stat().st_size < 4.0e5


# --- one site ---------------------------------------------------------------------------------------------------------


def test_all_that_is_known_of_a_model_is_one_model(tmp_path: Path) -> None:
    index = report.write([ABLATION, FEW_BANDS, ATTRIBUTION, BANDS, ROTARY], tmp_path / "report")
    assert index.name == "index.html"
    assert list(entry(index, "tiny-rotary")["data"]) == ["profile", "bands", "ablation", "attribution"]
    assert list(entry(index, "tiny-few")["data"]) == ["bands"]
    assert {p.name for p in index.parent.glob("*.html")} == {
        "index.html",
        "bands.html",
        "ablation.html",
        "attribution.html",
    }


def test_two_queries_of_one_model_stay_two(tmp_path: Path) -> None:
    other = made.attribution(layer=0, head=0)
    page = report.write([ATTRIBUTION, other], tmp_path / "report")
    assert entry(page, "tiny-rotary")["data"]["attribution"]["layer"] == 5
    assert entry(page, "tiny-rotary-2")["data"]["attribution"]["layer"] == 0


@pytest.mark.parametrize("data", [BANDS, ABLATION, ATTRIBUTION], ids=["bands", "ablation", "attribution"])
def test_datasets_of_bands_give_the_same_bytes_also_from_netcdf(tmp_path: Path, data: xr.Dataset) -> None:
    results.save(data, tmp_path / "kept.nc")
    one = report.write([data], tmp_path / "one")
    two = report.write([results.load(tmp_path / "kept.nc")], tmp_path / "two")
    assert bytes_of(one.parent) == bytes_of(two.parent)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (BANDS.isel(head=0, drop=True), "^a dataset of bands needs 'activation' over layer, head, band; pass"),
        (BANDS.drop_vars(["activation_unrotated"]).isel(head=slice(0)), "holds no band"),
        (BANDS.assign(entropy_unrotated=BANDS["entropy"]), "'entropy_unrotated' over layer, head"),
        (BANDS.isel(layer=0), "'activation' over"),
        (BANDS.drop_vars("wavelength"), "no page of the report shows"),
        (BANDS[["residual"]], "no page of the report shows"),
        (ABLATION.isel(seed=0), "^a dataset of an ablation needs 'nll' over metric, select, fraction, seed; pass"),
        (ABLATION.isel(band=0), "'importance' over"),
        (ABLATION.drop_vars("wavelength"), "ablation needs 'wavelength' over layer, band"),
        (ABLATION.isel(fraction=slice(0)), "holds no loss"),
        (ATTRIBUTION.isel(band=0), "^a dataset of an attribution needs 'attribution' over key, band; pass"),
        (ATTRIBUTION.isel(key=slice(0)), "holds no key"),
        (ATTRIBUTION.drop_vars("token"), "no page of the report shows"),
    ],
)
def test_a_dataset_that_no_page_can_show_is_refused_before_anything_is_written(
    tmp_path: Path, data: Any, message: str
) -> None:
    with pytest.raises(InvalidArgument, match=message):
        report.write([ROTARY, data], tmp_path / "report")
    assert list(tmp_path.iterdir()) == []
