"""The page of positional kernels as a reader meets it (see conftest: network off, no request, no console error)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page

from numerics import report
from tests.report.datasets import (
    BROAD_KERNELS,
    EVIL_KERNELS,
    EVIL_NAME,
    ROTARY,
    ROTARY_KERNELS,
    kernels,
    without_kernel,
)
from tests.report.test_browser import column, rows
from tests.report.visit import Visit

SIGNS = {"local": "▲", "slow decay": "◣", "uniform": "■"}
HALF_FLOAT: dict[str, Any] = {"rtol": 2**-11, "atol": 2**-25}


def cell(page: Page, name: str, pane: int = 0) -> Any:
    return page.locator("#map .pane").nth(pane).locator(f"[data-name='{name}']")


def figure(page: Page, selector: str, index: int = 0) -> list[dict[str, Any]]:
    """The traces of a drawn figure. Figures are drawn when they come near the window."""
    page.locator(selector).nth(index).scroll_into_view_if_needed()
    for _ in range(100):
        data = page.evaluate(
            "([s, i]) => { const p = document.querySelectorAll(s)[i]; return p && p._fullLayout ? p.data : null; }",
            [selector, index],
        )
        if data is not None:
            return list(data)
        page.wait_for_timeout(50)
    raise AssertionError(f"never drawn: {selector}")


def numbers(values: Any) -> Any:
    return np.array(values, dtype=float)


def hint(page: Page) -> list[str]:
    page.wait_for_selector(".hint:not([hidden])")
    return page.locator(".hint > *").all_text_contents()


def kernel_drawn(page: Page, pane: int = 0) -> Any:
    """√pos as drawn, NaN where empty."""
    return numbers(figure(page, "#kernel .plot.kernel", pane)[0]["z"]) ** 2


def kernel_expected(data: Any, layer: int, head: int) -> Any:
    """From the first position that is not skipped; empty after the query in causal models."""
    values = data["kernel"].values[layer, head].astype(float)
    if data["distance"].values.min() == 0:
        values = np.where(data["key"].values <= data["query"].values[:, None], values, np.nan)
    return values[:, 5:]


# --- map of counts ----------------------------------------------------------------------------------------------------


def test_the_page_stands_and_offers_only_models_with_kernels(visit: Visit, kernels_site: Path) -> None:
    page = visit.open_kernels(kernels_site)
    page.wait_for_timeout(500)
    assert page.locator("h1").inner_text() == "Positional kernels"
    offered = [ROTARY.attrs["model"], EVIL_NAME, "tiny-broad"]
    assert sorted(page.locator("#model option").all_text_contents()) == sorted(offered)
    assert sorted(page.locator("table.models tbody th").all_text_contents()) == sorted(offered)
    cells = page.locator("table.models tbody tr").nth(0).locator("th, td").all_inner_texts()
    assert cells == ["tiny-rotary", "rotary", "mean-key", "6", "4", "shipped sample", "40", "64", "8", "CSV"]


def test_a_model_without_this_capability_in_the_address_is_not_shown(visit: Visit, kernels_site: Path) -> None:
    page = visit.open_kernels(kernels_site, "#model=tiny-absolute&with=tiny-absolute")
    assert page.locator("#map h3").all_inner_texts()[0].startswith("tiny-rotary")
    assert page.locator("#map .pane").count() == 1


def test_the_profile_page_offers_only_models_with_profiles(visit: Visit, kernels_site: Path) -> None:
    page = visit.open(kernels_site.with_name("index.html"), "#model=tiny-broad")
    assert "tiny-broad" not in page.locator("#model").inner_text()
    assert page.locator("#tetrahedron h3").inner_text().startswith("tiny-rotary")


def test_cells_say_count_category_and_offset_by_pointer(visit: Visit, kernels_site: Path) -> None:
    page = visit.open_kernels(kernels_site)
    for name in ("0.0", "5.1", "4.2"):
        cell(page, name).hover()
        layer, head = map(int, name.split("."))
        etc = float(ROTARY_KERNELS["etc"].values[layer, head, -1])
        lines = hint(page)
        assert lines[0] == f"{name}  {ROTARY_KERNELS['category'].values[layer, head]}"
        assert lines[1] == f"ETC {etc:.1f} ± {0.05 * etc:.1f}, √ETC {etc**0.5:.2f}"
        offset = int(ROTARY_KERNELS["peak_offset"].values[layer, head])
        assert lines[2:] == [f"peak offset {offset}".replace("-", "−"), "query 63"]
        assert cell(page, name).get_attribute("aria-label") == ", ".join(lines)
    page.mouse.move(5, 5)
    page.wait_for_selector(".hint", state="hidden")


def test_categories_are_told_apart_without_colour(visit: Visit, kernels_site: Path) -> None:
    page = visit.open_kernels(kernels_site, "#model=tiny-broad")
    for layer, head in np.ndindex(3, 12):
        sign = (cell(page, f"{layer}.{head}").text_content() or "")[0]
        assert sign == SIGNS[str(BROAD_KERNELS["category"].values[layer, head])]
    legend = page.locator("#map .legend").inner_text()
    for name in SIGNS:
        assert f"{name}: {int((BROAD_KERNELS['category'].values == name).sum())}" in legend


def test_a_larger_count_is_a_lighter_cell(visit: Visit, kernels_site: Path) -> None:
    page = visit.open_kernels(kernels_site, "#model=tiny-broad")
    light = {}
    for layer, head in np.ndindex(3, 12):
        colour = cell(page, f"{layer}.{head}").evaluate("(td) => getComputedStyle(td).backgroundColor")
        r, g, b = (int(v) for v in colour[4:-1].split(","))
        light[layer, head] = 0.2 * r + 0.7 * g + 0.1 * b
    by_count = sorted(light, key=lambda at: float(BROAD_KERNELS["etc"].values[(*at, -1)]))
    lights = np.array([light[at] for at in by_count])
    assert (np.diff(lights) >= -1).all()  # rounding of a channel
    assert lights[-1] - lights[0] > 80


def test_the_query_is_chosen_and_each_model_takes_its_nearest_earlier_one(visit: Visit, kernels_site: Path) -> None:
    page = visit.open_kernels(kernels_site, "#model=tiny-rotary&with=tiny-broad")
    assert [t.split("query ")[1] for t in page.locator("#map h3").all_inner_texts()] == [
        "63 of 64 positions",
        "47 of 48 positions",
    ]
    page.focus("#query")
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    visit.settle()
    every = sorted({*ROTARY_KERNELS["query"].values.tolist(), *BROAD_KERNELS["query"].values.tolist()})
    chosen = every[-4]
    assert page.get_attribute("#query", "aria-valuetext") == f"query {chosen}"
    for pane, data in enumerate((ROTARY_KERNELS, BROAD_KERNELS)):
        at = int((data["query"].values <= chosen).sum()) - 1
        etc = float(data["etc"].values[0, 0, at])
        label = cell(page, "0.0", pane).get_attribute("aria-label")
        assert f"ETC {etc:.1f} ±" in label
        assert label.endswith(f"query {data['query'].values[at]}")
    page.select_option("#other", value="")
    visit.settle()
    at = int((ROTARY_KERNELS["query"].values <= chosen).sum()) - 1
    assert column(page, "etc")[0] == f"{ROTARY_KERNELS['etc'].values[0, 0, at]:.1f}"


def test_cells_by_keyboard(visit: Visit, kernels_site: Path) -> None:
    page = visit.open_kernels(kernels_site)
    assert page.locator("#map [tabindex='0']").count() == 1
    cell(page, "0.0").evaluate("(td) => td.focus()")
    for key in ("ArrowRight", "ArrowDown", "ArrowDown", "ArrowLeft", "End", "ArrowRight"):
        page.keyboard.press(key)
    assert page.evaluate("document.activeElement.dataset.name") == "2.3"
    assert hint(page)[0].startswith("2.3")
    # Layer 3 lacks its last head: one does not move there.
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.dataset.name") == "2.3"
    assert page.locator("#map [tabindex='0']").count() == 1
    page.keyboard.press("Enter")
    visit.until("document.activeElement.id === 'kernel-title'")
    assert page.input_value("#at") == "2.3"
    assert "at=2.3" in page.url
    np.testing.assert_allclose(kernel_drawn(page), kernel_expected(ROTARY_KERNELS, 2, 3), **HALF_FLOAT)


def test_a_missing_count_is_hatched_and_a_missing_head_is_no_cell(visit: Visit, kernels_site: Path) -> None:
    page = visit.open_kernels(kernels_site)
    assert cell(page, "2.1").get_attribute("class") == "missing"
    assert "ETC missing" in (cell(page, "2.1").get_attribute("aria-label") or "")
    assert cell(page, "2.1").get_attribute("style") is None
    assert page.locator("#map td.missing").count() == 1
    assert cell(page, "3.3").count() == 0
    row = next(r for r in rows(page) if r[0] == "2.1")
    assert row[2] == "—"
    assert not [r for r in rows(page) if r[0] == "3.3"]
    cell(page, "2.1").click()
    visit.settle()
    assert page.locator("#kernel .note").inner_text() == "The kernel of head 2.1 is missing."
    assert page.locator("#kernel .figures").is_hidden()
    page.goto(kernels_site.as_uri() + "#model=tiny-rotary&head=2.1")
    page.wait_for_selector("#card[open]")
    assert "Missing: this head has no kernel." in page.locator("#card").inner_text()
    assert "Missing: ETC was not measured." in page.locator("#card").inner_text()


# --- kernel of a head -------------------------------------------------------------------------------------------------


def test_a_click_on_a_cell_draws_that_kernel(visit: Visit, kernels_site: Path) -> None:
    page = visit.open_kernels(kernels_site)
    smallest = np.nanargmin(ROTARY_KERNELS["etc"].values[..., -1])
    assert page.input_value("#at") == f"{smallest // 4}.{smallest % 4}", "a page that is not empty at first"
    cell(page, "1.2").click()
    visit.until("document.activeElement.id === 'kernel-title'")
    trace = figure(page, "#kernel .plot.kernel")[0]
    np.testing.assert_allclose(kernel_drawn(page), kernel_expected(ROTARY_KERNELS, 1, 2), **HALF_FLOAT)
    assert (trace["x"][0], trace["x"][-1]) == (5, 63)
    ticks = page.evaluate("document.querySelector('#kernel .plot.kernel').layout.yaxis.ticktext")
    assert ticks == [str(n) for n in ROTARY_KERNELS["query"].values]
    row, uniform = figure(page, "#kernel .plot.line", 0)
    want = kernel_expected(ROTARY_KERNELS, 1, 2)[-1]
    np.testing.assert_allclose(row["y"], want, **HALF_FLOAT)
    assert uniform["y"] == pytest.approx([1 / 59] * 2)
    profile = figure(page, "#kernel .plot.line", 1)[0]
    full = dict(zip(ROTARY_KERNELS["distance"].values, ROTARY_KERNELS["distance_profile"].values[1, 2], strict=True))
    np.testing.assert_allclose(numbers(profile["y"]), [full[d] for d in profile["x"]], **HALF_FLOAT)
    held = sum(v for d, v in full.items() if d in profile["x"])
    assert held >= 0.99 * np.nansum(list(full.values()))


def test_the_row_of_the_chosen_query_is_plotted(visit: Visit, kernels_site: Path) -> None:
    page = visit.open_kernels(kernels_site, "#model=tiny-broad&at=0.0")
    figure(page, "#kernel .plot.kernel")
    places = BROAD_KERNELS["query"].values
    box = page.evaluate(
        """() => {
          const plot = document.querySelector('#kernel .plot.kernel');
          const { _offset: x, _length: w } = plot._fullLayout.xaxis;
          const { _offset: y, _length: h } = plot._fullLayout.yaxis;
          const at = plot.getBoundingClientRect();
          return [at.x + x, at.y + y, w, h];
        }"""
    )
    x, y = box[0] + 0.5 * box[2], box[1] + box[3] * 2.5 / len(places)
    page.mouse.move(x - 20, y)
    page.mouse.move(x, y, steps=4)
    page.wait_for_selector("#kernel .hovertext")
    text = page.locator("#kernel .hovertext").text_content() or ""
    assert text.startswith(f"query {places[2]}, key ")
    page.mouse.down()
    page.wait_for_timeout(200)
    page.mouse.up()
    visit.until(f"document.querySelector('#query').getAttribute('aria-valuetext') === 'query {places[2]}'")
    visit.settle()
    row = figure(page, "#kernel .plot.line", 0)[0]
    np.testing.assert_allclose(row["y"], BROAD_KERNELS["kernel"].values[0, 0, 2, 5:], **HALF_FLOAT)


def test_single_texts_have_a_line_each(visit: Visit, kernels_site: Path) -> None:
    """Kernels, denominators, and, in the first layer alone, denominators of a token put into the text."""
    page = visit.open_kernels(kernels_site, "#model=tiny-broad&at=0.1")
    lines = figure(page, "#kernel .plot.line", 2)
    assert len(lines) == 2
    last = int(BROAD_KERNELS["query"].values[-1])
    for text, line in enumerate(lines):
        expected = BROAD_KERNELS["kernel_gallery"].values[0, 1, 1, text, 5 : last + 1]
        np.testing.assert_allclose(numbers(line["y"]), expected, **HALF_FLOAT)
        assert list(line["x"]) == list(range(5, last + 1))
    own = figure(page, "#kernel .plot.line", 3)
    assert [list(line["x"]) for line in own] == [BROAD_KERNELS["query"].values.tolist()] * 3
    expected = BROAD_KERNELS["denominator"].values[0, 1].T
    np.testing.assert_allclose([line["y"] for line in own], expected, rtol=5e-4)  # four digits
    put = figure(page, "#kernel .plot.line", 4)
    assert [list(line["x"]) for line in put] == [[500, 520, 540, 600]] * 3
    np.testing.assert_allclose([line["y"] for line in put], BROAD_KERNELS["substitution"].values[:, 1])
    page = visit.open_kernels(kernels_site, "#model=tiny-broad&at=1.1")
    figure(page, "#kernel .plot.line", 2)
    assert page.locator("#kernel .pair > div").nth(4).is_hidden()


def test_single_texts_follow_the_chosen_query(visit: Visit, kernels_site: Path) -> None:
    page = visit.open_kernels(kernels_site, "#model=tiny-broad&at=0.1")
    figure(page, "#kernel .plot.line", 2)
    page.locator("#query").fill("5")
    visit.settle()
    lines = figure(page, "#kernel .plot.line", 2)
    heading = page.locator("#kernel .pair h4").nth(2).inner_text()
    early = int(BROAD_KERNELS["gallery_query"].values[0])
    assert heading == f"Query {early} in single texts"
    expected = BROAD_KERNELS["kernel_gallery"].values[0, 1, 0, :, 5:]
    np.testing.assert_allclose([numbers(line["y"]) for line in lines], expected, **HALF_FLOAT)


def test_denominators_that_stray_are_drawn_beside_the_bounds(visit: Visit, kernels_site: Path) -> None:
    page = visit.open_kernels(kernels_site, "#model=tiny-broad")
    *heads, observed, chebyshev, hoeffding = figure(page, "#strays .plot")
    assert len(heads) == 36
    share = BROAD_KERNELS["exceedance"].values.reshape(36, 3)
    np.testing.assert_allclose([line["y"][:2] for line in heads], share[:, :2], rtol=5e-4)
    assert all(line["y"][2] is None for line in heads), "a share of none has no place on a log axis"
    np.testing.assert_allclose(observed["y"][:2], share.mean(0)[:2], rtol=5e-4)
    np.testing.assert_allclose([chebyshev["y"], hoeffding["y"]], [[1, 0.25, 0.04], [1, 0.9, 0.6]], rtol=1e-12)


def test_two_models_lie_side_by_side(visit: Visit, kernels_site: Path) -> None:
    page = visit.open_kernels(kernels_site)
    page.select_option("#other", label="tiny-broad")
    visit.settle()
    for place in ("map", "kernel", "fidelity", "groups", "denominators", "per-layer"):
        assert [t.split("\n")[0] for t in page.locator(f"#{place} h3").all_inner_texts()][1].startswith("tiny-broad")
    ends = [text.split("√ETC 1")[1].split()[0] for text in page.locator("#map .legend").all_inner_texts()]
    assert ends[0] == ends[1], "one scale for both"
    cell(page, "2.7", pane=1).click()
    visit.settle()
    assert page.locator("#kernel .note").nth(0).inner_text() == "This model has no head 2.7."
    np.testing.assert_allclose(kernel_drawn(page, 1), kernel_expected(BROAD_KERNELS, 2, 7), **HALF_FLOAT)
    assert len(rows(page)) == 23 + 36


# --- fidelity, groups, denominators, layers ---------------------------------------------------------------------------


def points(page: Page, place: str) -> dict[str, tuple[float, float, str]]:
    """head → (x, y, category) of a scatter."""
    return {
        name: (x, y, trace["name"])
        for trace in figure(page, f"#{place} .plot")
        for name, x, y in zip(trace["customdata"], trace["x"], trace["y"], strict=True)
    }


def test_scatters_hold_every_head_that_was_measured(visit: Visit, kernels_site: Path) -> None:
    page = visit.open_kernels(kernels_site)
    drawn = points(page, "fidelity")
    spread = points(page, "denominators")
    assert len(drawn) == len(spread) == 22
    assert "2.1" not in drawn
    for name, (x, y, category) in drawn.items():
        at = tuple(map(int, name.split(".")))
        assert category == ROTARY_KERNELS["category"].values[at]
        values = [ROTARY_KERNELS[v].values[at] for v in ("tv_uniform", "tv_kernel")]
        np.testing.assert_allclose([x, y], values, atol=0.5e-4 + 1e-9)
        mean = ROTARY_KERNELS["denominator_mean"].values[at][-1]
        want = [ROTARY_KERNELS[v].values[at][-1] / mean for v in ("denominator_sd_predicted", "denominator_sd")]
        np.testing.assert_allclose(spread[name][:2], want, rtol=1e-3)  # 4 digits each
    assert "1 head is missing here" in page.locator("#fidelity").inner_text()
    line = page.evaluate("document.querySelector('#denominators .plot').layout.shapes[0]")
    assert (line["x0"], line["x1"]) == (line["y0"], line["y1"]), "the line of equal spreads"
    symbols = {t["name"]: t["marker"]["symbol"] for t in figure(page, "#fidelity .plot")}
    assert len({symbols[name] for name in SIGNS}) == 3
    listed = page.locator("dl.contextual dd").all()
    for place, name in zip(listed, ("both", "predicted", "measured"), strict=True):
        heads = [f"{i}.{j}" for i, j in np.argwhere(ROTARY_KERNELS["contextual"].values == name)]
        assert place.locator("a").all_inner_texts() == heads


def test_groups_and_pairs_are_those_of_the_layer(visit: Visit, kernels_site: Path) -> None:
    page = visit.open_kernels(kernels_site, "#model=tiny-broad")
    for layer in range(3):
        line = page.locator("table.groups tbody tr").nth(layer)
        group = BROAD_KERNELS["group"].values[layer]
        first_seen = list(dict.fromkeys(group.tolist()))
        want = [[f"{layer}.{h}" for h in np.flatnonzero(group == g)] for g in first_seen if (group == g).sum() > 1]
        assert [g.locator("a").all_inner_texts() for g in line.locator(".group").all()] == want
        variation = np.round(BROAD_KERNELS["kernel_variation"].values[layer], 3)
        unlike = int((np.triu(variation, 1) >= 0.5).sum())
        assert line.locator("td").nth(1).inner_text() == f"{unlike} of 66"
        line.get_by_role("button").click()
        visit.settle()
        assert page.locator("#groups h4").inner_text() == f"Pairs of layer {layer}"
        marked = page.locator("#groups [data-name]").evaluate_all(
            "(all) => all.map((td) => [td.dataset.name, td.textContent])"
        )
        assert len(marked) == 12 * 11
        for name, sign in marked:
            tv = variation[tuple(map(int, name.split("-")))]
            assert sign == ("=" if tv <= 0.1 else "×" if tv >= 0.5 else ""), name


def test_layers_show_shares_survival_and_the_first_layer(visit: Visit, kernels_site: Path) -> None:
    page = visit.open_kernels(kernels_site)
    (share,) = figure(page, "#per-layer .plot", 0)
    np.testing.assert_allclose(share["y"], ROTARY_KERNELS["positional_share"].values, atol=0.5e-4 + 1e-9)
    survival = figure(page, "#per-layer .plot", 1)
    for trace, want in zip(survival, ROTARY_KERNELS["content_survival"].values.T, strict=True):
        np.testing.assert_allclose(trace["y"], want, atol=0.5e-4 + 1e-9)
    assert len({t["line"]["dash"] for t in survival}) == len(survival)
    first = figure(page, "#per-layer .plot", 2)
    for trace, want in zip(first[:-1], ROTARY_KERNELS["tv_first_layer"].values, strict=True):
        np.testing.assert_allclose(trace["y"], want, atol=0.5e-4 + 1e-9)
    np.testing.assert_allclose(first[-1]["y"], ROTARY_KERNELS["tv_first_layer"].values.mean(axis=0), atol=1e-4)


def test_what_was_not_measured_has_no_empty_figure(visit: Visit, tmp_path: Path) -> None:
    bare = BROAD_KERNELS[["kernel", "etc", "category", "peak_offset"]]
    page = visit.open_kernels(report.write([bare], tmp_path / "report"))
    np.testing.assert_allclose(kernel_drawn(page), kernel_drawn(page))
    assert page.locator("#per-layer .plot:visible").count() == 0
    assert page.locator("#groups .map:visible").count() == 0
    assert page.locator("table.heads thead button").all_inner_texts()[2:] == ["ETC", "offset"]


def test_the_table_of_heads_sorts_and_is_searched(visit: Visit, kernels_site: Path) -> None:
    page = visit.open_kernels(kernels_site, "#model=tiny-broad")
    page.locator("table.heads th button[data-key='etc']").click()
    visit.settle()
    want = np.sort(BROAD_KERNELS["etc"].values[..., -1].ravel())[::-1]
    assert [float(v) for v in column(page, "etc")] == pytest.approx(want, abs=0.06)
    page.locator("table.heads th button[data-key='head']").click()
    for query, wanted in {
        "slow": BROAD_KERNELS["category"].values == "slow decay",
        "etc<4": BROAD_KERNELS["etc"].values[..., -1] < 4,
        "tv_kernel<0.1 1.": (BROAD_KERNELS["tv_kernel"].values < 0.1) & (np.arange(3)[:, None] == 1),
        "both": BROAD_KERNELS["contextual"].values == "both",
    }.items():
        page.fill("#search", query)
        visit.settle()
        assert sorted(column(page, "head")) == sorted(f"{i}.{j}" for i, j in np.argwhere(wanted)), query


# --- head card, provenance, texts -------------------------------------------------------------------------------------


def test_the_card_has_the_sections_of_both_capabilities_on_either_page(visit: Visit, kernels_site: Path) -> None:
    for name, first in (("kernels.html", "Positional kernel"), ("index.html", "Profile")):
        page = visit.page
        page.goto(kernels_site.with_name(name).as_uri() + "#model=tiny-rotary&head=5.1")
        page.wait_for_selector("#card[open] .plot.kernel-small .main-svg")
        titles = page.locator("#card h4").all_inner_texts()
        assert titles[0] == first
        assert {"Profile", "Positional kernel", "Kernel, query × key", "ETC over queries"} <= set(titles)
        assert page.locator("#card .note").count() == 0
        pairs = page.locator("#card .numbers div")
        shown = dict(pairs.evaluate_all("(all) => all.map((d) => [...d.children].map((c) => c.textContent))"))
        assert shown["a"] == f"{ROTARY['profile'].values[5, 1, 0, 0]:.4f}"
        for label, variable in {
            "TV kernel": "tv_kernel",
            "sink mass": "sink_mass",
            "consistency": "consistency",
        }.items():
            assert shown[label] == f"{ROTARY_KERNELS[variable].values[5, 1]:.3f}"
        assert shown["contextual"] == (str(ROTARY_KERNELS["contextual"].values[5, 1]) or "no")
        drawn = page.evaluate("document.querySelector('#card .kernel-small').data[0].z")
        np.testing.assert_allclose(numbers(drawn) ** 2, kernel_expected(ROTARY_KERNELS, 5, 1), **HALF_FLOAT)
        visit.settle()
        etc = page.evaluate("[...document.querySelectorAll('#card .plot.line')].map((p) => p.data[0].y)")
        assert any(np.allclose(numbers(y), ROTARY_KERNELS["etc"].values[5, 1], rtol=1e-3) for y in etc if len(y) == 8)
    page.locator("#card a", has_text="Larger").click()
    visit.until("document.activeElement.id === 'kernel-title'")
    assert page.url.endswith("kernels.html#model=tiny-rotary&at=5.1")
    np.testing.assert_allclose(kernel_drawn(page), kernel_expected(ROTARY_KERNELS, 5, 1), **HALF_FLOAT)


def test_the_footer_says_what_made_each_capability(visit: Visit, kernels_site: Path) -> None:
    page = visit.open_kernels(kernels_site)
    text = page.locator("#provenance").inner_text()
    assert "numerics report tiny-rotary" in text
    assert "numerics kernels tiny-rotary" in text
    assert page.locator("#provenance h3").all_inner_texts() == ["profile", "kernels"]
    page.goto(kernels_site.as_uri() + "#model=tiny-broad")
    visit.until("!document.querySelector('#provenance').textContent.includes('tiny-rotary')")
    assert "fedcba987654" in page.locator("#provenance").inner_text()


def test_the_other_page_opens_with_the_same_models(visit: Visit, kernels_site: Path) -> None:
    page = visit.open_kernels(kernels_site, "#model=tiny-rotary&at=1.2")
    page.locator("nav a", has_text="Profiles").click()
    visit.until("document.querySelector('#tetrahedron h3')?.textContent.startsWith('tiny-rotary') === true")
    page.locator("nav a", has_text="kernels").click()
    visit.until("document.querySelector('#at')?.value === '1.2'")


def test_texts_of_a_model_are_never_markup_on_the_page_of_kernels(visit: Visit, kernels_site: Path) -> None:
    page = visit.open_kernels(kernels_site)
    page.select_option("#model", label=EVIL_NAME)
    visit.settle()
    assert page.locator("#map h3").inner_text().startswith(EVIL_NAME)
    assert EVIL_KERNELS.attrs["text"] in page.locator("table.models").inner_text()
    cell(page, "0.0").hover()
    assert hint(page)[0] == "0.0  <b>new"
    for place in ("fidelity", "denominators"):
        plot = page.locator(f"#{place} .plot")
        figure(page, f"#{place} .plot")
        for name in ("<b>new", EVIL_NAME):
            texts = plot.evaluate("(p) => p.data.flatMap((t) => t.text)")
            assert not [t for t in texts if name in t], "plain `<` reaches Plotly"
    page.evaluate("location.hash = numericsReport.address({ head: '0.0' })")
    page.wait_for_selector("#card[open] .kernel-small .main-svg")
    assert page.title() == "Positional kernels"
    assert page.locator("main b:text('bold'), main img, #card img, .hint img").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_signs_can_be_read_on_every_cell(visit: Visit, kernels_site: Path, scheme: str) -> None:
    visit.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page = visit.open_kernels(kernels_site, "#model=tiny-broad")
    pairs = page.locator("#map [data-name]").evaluate_all(
        "(all) => all.map((td) => { const s = getComputedStyle(td); return [s.color, s.backgroundColor]; })"
    )

    def light(colour: str) -> float:
        v = np.array([int(x) for x in colour[4:-1].split(",")]) / 255
        linear = np.where(v <= 0.04045, v / 12.92, ((v + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    for ink, ground in pairs:
        high, low = sorted((light(ink), light(ground)), reverse=True)
        assert (high + 0.05) / (low + 0.05) >= 4.5, (ink, ground)  # WCAG 2 for text
    before = pairs[0]
    page.click("#theme")
    visit.settle()
    after = cell(page, "0.0").evaluate("(td) => getComputedStyle(td).backgroundColor")
    assert after != before[1], "the map follows the theme"


@pytest.mark.parametrize("width", [360, 700, 1100])
def test_nothing_sticks_out_of_the_page_of_kernels(visit: Visit, kernels_site: Path, width: int) -> None:
    visit.page.set_viewport_size({"width": width, "height": 800})
    page = visit.open_kernels(kernels_site, "#model=tiny-rotary&with=tiny-broad")
    for index in range(2):
        figure(page, "#kernel .plot.kernel", index)
        figure(page, "#denominators .plot", index)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.evaluate("location.hash = numericsReport.address({ head: '1.1' })")
    page.wait_for_selector("#card[open] .kernel-small .main-svg")
    assert page.evaluate("document.querySelector('#card').scrollWidth") <= width


def test_a_large_model_opens_at_once(visit: Visit, tmp_path: Path) -> None:
    large = kernels("large", 32, 32, length=64, queries=16)
    without_kernel(large, 31, 31)
    page = visit.open_kernels(report.write([large], tmp_path / "report"))
    assert page.locator("#map [data-name]").count() == 1023
    drawn = page.evaluate("[...document.querySelectorAll('.plot')].filter((p) => p._fullLayout).length")
    assert drawn < page.locator(".plot").count(), "figures wait until they are near"
    # From input to the end of the frame that draws it; a person calls 100 ms at once, the machine may be busy.
    took = page.evaluate(
        """() => new Promise((done) => {
          const start = performance.now();
          const slider = document.getElementById('query');
          slider.value = 3;
          slider.dispatchEvent(new Event('input'));
          requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - start)));
        })"""
    )
    assert took < 2000
