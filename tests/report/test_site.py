"""The files of a report: what is written, what is escaped, what is refused."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from numerics import report, results
from numerics.errors import InvalidArgument, UnwritableOutput
from numerics.report import encode, pages
from numerics.report import site as writer
from tests.report.datasets import ABSOLUTE, EVIL, EVIL_NAME, ROTARY, dataset

# A display number is off by at most half of its last digit; the rest is float64 noise.
HALF = 0.5e-4 + 1e-12


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def entry(site: Path, slug: str) -> dict[str, Any]:
    text = (site.parent / "data" / f"{slug}.js").read_text("utf-8")
    match = re.fullmatch(r"numericsReport\.addModel\((.*)\);\n", text)
    assert match
    result: dict[str, Any] = json.loads(match[1])
    return result


# --- what is escaped --------------------------------------------------------------------------------------------------

nasty = st.text(st.one_of(st.sampled_from("<>&'\"\\/\u2028\u2029\x00é−𝄞"), st.characters()))


@settings(deadline=None, print_blob=True, derandomize=True)
@given(st.recursive(nasty | st.integers() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(nasty, inner)))
def test_script_json_means_the_same_and_cannot_leave_its_script(value: object) -> None:
    text = encode.script_json(value)
    assert json.loads(text) == value
    assert text.isascii()
    assert not set("<>&\n\r") & set(text)


def test_script_json_refuses_a_number_that_json_has_not() -> None:
    with pytest.raises(ValueError, match="JSON"):
        encode.script_json([float("nan")])


@settings(deadline=None, print_blob=True, derandomize=True)
@given(st.lists(st.floats(-1, 1) | st.sampled_from([np.nan, np.inf, -np.inf, -0.0]), max_size=30), st.integers(0, 6))
def test_missing_numbers_are_null_and_never_zero(values: list[float], decimals: int) -> None:
    encoded = encode.rounded(values, decimals)
    assert len(encoded) == len(values)
    for number, value in zip(encoded, values, strict=True):
        assert (number is None) == (not np.isfinite(value))
        if number is not None:
            assert abs(number - value) <= 0.5 * 10**-decimals + 1e-12
            assert repr(number) != "-0.0"


def test_texts_of_a_model_stand_nowhere_as_markup(site: Path) -> None:
    for path in [*site.parent.glob("*.html"), *site.parent.glob("data/*.js")]:
        text = path.read_text("utf-8")
        assert "owned'</script>" not in text
        assert "\u2028" not in text
    (evil,) = site.parent.glob("data/script-*.js")
    attrs = entry(site, evil.stem)["attrs"]
    assert attrs["model"] == EVIL_NAME
    assert attrs["created_by"] == EVIL.attrs["created_by"]


def test_own_scripts_make_no_markup_from_text_and_name_no_other_host() -> None:
    names = {"report.css", "page.html", *pages.SHARED_SCRIPTS, *pages.CARD_SCRIPTS}
    for page in pages.PAGES:
        names |= {f"{page.key}.html", *page.scripts}
    assets = files("numerics.report").joinpath("assets")
    assert {p.name for p in assets.iterdir()} == names, "an asset that no page uses, or one that is missing"
    for name in names:
        text = assets.joinpath(name).read_text("utf-8")
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function", text), (
            name
        )
        assert not re.search(r"https?:|//[a-z0-9-]+\.[a-z]", text), name


# --- what is written --------------------------------------------------------------------------------------------------


def test_numbers_in_the_page_are_those_of_the_dataset(site: Path) -> None:
    shown = entry(site, "tiny-rotary")["data"]["profile"]
    assert (shown["layers"], shown["heads"], shown["width"], shown["head_dim"]) == (6, 4, 768, 64)
    assert shown["distances"] == [0, 1, 4, 16]
    for i, name in enumerate("abcd"):
        column = np.array(shown["columns"][name], dtype=float)
        np.testing.assert_allclose(column, ROTARY["profile"].values[..., i].ravel(), rtol=0, atol=HALF)
    for name in ("stable_rank", "participation_ratio"):
        column = np.array(shown["columns"][name], dtype=float)
        np.testing.assert_allclose(column, ROTARY[name].values.ravel(), rtol=0, atol=0.5e-2 + 1e-9)
    kinds = ["" if code is None else shown["types"][code] for code in shown["type"]]
    assert kinds == list(ROTARY["type"].values.ravel())
    spectrum = ROTARY["symmetric_spectrum"].values
    np.testing.assert_allclose(shown["spectrum"][5 * 4 + 1], spectrum[5, 1], rtol=0, atol=HALF)
    assert shown["spectrum"][3 * 4 + 3] == []


def test_dims_in_another_order_are_the_same_report(tmp_path: Path) -> None:
    turned = ROTARY.transpose("coordinate", "distance", "eigenvalue", "head", "layer")
    one = bytes_of(report.write([ROTARY], tmp_path / "one").parent)
    assert (
        bytes_of(report.write([turned.isel(coordinate=[3, 1, 0, 2])], tmp_path / "two").parent)["data/tiny-rotary.js"]
        == (one["data/tiny-rotary.js"])
    )


def test_csv_holds_every_digit(site: Path) -> None:
    import pandas as pd

    table = pd.read_csv(site.parent / "data" / "tiny-rotary_profile.csv", keep_default_na=False, na_values=[""])
    assert list(table.columns[:4]) == ["model", "layer", "head", "distance"]
    row = table.set_index(["layer", "head", "distance"]).loc[(5, 1, 4)]
    assert [row[c] for c in "abcd"] == list(ROTARY["profile"].values[5, 1, 2])


def test_same_datasets_give_the_same_bytes(tmp_path: Path) -> None:
    one = report.write([ROTARY, ABSOLUTE], tmp_path / "one")
    again = ROTARY.copy(deep=True)
    again.attrs = dict(reversed(ROTARY.attrs.items()))
    two = report.write([again, ABSOLUTE.copy(deep=True)], tmp_path / "two")
    assert bytes_of(one.parent) == bytes_of(two.parent)


def test_a_dataset_read_back_from_netcdf_gives_the_same_bytes(tmp_path: Path) -> None:
    results.save(ROTARY, tmp_path / "rotary.nc")
    one = report.write([ROTARY], tmp_path / "one")
    two = report.write([results.load(tmp_path / "rotary.nc")], tmp_path / "two")
    assert bytes_of(one.parent) == bytes_of(two.parent)


def test_plotly_is_one_shared_file_and_every_script_of_the_page_exists(site: Path) -> None:
    html = site.read_text("utf-8")
    scripts = re.findall(r'<script defer src="([^"]+)"></script>', html)
    assert html.count("<script") == len(scripts)
    assert all((site.parent / name).is_file() for name in scripts)
    assert [p.name for p in site.parent.rglob("*") if p.is_file() and p.stat().st_size > 3e6] == ["plotly.min.js"]


@settings(deadline=None, print_blob=True, derandomize=True)
@given(
    st.lists(st.sampled_from(["gpt2", "GPT2", "gpt/2", "gpt 2", "..", "", "模型", "con", "gpt2-2"]) | nasty, min_size=1)
)
def test_every_model_has_its_own_file_name(names: list[str]) -> None:
    datasets = [xr.Dataset(attrs={"model": name, "form": "raw"}) for name in names]
    labels = writer._labels(datasets)
    slugs = writer._slugs(labels)
    assert len(set(labels)) == len(set(slugs)) == len(names)
    assert all(re.fullmatch(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?", slug) for slug in slugs)


def test_one_model_in_two_forms_is_told_apart(tmp_path: Path) -> None:
    folded = ROTARY.assign_attrs(form="folded")
    index = report.write([ROTARY, folded], tmp_path / "report")
    assert entry(index, "tiny-rotary-raw")["label"] == "tiny-rotary (raw)"
    assert entry(index, "tiny-rotary-folded")["label"] == "tiny-rotary (folded)"


def test_a_new_page_needs_only_its_entry_in_the_registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = pages.Page("spectra.html", "profile", "Spectra & <more>", ("symmetric_spectrum",), lambda dataset: {}, ())
    monkeypatch.setattr(writer, "PAGES", (*pages.PAGES, page))
    index = report.write([ABSOLUTE], tmp_path / "report")
    assert '<a href="spectra.html">Spectra &amp; &lt;more&gt;</a>' in index.read_text("utf-8")
    assert (index.parent / "spectra.html").is_file()
    without = report.write([ABSOLUTE.drop_vars("symmetric_spectrum")], tmp_path / "without")
    assert not (without.parent / "spectra.html").exists()
    assert "<nav>" not in without.read_text("utf-8")


# --- what is refused --------------------------------------------------------------------------------------------------


def test_no_dataset_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="no dataset"):
        report.write([], tmp_path / "report")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda d: d.drop_vars("profile"),
        lambda d: d.drop_vars("type"),
        lambda d: d.isel(distance=0, drop=True),
        lambda d: d.isel(layer=slice(0)),
        lambda d: d.assign(pairing=d["pairing"].isel(distance=0, drop=True)),
        lambda d: d.drop_vars("distance"),
    ],
)
def test_a_dataset_that_is_no_profile_is_refused_before_anything_is_written(tmp_path: Path, spoil: Any) -> None:
    with pytest.raises(InvalidArgument, match="profile"):
        report.write([ROTARY, spoil(ROTARY)], tmp_path / "report")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_no_report_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("mine")
    with pytest.raises(InvalidArgument, match="not a report"):
        report.write([ROTARY], tmp_path)
    assert bytes_of(tmp_path) == {"index.html": b"mine"}


def test_a_file_in_a_report_that_is_not_ours_is_not_lost(tmp_path: Path) -> None:
    folder = report.write([ROTARY], tmp_path / "report").parent
    (folder / "data" / "notes.txt").write_text("mine")
    with pytest.raises(InvalidArgument, match=r"notes\.txt"):
        report.write([ROTARY], folder)
    assert (folder / "data" / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize("marker", ["", "[]", "{}", '{"files": 1}', "null"])
def test_a_damaged_marker_does_not_count(tmp_path: Path, marker: str) -> None:
    (tmp_path / writer.MARKER).write_text(marker)
    with pytest.raises(InvalidArgument, match="does not list"):
        report.write([ROTARY], tmp_path)


def test_a_file_in_the_place_of_the_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "report").write_text("mine")
    with pytest.raises(InvalidArgument, match="is a file"):
        report.write([ROTARY], tmp_path / "report")


def test_an_earlier_report_is_replaced_as_a_whole(tmp_path: Path) -> None:
    report.write([ROTARY, ABSOLUTE], tmp_path / "report")
    report.write([ABSOLUTE], tmp_path / "report")
    fresh = report.write([ABSOLUTE], tmp_path / "fresh")
    assert bytes_of(tmp_path / "report") == bytes_of(fresh.parent)
    assert {p.name for p in tmp_path.iterdir()} == {"report", "fresh"}


def test_an_empty_folder_and_missing_parents_will_do(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert report.write([ABSOLUTE], tmp_path / "empty").is_file()
    assert report.write([ABSOLUTE], str(tmp_path / "a" / "b")) == tmp_path / "a" / "b" / "index.html"


def test_a_place_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(UnwritableOutput, match="choose"):
        report.write([ABSOLUTE], tmp_path / "file" / "report")


@pytest.mark.parametrize("moment", ["build", "swap"])
def test_a_failure_leaves_the_earlier_report_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    before = bytes_of(report.write([ABSOLUTE], tmp_path / "report").parent)
    rename = Path.rename

    def full_disk(self: Path, *args: Any, **kwargs: Any) -> Any:
        raise OSError(28, "No space left on device")

    def stuck(self: Path, target: Path) -> Path:
        if self.name == "site":
            raise OSError(28, "No space left on device")
        return rename(self, target)

    if moment == "build":
        monkeypatch.setattr(Path, "write_text", full_disk)
    else:
        monkeypatch.setattr(Path, "rename", stuck)
    with pytest.raises(UnwritableOutput, match="No space left"):
        report.write([ROTARY], tmp_path / "report")
    assert bytes_of(tmp_path / "report") == before
    assert [p.name for p in tmp_path.iterdir()] == ["report"]


def test_a_report_is_readable_by_those_the_umask_lets_read(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    index = report.write([ABSOLUTE], tmp_path / "report")
    assert index.parent.stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_data_of_a_large_model_stay_compact(tmp_path: Path) -> None:
    big = dataset("big", 32, 32, report.DEFAULT_DISTANCES, "rotary", 256)
    index = report.write([big], tmp_path / "report")
    # 1024 heads × 15 distances × 13 columns at 7 bytes (1.4 MB), and 1024 spectra of 256 at 8 bytes (2.1 MB).
    assert (index.parent / "data" / "big.js").stat().st_size < 3.6e6
