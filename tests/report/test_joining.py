"""Datasets of one model become one model of the site; what the page of kernels is given."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numerics import report, results
from numerics.errors import InvalidArgument
from numerics.report import encode
from numerics.report.kernels import half_floats
from tests.report.datasets import ABSOLUTE, BROAD_KERNELS, ROTARY, ROTARY_KERNELS, kernels
from tests.report.test_site import bytes_of, entry

NEXT = "pass what numerics.positional_kernels returns"


def decoded(text: str) -> Any:
    return np.frombuffer(base64.b64decode(text), dtype="<f2").astype(float)


# --- joining ----------------------------------------------------------------------------------------------------------


def test_profile_and_kernels_of_one_model_are_one_model(tmp_path: Path) -> None:
    index = report.write([ROTARY, BROAD_KERNELS, ROTARY_KERNELS], tmp_path / "report")
    assert index.name == "index.html"
    assert sorted(p.name for p in (index.parent / "data").iterdir()) == [
        "tiny-broad.js",
        "tiny-broad_kernels.csv",
        "tiny-rotary.js",
        "tiny-rotary_kernels.csv",
        "tiny-rotary_profile.csv",
    ]
    both = entry(index, "tiny-rotary")
    assert both["label"] == "tiny-rotary"
    assert list(both["data"]) == list(both["made"]) == ["profile", "kernels"]
    assert both["made"]["profile"]["created_by"] == "numerics report tiny-rotary"
    assert both["made"]["kernels"]["created_by"] == "numerics kernels tiny-rotary"
    # What the datasets do not agree on is said of neither.
    assert both["attrs"]["sha256"] == ROTARY.attrs["sha256"]
    assert "created_by" not in both["attrs"]
    assert "form" not in both["attrs"]
    assert list(entry(index, "tiny-broad")["data"]) == ["kernels"]


def test_another_file_of_the_same_name_is_another_model(tmp_path: Path) -> None:
    other = ROTARY_KERNELS.assign_attrs(sha256="f" * 64)
    index = report.write([ROTARY, other], tmp_path / "report")
    assert list(entry(index, "tiny-rotary-raw")["data"]) == ["profile"]
    assert list(entry(index, "tiny-rotary")["data"]) == ["kernels"]


def test_without_a_hash_nothing_is_joined(tmp_path: Path) -> None:
    plain = [d.assign_attrs(sha256="") for d in (ROTARY, ROTARY_KERNELS)]
    index = report.write(plain, tmp_path / "report")
    assert len(list((index.parent / "data").glob("*.js"))) == 2


def test_two_forms_stay_two_and_the_first_carries_the_kernels(tmp_path: Path) -> None:
    folded = ROTARY.assign_attrs(form="folded")
    for order in ([ROTARY, folded, ROTARY_KERNELS], [ROTARY_KERNELS, ROTARY, folded]):
        index = report.write(order, tmp_path / "report")
        assert list(entry(index, "tiny-rotary-raw")["data"]) == ["profile", "kernels"]
        assert list(entry(index, "tiny-rotary-folded")["data"]) == ["profile"]


def test_two_sets_of_kernels_of_one_model_stay_two(tmp_path: Path) -> None:
    page = report.write([BROAD_KERNELS, BROAD_KERNELS.assign_attrs(samples="80")], tmp_path / "report")
    assert page.name == "kernels.html", "the first page there is"
    assert not (page.parent / "index.html").exists()
    assert entry(page, "tiny-broad-2")["label"] == "tiny-broad #2"


def test_kernels_give_the_same_bytes_also_from_netcdf(tmp_path: Path) -> None:
    one = report.write([ROTARY, ROTARY_KERNELS], tmp_path / "one")
    results.save(ROTARY_KERNELS, tmp_path / "kernels.nc")
    turned = results.load(tmp_path / "kernels.nc").transpose("key", "query", "other", "head", "layer", ...)
    two = report.write([ROTARY.copy(deep=True), turned], tmp_path / "two")
    assert bytes_of(one.parent) == bytes_of(two.parent)


# --- numbers ----------------------------------------------------------------------------------------------------------


@settings(deadline=None, print_blob=True, derandomize=True)
@given(st.lists(st.floats(0, 1) | st.just(float("nan")), min_size=1, max_size=20))
def test_weights_keep_three_digits_and_missing_ones_stay_missing(values: list[float]) -> None:
    (text,) = half_floats([values])
    if text is None:
        assert np.isnan(values).all()
        return
    # float16: 11 bits of mantissa down to 2⁻¹⁴, steps of 2⁻²⁴ below; each rounded to nearest.
    np.testing.assert_allclose(decoded(text), values, rtol=2**-11, atol=2**-25)


@settings(deadline=None, print_blob=True, derandomize=True)
@given(st.lists(st.floats(allow_nan=True, allow_infinity=True, width=32), max_size=20), st.integers(1, 6))
def test_significant_digits_and_null(values: list[float], digits: int) -> None:
    for number, value in zip(encode.significant(values, digits), values, strict=True):
        assert (number is None) == (not np.isfinite(value))
        if number is not None:
            assert abs(number - value) <= 0.5001 * 10.0 ** (1 - digits) * abs(value)


def test_the_page_is_given_the_numbers_of_the_dataset(kernels_site: Path) -> None:
    shown = entry(kernels_site, "tiny-rotary")["data"]["kernels"]
    assert (shown["layers"], shown["heads"], shown["skip"], shown["kind"]) == (6, 4, 5, "mean-key")
    assert shown["queries"] == ROTARY_KERNELS["query"].values.tolist()
    want = ROTARY_KERNELS["kernel"].values
    np.testing.assert_allclose(decoded(shown["kernel"][5 * 4 + 2]), want[5, 2].ravel(), rtol=2**-11, atol=2**-25)
    etc = np.array(shown["curves"]["etc"], dtype=float).reshape(6, 4, -1)
    np.testing.assert_allclose(etc, ROTARY_KERNELS["etc"].values, rtol=0.5e-3)
    assert shown["columns"]["peak_offset"][7] == ROTARY_KERNELS["peak_offset"].values[1, 3]
    names = ["" if code is None else shown["categories"][code] for code in shown["category"]]
    assert names == ROTARY_KERNELS["category"].values.ravel().tolist()
    profile = decoded(shown["distance_profile"][3])
    np.testing.assert_allclose(profile, ROTARY_KERNELS["distance_profile"].values[0, 3], rtol=2**-11, atol=2**-25)
    variation = np.array(shown["variation"][4]).reshape(4, 4)
    np.testing.assert_allclose(variation, ROTARY_KERNELS["kernel_variation"].values[4], atol=0.5e-3 + 1e-9)


def test_a_missing_head_is_null_everywhere(kernels_site: Path) -> None:
    shown = entry(kernels_site, "tiny-rotary")["data"]["kernels"]
    absent = 3 * 4 + 3
    assert shown["kernel"][absent] is None
    assert shown["category"][absent] is None
    # Whole numbers cannot be NaN in the dataset: they too are missing where there is no head.
    assert [column[absent] for column in shown["columns"].values()] == [None] * len(shown["columns"])
    assert set(shown["curves"]["etc"][8 * absent : 8 * absent + 8]) == {None}


def test_csv_of_kernels_has_one_row_per_head(kernels_site: Path) -> None:
    import pandas as pd

    table = pd.read_csv(kernels_site.parent / "data" / "tiny-broad_kernels.csv")
    assert len(table) == 36
    assert table["tv_kernel"].tolist() == BROAD_KERNELS["tv_kernel"].values.ravel().tolist()


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda d: d.isel(query=0, drop=True), "needs the variable 'kernel' over layer, head, query, key; " + NEXT),
        (
            lambda d: d.assign(etc=d["etc"].isel(query=0, drop=True)),
            "needs the variable 'etc' over layer, head, query; " + NEXT,
        ),
        (lambda d: d.isel(layer=slice(0)), "holds no kernel; measure at least one head and query"),
        (lambda d: d.drop_vars("query"), "lacks the coordinate query; " + NEXT),
        (lambda d: d.drop_vars("key"), "lacks the coordinate key; " + NEXT),
    ],
)
def test_a_dataset_that_holds_no_kernels_is_refused(tmp_path: Path, spoil: Any, message: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        report.write([ROTARY, spoil(ROTARY_KERNELS)], tmp_path / "report")
    assert str(caught.value) == f"a dataset of positional kernels {message}"
    assert list(tmp_path.iterdir()) == []


def test_kernels_of_a_common_size_stay_compact(tmp_path: Path) -> None:
    big = kernels("big", 12, 12, length=256, queries=16)
    page = report.write([big], tmp_path / "report")
    # 144 heads × 16 queries × 256 keys × 2 ⅔ bytes are 1.57 MB; profiles over 511 distances 0.2 MB; two texts at two
    # queries 0.39 MB; the rest 0.2 MB.
    assert (page.parent / "data" / "big.js").stat().st_size < 2.4e6


def test_models_without_a_capability_do_not_change_its_page(tmp_path: Path) -> None:
    with_more = report.write([ABSOLUTE, BROAD_KERNELS], tmp_path / "one").parent
    alone = report.write([BROAD_KERNELS], tmp_path / "two").parent
    assert (with_more / "data/tiny-broad.js").read_bytes() == (alone / "data/tiny-broad.js").read_bytes()
