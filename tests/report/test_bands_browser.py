"""The pages of rotary bands as a reader meets them (see conftest: network off, no request, no console error)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page

from numerics import report
from tests.report import band_datasets as made
from tests.report.band_datasets import (
    ABLATION,
    ATTRIBUTION,
    BANDS,
    EVIL_ABLATION,
    EVIL_ATTRIBUTION,
    EVIL_BANDS,
    EVIL_TOKENS,
    FEW_BANDS,
)
from tests.report.datasets import EVIL_NAME, ROTARY
from tests.report.test_browser import column, rows
from tests.report.test_kernels_browser import figure, hint, numbers
from tests.report.visit import Visit

# Four digits are kept: off by at most 5e-4 of itself. An importance is a quotient of two such numbers: 1e-3, and a mean
# of importances, none above 1 and of both signs, is off by 1e-3 at most.
DIGITS: dict[str, Any] = {"rtol": 1.01e-3, "atol": 1e-12}


@pytest.fixture(scope="session")
def bands_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    datasets = [BANDS, ABLATION, ATTRIBUTION, ROTARY, FEW_BANDS, EVIL_BANDS, EVIL_ABLATION, EVIL_ATTRIBUTION]
    return report.write(datasets, tmp_path_factory.mktemp("site") / "report").parent


def opened(visit: Visit, page: Path, address: str = "") -> Page:
    visit.page.goto(page.as_uri() + address)
    visit.until("document.querySelector('.plot') !== null")
    visit.settle()
    return visit.page


def bands(visit: Visit, site: Path, address: str = "") -> Page:
    return opened(visit, site / "bands.html", address)


def choose(visit: Visit, name: str, value: str) -> None:
    visit.page.check(f"input[name='{name}'][value='{value}']", force=True)
    visit.settle()


def importances(data: Any, metric: str) -> Any:
    values = data[metric].values
    with np.errstate(all="ignore"):
        top = np.nanmax(np.abs(values), axis=-1, keepdims=True, initial=0)
        return values / np.where(top > 0, top, np.nan)


def redrawn(page: Page, selector: str, index: int = 0) -> list[dict[str, Any]]:
    """The traces of a figure that has been drawn before, once it is near the window and up to date."""
    page.locator(selector).nth(index).scroll_into_view_if_needed()
    page.wait_for_timeout(300)
    return figure(page, selector, index)


def over_heads(values: Any, how: Any) -> Any:
    """How over the heads that there are; NaN where there is none."""
    return np.where(np.isnan(values).all(axis=1), np.nan, how(np.nan_to_num(values), values))


def mean(filled: Any, values: Any) -> Any:
    return filled.sum(axis=1) / np.maximum(1, (~np.isnan(values)).sum(axis=1))


def point_at(page: Page, selector: str, row: int, across: int, steps: int = 3) -> None:
    """Move the mouse into a cell of a drawn map."""
    figure(page, selector)
    page.evaluate("(s) => document.querySelector(s).scrollIntoView({ block: 'center' })", selector)
    page.wait_for_timeout(150)  # a scroll hides the hint, and its event comes with the next frame
    x, y = page.evaluate(
        """([s, r, c]) => {
          const plot = document.querySelector(s);
          const { xaxis, yaxis } = plot._fullLayout;
          const at = plot.getBoundingClientRect();
          return [at.x + xaxis._offset + xaxis.d2p(c), at.y + yaxis._offset + yaxis.d2p(r)];
        }""",
        [selector, row, across],
    )
    page.mouse.move(x - 2, y - 2)
    page.mouse.move(x, y, steps=steps)
    page.wait_for_timeout(100)


# --- map of bands -----------------------------------------------------------------------------------------------------


def test_the_page_of_bands_stands_and_offers_only_models_with_bands(visit: Visit, bands_site: Path) -> None:
    page = bands(visit, bands_site)
    assert page.locator("h1").inner_text() == "RoPE bands"
    offered = ["tiny-rotary", "tiny-few", EVIL_NAME]
    assert sorted(page.locator("#model option").all_text_contents()) == sorted(offered)
    cells = page.locator("table.models tbody tr").nth(0).locator("th, td").all_inner_texts()
    assert cells == [
        "tiny-rotary",
        "6 × 4",
        "16",
        "6.28 to 2.65M",
        "activation, entropy, fisher",
        "shipped sample",
        "2 × 512",
        "CSV",
    ]


def test_the_map_shows_importances_and_sums_of_the_chosen_metric(visit: Visit, bands_site: Path) -> None:
    page = bands(visit, bands_site)
    for metric in ("activation", "entropy", "fisher"):
        choose(visit, "metric", metric)
        choose(visit, "scale", "importance")
        want = importances(BANDS, metric)
        drawn = figure(page, "#map .plot")[0]
        np.testing.assert_allclose(numbers(drawn["z"]), over_heads(want, mean), rtol=0, atol=1.01e-3)
        choose(visit, "scale", "absolute")
        want = over_heads(BANDS[metric].values, lambda filled, _: filled.sum(axis=1))
        largest = np.nanmax(np.abs(BANDS[metric].values))
        drawn = figure(page, "#map .plot")[0]
        # Sums of values of both signs: each is off by half a unit of its fourth digit.
        np.testing.assert_allclose(numbers(drawn["z"]), want, rtol=0, atol=2e-3 * largest)
        page.select_option("#map-heads", "3")
        visit.settle()
        drawn = figure(page, "#map .plot")[0]
        np.testing.assert_allclose(numbers(drawn["z"]), BANDS[metric].values[:, 3], **DIGITS)
        assert drawn["z"][3] == [None] * 16, "layer 3 lacks that head"
        page.select_option("#map-heads", "all")


def test_negative_entropy_and_positive_have_different_colours_and_zero_has_neither(
    visit: Visit, bands_site: Path
) -> None:
    page = bands(visit, bands_site)
    choose(visit, "metric", "entropy")
    for theme in ("light", "dark"):
        drawn = figure(page, "#map .plot")[0]
        assert drawn["zmin"] == -drawn["zmax"] < 0
        stops = dict(drawn["colorscale"])
        red, _, blue = (int(stops[1][i : i + 2], 16) for i in (1, 3, 5))
        assert red > blue, "what flattens is orange"
        red, _, blue = (int(stops[0][i : i + 2], 16) for i in (1, 3, 5))
        assert blue > red, "what sharpens is blue"
        middle = [int(stops[0.5][i : i + 2], 16) for i in (1, 3, 5)]
        assert max(middle) - min(middle) < 16
        assert (min(middle) > 240) == (theme == "light")
        page.click("#theme")
        visit.settle()
    choose(visit, "metric", "activation")
    assert figure(page, "#map .plot")[0]["zmin"] == 0


def test_cells_of_the_map_say_what_they_are_by_pointer(visit: Visit, bands_site: Path) -> None:
    page = bands(visit, bands_site)
    choose(visit, "metric", "entropy")
    values = importances(BANDS, "entropy")[4, :, 5]
    point_at(page, "#map .plot", 4, 5)
    largest = int(np.abs(values).argmax())
    assert hint(page) == [
        "layer 4, band 5",
        "wavelength 112 tokens",
        f"mean importance, entropy {values.mean():.3f}".replace("-", "−"),
        f"4 heads, largest in 4.{largest}",
    ]
    point_at(page, "#map .plot", 1, 12)
    assert hint(page) == ["layer 1, band 12", "no such band"]
    choose(visit, "scale", "absolute")
    page.select_option("#map-heads", "2")
    visit.settle()
    point_at(page, "#map .plot", 4, 5)
    value = float(BANDS["entropy"].values[4, 2, 5])
    lines = hint(page)
    shown = float(lines[2].removeprefix("entropy ").removesuffix(" nats").replace("−", "-"))
    assert shown == pytest.approx(value, rel=0.006)
    per_query = float(lines[3].removesuffix(" nats per query").replace("−", "-"))
    assert per_query == pytest.approx(value / 1024, rel=0.006)
    assert lines[4] == "head 4.2"
    page.mouse.move(5, 5)
    page.wait_for_selector(".hint", state="hidden")


def test_a_click_leads_to_the_spectrum_of_the_largest_head(visit: Visit, bands_site: Path) -> None:
    page = bands(visit, bands_site)
    point_at(page, "#map .plot", 2, 9)
    head = hint(page)[-1].split()[-1]
    largest = np.abs(importances(BANDS, "activation")[2, :, 9]).argmax()
    assert head == f"2.{largest}"
    page.mouse.down()
    page.mouse.up()
    visit.until("document.activeElement.id === 'spectrum-title'")
    assert page.input_value("#at") == head
    drawn = figure(page, "#spectrum .plot")
    for trace, metric in zip(drawn, ("activation", "entropy", "fisher"), strict=True):
        np.testing.assert_allclose(numbers(trace["y"]), BANDS[metric].values[2, largest], **DIGITS)
        np.testing.assert_allclose(numbers(trace["x"]), BANDS["wavelength"].values[2], **DIGITS)


def test_the_map_is_read_by_keyboard(visit: Visit, bands_site: Path) -> None:
    page = bands(visit, bands_site)
    figure(page, "#map .plot")
    page.focus("#map-heads")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.classList.contains('heat')")
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "End", "ArrowRight", "ArrowUp"):
        page.keyboard.press(key)
    lines = hint(page)
    assert lines == ["layer 1, band 15", "no such band"]
    assert page.locator("#map .hearable").text_content() == ", ".join(lines), "a screen reader hears the same"
    for key in ("ArrowDown", "Home", "Enter"):
        page.keyboard.press(key)
    visit.until("document.activeElement.id === 'spectrum-title'")
    assert page.input_value("#at").startswith("2.")


def test_wavelengths_stand_over_the_bands_line_by_line_for_layers_that_differ(visit: Visit, bands_site: Path) -> None:
    page = bands(visit, bands_site)
    figure(page, "#map .plot")
    axis = page.evaluate("document.querySelector('#map .plot').layout.xaxis2")
    at = axis["tickvals"].index(4)
    assert axis["ticktext"][at] == "62.8<br>199<br>62.8"
    beyond = axis["tickvals"].index(12)
    assert axis["ticktext"][beyond].split("<br>")[2] == "—", "layer 1 has no band 12"
    assert "layers 0, 3–4; 2, 5; 1" in page.locator("#map .legend").inner_text()


# --- spectra, table, card ---------------------------------------------------------------------------------------------


def test_a_spectrum_says_band_wavelength_value_and_importance(visit: Visit, bands_site: Path) -> None:
    page = bands(visit, bands_site, "#model=tiny-rotary&at=5.1")
    activation, entropy, _ = figure(page, "#spectrum .plot")
    band = 7
    value = float(BANDS["entropy"].values[5, 1, band])
    share = abs(importances(BANDS, "entropy")[5, 1, band])
    where, number, importance = entropy["text"][band].split("<br>")
    assert where == "band 7, wavelength 2.65k".replace("2.65k", "2.65k")
    assert float(number.removeprefix("<b>entropy ").removesuffix(" nats</b>").replace("−", "-")) == pytest.approx(
        value, rel=0.006
    )
    assert importance == f"importance {share:.3f}"
    layout = page.evaluate("document.querySelector('#spectrum .plot').layout")
    assert layout["xaxis"]["type"] == "log"
    assert layout["shapes"][0]["x0"] == 512, "the length of a text"
    assert activation["yaxis"] != entropy["yaxis"], "one metric below the other"
    short = bands(visit, bands_site, "#model=tiny-rotary&at=1.0")
    short.evaluate("location.hash = '#model=tiny-rotary&at=1.0'")
    visit.settle()
    drawn = figure(short, "#spectrum .plot")
    assert len(drawn[0]["x"]) == 8, "bands that a layer lacks are not drawn"


def test_a_band_that_does_not_turn_is_named_and_not_drawn(visit: Visit, tmp_path: Path) -> None:
    still = BANDS.copy(deep=True)
    still["wavelength"].values[0, 15] = np.inf
    page = opened(visit, report.write([still], tmp_path / "report"), "#model=tiny-rotary&at=0.0")
    assert len(figure(page, "#spectrum .plot")[0]["x"]) == 15
    assert page.locator("#spectrum .note").all_inner_texts()[-1].startswith("1 band does not turn")
    assert len(rows(page)) == 23, "heads are known from their bands alone"


def test_the_table_of_heads_follows_the_metric(visit: Visit, bands_site: Path) -> None:
    page = bands(visit, bands_site)
    for metric in ("activation", "entropy"):
        choose(visit, "metric", metric)
        values = np.abs(BANDS[metric].values)
        rest = np.abs(BANDS[f"{metric}_unrotated"].values)
        for name, band, wave, top, unrotated, change in zip(
            *(column(page, key) for key in ("head", "band", "wavelength", "top_share", "unrotated_share", "change")),
            strict=True,
        ):
            layer, head = map(int, name.split("."))
            mine = values[layer, head][~np.isnan(values[layer, head])]
            assert int(band) == mine.argmax()
            assert float(wave) == pytest.approx(BANDS["wavelength"].values[layer, mine.argmax()], abs=0.051)
            held = np.sort(mine)[::-1][: -(-len(mine) // 8)].sum() / mine.sum()
            assert float(top) == pytest.approx(held, abs=0.6e-3)
            share = rest[layer, head] / (rest[layer, head] + mine.sum())
            assert float(unrotated) == pytest.approx(share, abs=0.6e-3)
            want = float(BANDS["entropy_change"].values[layer, head]) / 1024
            assert float(change.replace("−", "-")) == pytest.approx(want, abs=1.1e-3)
    assert len(rows(page)) == 23
    assert page.locator(".count").inner_text() == "23 of 23 heads by entropy"
    page.locator("table.heads th button[data-key='top_share']").click()
    visit.settle()
    shares = [float(v) for v in column(page, "top_share")]
    assert shares == sorted(shares, reverse=True)
    page.fill("#search", "long top_share>0.4")
    visit.settle()
    kept = rows(page)
    assert 0 < len(kept) < 23
    assert all("long" in row[1] for row in kept)
    choose(visit, "metric", "fisher")
    headings = page.locator("table.heads thead button").all_inner_texts()
    assert not any("unrotated" in text for text in headings), "Fisher is not measured there"


def test_bands_of_a_head_stand_on_its_card_on_every_page(visit: Visit, bands_site: Path) -> None:
    for name in ("bands.html", "index.html"):
        page = visit.page
        page.goto((bands_site / name).as_uri() + "#model=tiny-rotary&head=5.1")
        page.wait_for_selector("#card[open] .plot.spectra .main-svg")
        titles = page.locator("#card h4").all_inner_texts()
        assert {"Profile", "Rotary bands", "Importance of its bands"} <= set(titles)
        assert titles[0] == ("Rotary bands" if name == "bands.html" else "Profile")
        measured, ranks = page.evaluate("[...document.querySelectorAll('#card .spectra')].map((p) => p.data)")
        for trace, metric in zip(measured, ("activation", "entropy", "fisher"), strict=True):
            np.testing.assert_allclose(numbers(trace["y"]), BANDS[metric].values[5, 1], **DIGITS)
        for trace, metric in zip(ranks, ("activation", "entropy", "entropy-signed", "fisher"), strict=True):
            want = ABLATION["importance"].sel(metric=metric).values[5, 1]
            np.testing.assert_allclose(numbers(trace["y"]), want, rtol=0.51e-2)
        assert len({trace["line"]["dash"] for trace in ranks}) == 4
    page.locator("#card a", has_text="Beside the other heads").click()
    visit.until("document.activeElement.id === 'spectrum-title'")
    assert page.url.endswith("bands.html#model=tiny-rotary&at=5.1")


def test_models_with_other_metrics_and_band_counts_lie_side_by_side(visit: Visit, bands_site: Path) -> None:
    page = bands(visit, bands_site, "#model=tiny-rotary&with=tiny-few&at=0.1")
    assert page.locator("#map .pane").nth(1).locator(".note").inner_text() == (
        "The file of this model holds no activation."
    )
    choose(visit, "metric", "entropy")
    for pane, data in enumerate((BANDS, FEW_BANDS)):
        z = figure(page, "#map .plot", pane)[0]["z"]
        np.testing.assert_allclose(numbers(z), over_heads(importances(data, "entropy"), mean), rtol=0, atol=1.01e-3)
        trace = figure(page, "#spectrum .plot", pane)[1 - pane]
        np.testing.assert_allclose(numbers(trace["y"]), data["entropy"].values[0, 1], **DIGITS)
    assert len(rows(page)) == 23 + 6
    page.evaluate("location.hash = '#model=tiny-rotary&with=tiny-few&at=3.3'")
    visit.settle()
    assert page.locator("#spectrum .note").all_inner_texts() == [
        "This model has no head 3.3.",
        "This model has no head 3.3.",
    ]


# --- removed bands ----------------------------------------------------------------------------------------------------


def curves(page: Page) -> dict[str, dict[str, Any]]:
    return {trace["name"]: trace for trace in figure(page, "#curves .plot") if "name" in trace}


@pytest.mark.parametrize("select", ["global", "head"])
def test_curves_hold_the_losses_with_their_spread(visit: Visit, bands_site: Path, select: str) -> None:
    page = opened(visit, bands_site / "ablation.html")
    assert page.locator("h1").inner_text() == "Removed bands"
    choose(visit, "select", select)
    drawn = curves(page)
    nll = ABLATION["nll"].sel(select=select)
    assert list(drawn) == ABLATION["metric"].values.tolist()
    for metric, trace in drawn.items():
        want = np.nanmean(nll.sel(metric=metric).values, axis=-1)
        np.testing.assert_allclose(numbers(trace["y"]), want, atol=1e-5, rtol=0)
        assert trace["x"] == ABLATION["fraction"].values.tolist()
    seeds = nll.sel(metric="random").values
    low, high = (trace for trace in figure(page, "#curves .plot") if "name" not in trace)
    np.testing.assert_allclose(numbers(low["y"]), seeds.min(axis=-1), atol=1e-5)
    np.testing.assert_allclose(numbers(high["y"]), seeds.max(axis=-1), atol=1e-5)
    assert high["fill"] == "tonexty"
    np.testing.assert_allclose(numbers(drawn["entropy"]["error_y"]["array"]), 0.02 * ABLATION["fraction"], atol=1e-9)
    assert drawn["random"].get("error_y") is None, "its seeds are its spread"
    styles = {(trace["line"]["dash"], trace["marker"]["symbol"]) for trace in drawn.values()}
    assert len(styles) == len({dash for dash, _ in styles}) == len({symbol for _, symbol in styles}) == 5
    at = 3
    value = float(nll.sel(metric="entropy").values[at, 0])
    assert drawn["entropy"]["text"][at].split("<br>") == [
        "<b>entropy</b>",
        f"60 % removed, {int(ABLATION['removed'].sel(select=select).values[at])} bands",
        f"<b>{value:.3f} nats</b> ± 0.012",
        f"+{value - 3.2:.3f} to the whole model",
    ]
    assert drawn["random"]["text"][at].endswith(f"3 seeds, {seeds[at].min():.3f} to {seeds[at].max():.3f}")
    cells = page.locator("table.sweep tbody tr").nth(at).locator("th, td").all_inner_texts()
    assert cells[0] == "60 %"
    assert [float(c) for c in cells[1:]] == pytest.approx(
        [float(np.nanmean(nll.sel(metric=m).values[at])) - 3.2 for m in drawn], abs=0.6e-3
    )
    assert page.locator("table.sweep tbody tr").nth(0).locator("td").all_inner_texts() == ["0.000"] * 5


def test_the_increase_on_a_log_axis_leaves_out_what_is_none(visit: Visit, bands_site: Path) -> None:
    page = opened(visit, bands_site / "ablation.html")
    choose(visit, "curve-scale", "increase")
    for metric, trace in curves(page).items():
        assert trace["y"][0] is None
        want = np.nanmean(ABLATION["nll"].sel(select="global", metric=metric).values, axis=-1)[1:] - 3.2
        np.testing.assert_allclose(numbers(trace["y"][1:]), want, atol=2e-5)
    assert page.evaluate("document.querySelector('#curves .plot').layout.yaxis.type") == "log"


def test_without_the_whole_model_the_losses_stand_alone(visit: Visit, tmp_path: Path) -> None:
    page = opened(visit, report.write([ABLATION.isel(fraction=slice(1, None))], tmp_path / "report"))
    assert "whole model" not in curves(page)["entropy"]["text"][1]
    choose(visit, "curve-scale", "increase")
    assert "no loss at fraction 0" in page.locator("#curves .note").inner_text()


def test_the_scatter_holds_every_band_and_the_fit(visit: Visit, bands_site: Path) -> None:
    page = opened(visit, bands_site / "ablation.html")
    points, line = figure(page, "#scatter .plot")
    ranks = ABLATION["importance"]
    x, y = (ranks.sel(metric=m).values.ravel() for m in ("activation", "entropy"))
    there = ~np.isnan(x)
    np.testing.assert_allclose(numbers(points["x"]), x[there], rtol=0.51e-2)
    np.testing.assert_allclose(numbers(points["y"]), y[there], rtol=0.51e-2)
    slope, start = np.polyfit(x[there], y[there], 1)
    np.testing.assert_allclose(numbers(line["y"]), start + slope * numbers(line["x"]), atol=5e-3)
    first = points["text"][0].split("<br>")
    assert first[0] == "<b>0.0</b> band 0, wavelength 6.28"
    shown = page.locator("#scatter dl").inner_text().split("\n")
    assert dict(zip(shown[::2], shown[1::2], strict=True)) == {
        "R²": "0.631",
        "R² of the logarithms": "0.782",
        "bands": str(there.sum()),
    }
    choose(visit, "axes", "log")
    points, line = figure(page, "#scatter .plot")
    slope, start = np.polyfit(np.log(x[there]), np.log(y[there]), 1)
    np.testing.assert_allclose(np.log(numbers(line["y"])), start + slope * np.log(numbers(line["x"])), atol=2e-2)
    assert "3 bands with an importance of 0 are left out" in page.locator("#scatter .note").inner_text()


def test_very_many_points_are_thinned_evenly_and_always_alike(visit: Visit, bands_site: Path) -> None:
    page = opened(visit, bands_site / "ablation.html")
    kept = page.evaluate("numericsReport.thinned(Array.from({ length: 65536 }, (_, i) => i), 20000)")
    assert 19900 <= len(kept) <= 20000
    assert kept == page.evaluate("numericsReport.thinned(Array.from({ length: 65536 }, (_, i) => i), 20000)")
    # Of 64 bands each is kept about as often: no stride that meets some bands only.
    counts = np.bincount(np.array(kept) % 64, minlength=64)
    assert counts.min() > 0.9 * counts.mean()
    assert counts.max() < 1.1 * counts.mean()
    assert page.evaluate("numericsReport.thinned([1, 2, 3], 3)") == [1, 2, 3]


def test_a_sweep_of_random_alone_has_no_scatter(visit: Visit, tmp_path: Path) -> None:
    page = opened(visit, report.write([ABLATION.sel(metric=["random"], select=["head"])], tmp_path / "report"))
    assert page.locator("#scatter .note").inner_text() == "The file does not hold both importances."
    assert page.locator("#scatter .plot").is_hidden()
    assert page.locator("input[name=select]").count() == 0, "nothing to choose"
    assert list(curves(page)) == ["random"]


# --- attribution ------------------------------------------------------------------------------------------------------


def contributions(data: Any) -> Any:
    parts = [data["attribution"].values]
    if "attribution_unrotated" in data:
        parts.append(data["attribution_unrotated"].values[:, None])
    return np.concatenate(parts, axis=1)


def test_keys_and_bands_are_drawn_with_their_sign_and_their_sums(visit: Visit, bands_site: Path) -> None:
    page = opened(visit, bands_site / "attribution.html")
    heat, up, down, total, _, own_up, own_down, attention = figure(page, "#map .plot")
    want = contributions(ATTRIBUTION)
    drawn = numbers(heat["z"])
    np.testing.assert_allclose(np.sign(drawn) * drawn**2, want, **DIGITS)
    assert (drawn < 0).any(), "negative contributions are seen"
    assert heat["zmin"] == -heat["zmax"]
    assert heat["zmax"] == pytest.approx(np.sqrt(np.abs(want).max()), rel=1e-3)
    choose(visit, "colours", "key")
    each = numbers(redrawn(page, "#map .plot")[0]["z"])
    np.testing.assert_allclose(np.sign(each) * each**2, want / np.abs(want).max(axis=1, keepdims=True), rtol=2e-3)
    added, taken = np.where(want > 0, want, 0), np.where(want < 0, want, 0)
    for trace, values in (
        (up["y"], added.sum(0)),
        (down["y"], taken.sum(0)),
        (own_up["x"], added.sum(1)),
        (own_down["x"], taken.sum(1)),
    ):
        np.testing.assert_allclose(numbers(trace), values, rtol=2e-3, atol=1e-7)
    np.testing.assert_allclose(numbers(total["y"]), np.full(17, 1 / 17), rtol=2e-3)
    np.testing.assert_allclose(numbers(attention["x"]), ATTRIBUTION["probability"].values, **DIGITS)
    labels = page.evaluate("document.querySelector('#map .plot').layout.yaxis.ticktext")
    assert [text.replace("\u2068", "").replace("\u2069", "") for text in labels][:3] == [
        "&lt;bos&gt;  0",
        "The  1",
        "␣cat  2",
    ]


def test_a_contribution_says_token_band_wavelength_and_size(visit: Visit, bands_site: Path) -> None:
    page = opened(visit, bands_site / "attribution.html")
    point_at(page, "#map .plot", 2, 4)
    token, band, value, attention = hint(page)
    assert token == "key 2  ␣cat"
    assert band == "band 4, wavelength 62.8 tokens"

    def number(text: str) -> float:
        digits, _, power = text.split(" ")[1].replace("−", "-").partition("·10")
        return float(digits) * 10.0 ** int((power or "⁰").translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")))

    assert number(value) == pytest.approx(float(ATTRIBUTION["attribution"].values[2, 4]), rel=0.006)
    assert number(attention) == pytest.approx(float(ATTRIBUTION["probability"].values[2]), rel=0.006)
    point_at(page, "#map .plot", 2, 16)
    assert hint(page)[1] == "dimensions that do not turn"


def test_the_text_shows_attention_and_what_has_no_ink(visit: Visit, bands_site: Path) -> None:
    page = opened(visit, bands_site / "attribution.html")
    words = page.locator("#text .words .word")
    assert words.all_inner_texts() == ["<bos>", "The", "␣cat", "␣sat", "␣on", "␣the", "↵↵", "␣mat"]
    # A sign that stands for a space is not the sign itself.
    assert words.locator("i").all_inner_texts() == ["␣", "␣", "␣", "␣", "↵", "↵", "␣"]
    assert "spaces are shown as ␣, line ends as ↵." in page.locator("#text + .caption").inner_text()
    shares = words.evaluate_all("(all) => all.map((w) => parseFloat(w.style.getPropertyValue('--share')))")
    p = ATTRIBUTION["probability"].values
    np.testing.assert_allclose(shares, 50 * np.sqrt(p / p.max()), atol=0.06)
    assert words.nth(7).evaluate("(w) => w.classList.contains('query')")
    words.nth(3).hover()
    assert hint(page)[0] == "key 3  ␣sat"
    assert hint(page)[1].startswith("attention ")


def test_tokens_are_chosen_by_keyboard_and_by_pointer(visit: Visit, bands_site: Path) -> None:
    page = opened(visit, bands_site / "attribution.html")
    largest = int(ATTRIBUTION["probability"].values.argmax())
    assert page.locator("#text [tabindex='0']").count() == 1
    assert page.locator("#text [tabindex='0']").get_attribute("data-key") == str(largest)
    page.locator("#text [tabindex='0']").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert hint(page)[0] == "key 2  ␣cat"
    page.keyboard.press("Enter")
    visit.settle()
    assert page.locator("#text [aria-selected='true']").get_attribute("data-key") == "2"
    (trace,) = redrawn(page, "#token .plot")
    np.testing.assert_allclose(numbers(trace["y"]), ATTRIBUTION["attribution"].values[2], **DIGITS)
    assert page.locator("#token h3 small").inner_text().startswith("key 2 ␣cat, attention")
    frame = page.evaluate("document.querySelector('#map .plot').layout.shapes")
    assert (frame[0]["y0"], frame[0]["y1"]) == (1.5, 2.5)
    page.locator("#text .words .word").nth(5).click()
    visit.settle()
    assert page.locator("#token h3 small").inner_text().startswith("key 5 ␣the")


def test_a_long_text_is_shown_a_part_at_a_time(visit: Visit, tmp_path: Path) -> None:
    words = tuple(f" w{i}" for i in range(2048))
    data = made.attribution("long", words, 32)
    page = opened(visit, report.attribution_page(data, tmp_path / "out"))
    assert page.locator("nav").count() == 0, "the page stands alone"
    assert page.locator("#text .words .word").count() == 2048
    assert page.locator("#text .words").bounding_box()["height"] < 500  # type: ignore[index]
    heat = figure(page, "#map .plot")[0]
    most = np.sort(np.argsort(-data["probability"].values, kind="stable")[:40])
    drawn = numbers(heat["z"])
    np.testing.assert_allclose(np.sign(drawn) * drawn**2, contributions(data)[most], **DIGITS)
    choose(visit, "order", "text")
    page.locator("#start").fill("100")
    visit.settle()
    drawn = numbers(redrawn(page, "#map .plot")[0]["z"])
    np.testing.assert_allclose(np.sign(drawn) * drawn**2, contributions(data)[100:140], **DIGITS)
    # A token that is chosen in the text comes into view.
    page.locator("#text .words .word").nth(1500).click()
    visit.settle()
    drawn = numbers(redrawn(page, "#map .plot")[0]["z"])
    np.testing.assert_allclose(np.sign(drawn) * drawn**2, contributions(data)[1480:1520], **DIGITS)


# --- all pages --------------------------------------------------------------------------------------------------------


def test_texts_and_tokens_are_never_markup(visit: Visit, bands_site: Path) -> None:
    visible = [
        *(token.replace(" ", "␣") for token in EVIL_TOKENS[:4]),
        "␣a‹2028›b",
        "‹202E›right",
        "∅",
        "⇥",
        "‹7›",
        "▁under",
        "␍↵",
        "⍽·",
        "◌\u0301",
    ]
    slug = next(bands_site.glob("data/script-*.js")).stem
    for name in ("bands.html", "ablation.html", "attribution.html"):
        page = opened(visit, bands_site / name, f"#model={slug}")
        assert page.locator("#model option:checked").inner_text() == EVIL_NAME
        for index in range(page.locator("main .plot:visible").count()):
            page.locator("main .plot:visible").nth(index).scroll_into_view_if_needed()
            page.wait_for_timeout(150)
        assert page.title() != "owned"
        assert page.locator("main b:text-is('bold'), main img, .hint img, svg img").count() == 0
        if name == "attribution.html":
            assert page.locator("#text .words .word").all_inner_texts() == visible
            assert page.locator("#text h3 small").inner_text() == "head 5.1, query 12, <b>q</b>"
            labels = page.evaluate("document.querySelector('#map .plot').layout.yaxis.ticktext")
            assert not [text for text in labels if "<" in text], "plain `<` reaches Plotly"
            point_at(page, "#map .plot", 1, 1)
            assert hint(page)[0] == f"key 1  {visible[1]}"
            assert page.locator(".hint img").count() == 0
        else:
            page.evaluate("location.hash = numericsReport.address({ head: '0.0' })")
            page.wait_for_selector("#card[open] .spectra .main-svg")
            assert page.locator("#card img, #card b:text-is('bold')").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_tokens_can_be_read_on_their_colour(visit: Visit, bands_site: Path, scheme: str) -> None:
    visit.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page = opened(visit, bands_site / "attribution.html")

    def shades() -> list[tuple[str, str, bool]]:
        # A canvas turns any CSS colour into what is seen on the box's own ground.
        found: list[tuple[str, str, bool]] = page.evaluate(
            """() => {
              const seen = (...colours) => {
                const context = document.createElement('canvas').getContext('2d');
                for (const colour of colours) { context.fillStyle = colour; context.fillRect(0, 0, 1, 1); }
                return [...context.getImageData(0, 0, 1, 1).data].slice(0, 3).join(',');
              };
              const box = getComputedStyle(document.querySelector('.words')).backgroundColor;
              return [...document.querySelectorAll('#text .words .word, #text .words .word i')].map((w) => {
                const ground = [box, getComputedStyle(w.closest('.word')).backgroundColor];
                return [seen(...ground, getComputedStyle(w).color), seen(...ground), w.localName === 'i'];
              });
            }"""
        )
        return found

    def light(colour: str) -> float:
        v = np.array([int(x) for x in colour.split(",")]) / 255
        linear = np.where(v <= 0.04045, v / 12.92, ((v + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    before = shades()
    for ink, ground, sign in before:
        high, low = sorted((light(ink), light(ground)), reverse=True)
        assert (high + 0.05) / (low + 0.05) >= (3 if sign else 4.5), (ink, ground)  # WCAG 2 for signs and text
    assert len({ground for _, ground, _ in before}) > 3, "attention is told by colour"
    page.click("#theme")
    visit.settle()
    assert shades() != before, "the text follows the theme"


@pytest.mark.parametrize("width", [360, 1100])
def test_nothing_sticks_out_of_the_pages_of_bands(visit: Visit, bands_site: Path, width: int) -> None:
    visit.page.set_viewport_size({"width": width, "height": 800})
    slug = next(bands_site.glob("data/script-*.js")).stem
    for name in ("bands.html", "ablation.html", "attribution.html"):
        page = opened(visit, bands_site / name, f"#model=tiny-rotary&with={slug}&at=0.1")
        for index in range(2):
            for place in {"bands.html": "map spectrum", "ablation.html": "curves scatter"}.get(
                name, "map token"
            ).split():
                figure(page, f"#{place} .plot", index)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name


def test_bands_of_a_large_model_open_at_once(visit: Visit, tmp_path: Path) -> None:
    large = made.bands("large", 32, 16, 64)
    page = opened(visit, report.write([large], tmp_path / "report"))
    drawn = figure(page, "#map .plot")[0]
    assert np.array(drawn["z"]).shape == (32, 64)
    took = page.evaluate(
        """() => new Promise((done) => {
          const start = performance.now();
          document.querySelector("input[name='scale'][value='absolute']").click();
          requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - start)));
        })"""
    )
    assert took < 2000
