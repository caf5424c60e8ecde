"""The report as a reader meets it: real headless Chromium, network off (see conftest: no request, no console error)."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page

from numerics import report
from tests.report.datasets import ABSOLUTE, EVIL_NAME, ROTARY, dataset
from tests.report.visit import Visit

HEADS, BASELINE, CURVE, OPEN_HEAD = 2, 3, 1, 4  # traces of the tetrahedron
SHIFT = 0.15  # of the whole tetrahedron along its axis
POINT_ERROR = 2e-4 + 1e-9  # two coordinates, each rounded to 4 decimals (half a digit), twice

PIXELS = """(pane) => {
  const plot = document.querySelectorAll('#tetrahedron .plot')[pane];
  const scene = plot._fullLayout.scene._scene;
  const { model, view, projection } = scene.glplot.cameraParams;
  const times = (m, v) => [0, 1, 2, 3].map((i) => m[i] * v[0] + m[4 + i] * v[1] + m[8 + i] * v[2] + m[12 + i] * v[3]);
  const box = plot.getBoundingClientRect();
  const { x, y, z, customdata } = plot.data[2];
  return customdata.map((name, i) => {
    const s = scene.dataScale;
    const v = [model, view, projection].reduce((p, m) => times(m, p), [x[i] * s[0], y[i] * s[1], z[i] * s[2], 1]);
    return [name, box.x + (v[0] / v[3] + 1) / 2 * box.width, box.y + (1 - v[1] / v[3]) / 2 * box.height];
  });
}"""


def trace(page: Page, index: int, pane: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = page.evaluate(
        "([p, i]) => document.querySelectorAll('#tetrahedron .plot')[p].data[i]", [pane, index]
    )
    return found


def profiles_drawn(page: Page, pane: int = 0) -> dict[str, tuple[float, float, float]]:
    """head → (d − c, a − b, c + d − a − b), read off the points: the tetrahedron stands on two opposite edges."""
    t = trace(page, HEADS, pane)
    y = np.array(t["y"]) * np.sqrt(2)
    return dict(zip(t["customdata"], zip(t["x"], np.array(t["z"]) - SHIFT, y, strict=True), strict=True))


def profiles_expected(data: Any, at: int) -> dict[str, tuple[float, float, float]]:
    values = data["profile"].values[:, :, at]
    return {
        f"{layer}.{head}": (d - c, a - b, c + d - a - b)
        for (layer, head), (a, b, c, d) in (((i, j), values[i, j]) for i, j in np.ndindex(values.shape[:2]))
        if not np.isnan(a)
    }


def assert_drawn(page: Page, data: Any, at: int, pane: int = 0) -> None:
    drawn, expected = profiles_drawn(page, pane), profiles_expected(data, at)
    assert drawn.keys() == expected.keys()
    for name, point in drawn.items():
        np.testing.assert_allclose(point, expected[name], rtol=0, atol=POINT_ERROR, err_msg=name)


def loneliest(page: Page, pane: int = 0) -> tuple[str, float, float]:
    """The drawn head farthest from all others on the screen, with its place."""
    page.locator("#tetrahedron .plot").nth(pane).scroll_into_view_if_needed()
    places = page.evaluate(PIXELS, pane)
    xy = np.array([p[1:] for p in places])
    apart = np.linalg.norm(xy[:, None] - xy[None], axis=-1) + np.diag([np.inf] * len(xy))
    best = places[int(apart.min(axis=1).argmax())]
    return best[0], best[1], best[2]


def rows(page: Page) -> list[list[str]]:
    found: list[list[str]] = page.evaluate(
        "[...document.querySelectorAll('table.heads tbody tr')].map((r) => [...r.cells].map((c) => c.textContent))"
    )
    return found


def column(page: Page, name: str) -> list[str]:
    heads = page.evaluate("[...document.querySelectorAll('table.heads thead th button')].map((b) => b.dataset.key)")
    return [row[heads.index(name)] for row in rows(page)]


# --- first view -------------------------------------------------------------------------------------------------------


def test_the_page_stands_with_the_network_off(visit: Visit, site: Path) -> None:
    page = visit.open(site)
    page.wait_for_timeout(500)
    assert page.locator("h1").inner_text() == "Profiles of attention heads"
    cells = page.locator("table.models tbody tr").nth(0).locator("th, td").all_inner_texts()
    assert cells[:7] == ["tiny-rotary", "rotary †", "6", "4", "23", "768", "64"]
    assert page.locator("#tetrahedron canvas").count() >= 1
    assert_drawn(page, ROTARY, 0)


def test_the_recorder_sees_a_request_that_leaves_the_disk(browser: Browser, site: Path, tmp_path: Path) -> None:
    """The check of every other test, shown a page that does ask outside."""
    (tmp_path / "leak.html").write_text("<img src='https://example.org/a.png'>")
    with browser.new_context() as context:
        one = Visit(context.new_page())
        one.page.goto((tmp_path / "leak.html").as_uri())
        one.page.wait_for_timeout(300)
        assert one.outside == ["https://example.org/a.png"]
        assert one.errors


def test_vertices_are_labelled(visit: Visit, site: Path) -> None:
    page = visit.open(site)
    texts = " ".join(page.locator("#tetrahedron .annotation-text").all_text_contents())
    for label in ("antisymmetric", "paired symmetric H", "positive", "negative", "semidefinite", "random baseline"):
        assert label in texts


def test_hover_names_the_head_and_its_numbers(visit: Visit, site: Path) -> None:
    page = visit.open(site)
    name, x, y = loneliest(page)
    page.mouse.move(x - 30, y - 30)
    page.mouse.move(x, y, steps=4)
    page.wait_for_selector("#tetrahedron .hovertext")
    text = page.locator("#tetrahedron .hovertext").text_content() or ""
    layer, head = map(int, name.split("."))
    assert text.startswith(name)
    assert "tiny-rotary" in text
    for letter, value in zip("abcd", ROTARY["profile"].values[layer, head, 0], strict=True):
        assert f"{letter} {value:.4f}" in text.replace("−", "-")


def test_a_click_on_a_point_opens_its_head(visit: Visit, site: Path) -> None:
    page = visit.open(site)
    name, x, y = loneliest(page)
    page.mouse.move(x - 30, y - 30)
    page.mouse.move(x, y, steps=4)
    page.wait_for_selector("#tetrahedron .hovertext")
    # Plotly looks at the pressed button when it draws: let it draw, however slow the machine.
    page.mouse.down()
    visit.settle()
    page.wait_for_timeout(200)
    page.mouse.up()
    page.wait_for_selector("#card[open]")
    assert page.locator("#card-title").inner_text() == f"Head {name}"
    mark = trace(page, OPEN_HEAD)
    assert (mark["x"][0], mark["y"][0], mark["z"][0]) == tuple(
        trace(page, HEADS)[k][trace(page, HEADS)["customdata"].index(name)] for k in "xyz"
    )


# --- controls ---------------------------------------------------------------------------------------------------------


def test_the_slider_moves_the_points_by_keyboard(visit: Visit, site: Path) -> None:
    page = visit.open(site)
    page.focus("#distance")
    for at, distance in ((1, "1"), (2, "4"), (3, "16")):
        page.keyboard.press("ArrowRight")
        visit.settle()
        assert page.locator(".track output").inner_text() == distance
        assert page.get_attribute("#distance", "aria-valuetext") == f"distance {distance}"
        assert_drawn(page, ROTARY, at)
    number = ROTARY["profile"].values[0, 0, 3, 0]
    assert column(page, "a")[0] == f"{number:.4f}"


def test_a_model_without_rotary_positions_has_no_slider(visit: Visit, site: Path) -> None:
    page = visit.open(site, "#model=tiny-absolute")
    assert page.locator("#distance").is_hidden()
    assert_drawn(page, ABSOLUTE, 0)


def test_colour_by_type_tells_types_apart_by_shape_too(visit: Visit, site: Path) -> None:
    page = visit.open(site)
    assert trace(page, HEADS)["marker"]["color"] == [int(n.split(".")[0]) for n in trace(page, HEADS)["customdata"]]
    page.get_by_text("Type", exact=True).click()
    visit.settle()
    t = trace(page, HEADS)
    kinds = [ROTARY["type"].values[(*map(int, n.split(".")), 0)] for n in t["customdata"]]
    looks = {
        kind: (colour, symbol)
        for kind, colour, symbol in zip(kinds, t["marker"]["color"], t["marker"]["symbol"], strict=True)
    }
    assert [looks[k] for k in kinds] == list(zip(t["marker"]["color"], t["marker"]["symbol"], strict=True))
    assert len({c for c, _ in looks.values()}) == len({s for _, s in looks.values()}) == len(looks) == 3


def test_baseline_and_curve_can_be_taken_away(visit: Visit, site: Path) -> None:
    page = visit.open(site)
    t = trace(page, BASELINE)
    a, b, c, d = ROTARY["baseline"].values
    np.testing.assert_allclose([t["x"][0], t["z"][0] - SHIFT], [d - c, a - b], atol=POINT_ERROR)
    curve = trace(page, CURVE)
    # c vertex → midpoint of a and b → d vertex: a = b (z at the middle) all along.
    assert curve["x"] == [-1, 0, 1]
    assert curve["y"] == pytest.approx([0.5**0.5, -(0.5**0.5), 0.5**0.5])
    assert curve["z"] == pytest.approx([SHIFT] * 3)
    page.get_by_label("Random baseline").uncheck()
    page.get_by_label("Accumulating curve").uncheck()
    visit.settle()
    assert trace(page, BASELINE)["x"] == []
    assert trace(page, CURVE)["visible"] is False


def test_models_lie_side_by_side_and_turn_together(visit: Visit, site: Path) -> None:
    page = visit.open(site)
    page.select_option("#other", label="tiny-absolute")
    visit.settle()
    assert page.locator("#tetrahedron h3").all_inner_texts()[1].startswith("tiny-absolute")
    assert_drawn(page, ROTARY, 0, pane=0)
    assert_drawn(page, ABSOLUTE, 0, pane=1)
    assert page.locator("#layers .plot").count() == 2
    page.locator("#tetrahedron .plot").nth(0).focus()
    page.keyboard.press("ArrowLeft")
    visit.settle()
    eyes = page.evaluate(
        "[...document.querySelectorAll('#tetrahedron .plot')].map((p) => p._fullLayout.scene.camera.eye)"
    )
    assert eyes[0] == eyes[1]
    assert eyes[0]["x"] < 0.1  # from 0.25, turned to the left
    page.select_option("#model", label="tiny-absolute")
    visit.settle()
    assert page.locator("#tetrahedron .plot").count() == 1
    assert_drawn(page, ABSOLUTE, 0)


def test_a_drag_turns_the_tetrahedron_and_a_new_distance_keeps_the_view(visit: Visit, site: Path) -> None:
    page = visit.open(site)
    page.locator("#tetrahedron .plot").scroll_into_view_if_needed()
    box = page.locator("#tetrahedron .plot").bounding_box()
    assert box
    eye = "document.querySelector('#tetrahedron .plot')._fullLayout.scene._scene.getCamera().eye"
    before = page.evaluate(eye)
    page.mouse.move(box["x"] + 60, box["y"] + 60)
    page.mouse.down()
    for step in range(1, 7):
        # A frame for each step: a busy machine would otherwise merge them.
        page.mouse.move(box["x"] + 60 + 30 * step, box["y"] + 60 + 5 * step)
        visit.settle()
    page.mouse.up()
    page.wait_for_timeout(300)
    turned = page.evaluate(eye)
    # The size of the turn depends on the frames drawn; any is far above rounding.
    assert abs(turned["x"] - before["x"]) > 0.02
    page.focus("#distance")
    page.keyboard.press("ArrowRight")
    visit.settle()
    assert page.evaluate(eye)["x"] == pytest.approx(turned["x"], abs=1e-6)


def test_shares_of_types_are_the_counts_of_each_layer(visit: Visit, site: Path) -> None:
    page = visit.open(site)
    bars = page.evaluate("document.querySelector('#layers .plot').data.map((t) => [t.name, t.y])")
    kinds = ROTARY["type"].values[:, :, 0]
    there = (kinds != "").sum(axis=1)
    for name, shares in bars:
        expected = (kinds == name.replace("−", "-")).sum(axis=1) / there
        np.testing.assert_allclose(shares, expected, atol=1e-12)
    assert {name.replace("−", "-") for name, _ in bars} == set(kinds.ravel()) - {""}


# --- table ------------------------------------------------------------------------------------------------------------


def test_the_table_sorts_with_missing_numbers_last(visit: Visit, site: Path) -> None:
    page = visit.open(site)
    for _ in range(2):
        page.locator("table.heads th button[data-key='c']").click()
        visit.settle()
        shown = column(page, "c")
        assert shown[-1] == "—"
        assert shown.count("—") == 1
        numbers = [float(n) for n in shown[:-1]]
        down = page.get_attribute("table.heads th[aria-sort]", "aria-sort") == "descending"
        assert numbers == sorted(numbers, reverse=down)
    assert page.evaluate("document.activeElement.dataset.key") == "c"
    page.locator("table.heads th button[data-key='head']").click()
    visit.settle()
    assert column(page, "head")[:5] == ["0.0", "0.1", "0.2", "0.3", "1.0"]


def test_heads_sort_as_numbers_and_not_as_text(visit: Visit, site: Path) -> None:
    page = visit.open(site, "#model=tiny-absolute")
    assert column(page, "head")[:13] == [f"0.{i}" for i in range(12)] + ["1.0"]


def test_the_table_is_searched(visit: Visit, site: Path) -> None:
    page = visit.open(site, "#model=tiny-absolute")
    kinds, profile = ABSOLUTE["type"].values[..., 0], np.round(ABSOLUTE["profile"].values[:, :, 0], 4)
    a, c = profile[..., 0], profile[..., 2]
    layer, head = np.indices(kinds.shape)
    for query, wanted in {
        "5.": layer == 5,
        "5.1": (layer == 5) & (head == 1),
        "I+": kinds == "I+",
        "I−": kinds == "I-",
        "a>0.4 ii": (a > 0.4) & (kinds == "II"),
        "c<0.01": c < 0.01,
        "nothing": np.zeros_like(a, dtype=bool),
    }.items():
        page.fill("#search", query)
        visit.settle()
        assert column(page, "head") == [f"{i}.{j}" for i, j in np.argwhere(wanted)], query
        assert page.locator(".count").inner_text() == f"{wanted.sum()} of 84 heads"


def test_rows_by_keyboard(visit: Visit, site: Path) -> None:
    page = visit.open(site)
    page.locator("table.heads tbody tr[tabindex='0']").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowUp", "ArrowDown"):
        page.keyboard.press(key)
    assert page.evaluate("document.activeElement.dataset.head") == "0.2"
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid", "the focus is seen"
    page.keyboard.press("Enter")
    page.wait_for_selector("#card[open]")
    assert page.locator("#card-title").inner_text() == "Head 0.2"
    page.keyboard.press("ArrowRight")
    visit.until("document.querySelector('#card-title').textContent === 'Head 0.3'")
    page.keyboard.press("Escape")
    page.wait_for_selector("#card:not([open])", state="attached")
    assert page.evaluate("document.activeElement.dataset.head") == "0.2"
    assert "head=" not in page.url


def test_a_head_without_a_profile_is_missing_and_not_zero(visit: Visit, site: Path) -> None:
    page = visit.open(site)
    assert "2.1" not in profiles_drawn(page)
    row = next(r for r in rows(page) if r[0] == "2.1")
    assert row[2:10] == ["—"] * 8
    assert "1 head has no profile here" in page.locator("#tetrahedron").inner_text()
    assert not [r for r in rows(page) if r[0] == "3.3"], "a layer with fewer heads shows no head it lacks"


# --- head card --------------------------------------------------------------------------------------------------------


def test_the_address_opens_a_head(visit: Visit, site: Path) -> None:
    page = visit.open(site, "#head=5.1")
    page.wait_for_selector("#card[open] .plot.line .main-svg")
    assert page.locator("#card-title").inner_text() == "Head 5.1"
    pairs = page.evaluate(
        "[...document.querySelectorAll('#card .numbers div')].map((d) => [...d.children].map((c) => c.textContent))"
    )
    shown = dict(pairs)
    for i, letter in enumerate("abcd"):
        assert shown[letter] == f"{ROTARY['profile'].values[5, 1, 0, i]:.4f}"
    assert shown["stable rank"] == f"{ROTARY['stable_rank'].values[5, 1, 0]:.2f}"
    lines = page.evaluate("document.querySelectorAll('#card .plot.line')[0].data.map((t) => t.y)")
    np.testing.assert_allclose(np.array(lines).T, ROTARY["profile"].values[5, 1], rtol=0, atol=1e-4)
    spectrum = ROTARY["symmetric_spectrum"].values[5, 1].astype(float)
    positive, negative = page.evaluate("document.querySelectorAll('#card .plot.line')[1].data.map((t) => t.y)")
    np.testing.assert_allclose(positive, np.sort(spectrum[spectrum > 0])[::-1][: len(positive)], rtol=0, atol=1e-4)
    np.testing.assert_allclose(negative, np.sort(-spectrum[spectrum < 0])[::-1][: len(negative)], rtol=0, atol=1e-4)


def test_the_address_names_the_model_too(visit: Visit, site: Path) -> None:
    page = visit.open(site, "#model=tiny-absolute&head=6.11")
    page.wait_for_selector("#card[open]")
    assert page.locator("#card h3").all_inner_texts() == ["tiny-absolute"]
    page.goto(site.as_uri() + "#model=tiny-rotary&with=tiny-absolute&head=6.11")
    visit.until("document.querySelectorAll('#card h3').length === 2")
    assert "This model has no head 6.11." in page.locator("#card").inner_text()
    page.keyboard.press("Escape")
    page.wait_for_selector("#card:not([open])", state="attached")


def test_a_missing_head_has_a_card_without_numbers(visit: Visit, site: Path) -> None:
    page = visit.open(site, "#head=2.1")
    page.wait_for_selector("#card[open]")
    text = page.locator("#card").inner_text()
    assert "Missing: L = 0" in text
    assert page.locator("#card .plot").count() == 0


# --- texts, downloads, themes, sizes ----------------------------------------------------------------------------------


def test_a_model_named_script_is_text(visit: Visit, site: Path) -> None:
    page = visit.open(site)
    page.select_option("#model", label=EVIL_NAME)
    visit.settle()
    assert page.locator("table.models tbody tr").nth(2).locator("th").inner_text() == EVIL_NAME
    assert page.locator("#tetrahedron h3").inner_text().startswith(EVIL_NAME)
    assert "</script><b>bold</b>" in page.locator("#provenance").inner_text()
    name, x, y = loneliest(page)
    page.mouse.move(x - 30, y - 30)
    page.mouse.move(x, y, steps=4)
    page.wait_for_selector("#tetrahedron .hovertext")
    assert EVIL_NAME in (page.locator("#tetrahedron .hovertext").text_content() or "")
    page.evaluate("(name) => { location.hash = numericsReport.address({ head: name }); }", name)
    page.wait_for_selector("#card[open]")
    assert page.locator("#card h3").inner_text() == EVIL_NAME
    assert page.title() == "Profiles of attention heads"
    assert page.locator("main b:text('bold'), main img, #card img").count() == 0


def test_the_csv_download_holds_the_numbers(visit: Visit, site: Path, tmp_path: Path) -> None:
    page = visit.open(site)
    with page.expect_download() as coming:
        page.get_by_label("Numbers of tiny-rotary as CSV").click()
    assert coming.value.suggested_filename == "tiny-rotary_profile.csv"
    coming.value.save_as(tmp_path / "numbers.csv")
    with (tmp_path / "numbers.csv").open(newline="", encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    assert len(table) == 23 * 4
    for row in table:
        at = (int(row["layer"]), int(row["head"]), [0, 1, 4, 16].index(int(row["distance"])))
        numbers = [float(row[c]) if row[c] else np.nan for c in "abcd"]
        np.testing.assert_array_equal(numbers, ROTARY["profile"].values[at])
        assert row["type"] == ROTARY["type"].values[at]


LUMINANCE = """() => {
  const css = getComputedStyle(document.documentElement);
  const light = (name) => {
    const n = parseInt(css.getPropertyValue(name).trim().slice(1), 16);
    const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    const [r, g, b] = [n >> 16, (n >> 8) & 255, n & 255].map((v) => linear(v / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (x, y) => (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
  const out = {};
  for (const name of ['--text', '--muted', '--accent', '--a', '--b', '--c', '--d', '--none']) {
    out[name] = Math.min(ratio(light(name), light('--bg')), ratio(light(name), light('--surface')));
  }
  return out;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_both_themes_have_contrast_and_can_be_switched(visit: Visit, site: Path, scheme: str) -> None:
    visit.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page = visit.open(site)
    background = "getComputedStyle(document.body).backgroundColor"
    dark = {"light": "rgb(250, 250, 248)", "dark": "rgb(20, 23, 27)"}
    other = "dark" if scheme == "light" else "light"
    assert page.evaluate(background) == dark[scheme]
    ink = page.evaluate("document.querySelector('#tetrahedron .plot').layout.font.color")
    for name, ratio in page.evaluate(LUMINANCE).items():
        # WCAG 2: 4.5 for text, 3 for graphical marks.
        assert ratio >= (4.5 if name in ("--text", "--muted", "--accent") else 3), (name, ratio)
    page.click("#theme")
    visit.settle()
    assert page.evaluate(background) == dark[other]
    assert page.evaluate("document.querySelector('#tetrahedron .plot').layout.font.color") != ink
    page.reload()
    assert page.evaluate(background) == dark[other], "the choice is kept"


@pytest.mark.parametrize("width", [360, 700, 1100])
def test_nothing_sticks_out_sideways(visit: Visit, site: Path, width: int) -> None:
    visit.page.set_viewport_size({"width": width, "height": 800})
    page = visit.open(site, "#model=tiny-rotary&with=tiny-absolute")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.evaluate("location.hash = numericsReport.address({ head: '5.1' })")
    page.wait_for_selector("#card[open] .plot.line .main-svg")
    assert page.evaluate("document.querySelector('#card').scrollWidth") <= width


def test_two_reports_are_open_side_by_side(visit: Visit, site: Path, tmp_path: Path) -> None:
    other = report.write([ABSOLUTE], tmp_path / "other")
    page = visit.open(site)
    second = Visit(page.context.new_page())
    second.open(other, "#head=6.11")
    page.focus("#distance")
    page.keyboard.press("ArrowRight")
    visit.settle()
    assert_drawn(page, ROTARY, 1)
    assert_drawn(second.page, ABSOLUTE, 0)
    assert second.page.locator("#card-title").inner_text() == "Head 6.11"
    assert second.outside == []
    assert second.errors == []


def test_a_large_model_draws_a_part_of_its_table_first(visit: Visit, tmp_path: Path) -> None:
    large = dataset("large", 40, 40, eigenvalues=32)
    page = visit.open(report.write([large], tmp_path / "report"))
    assert len(profiles_drawn(page)) == 1600
    assert len(rows(page)) == 100
    assert page.locator(".count").inner_text() == "1,600 of 1,600 heads"
    page.get_by_text("Show all 1,600 rows").click()
    visit.settle()
    assert len(rows(page)) == 1600


def test_layers_of_an_encoder_and_a_decoder_say_which(visit: Visit, tmp_path: Path) -> None:
    stacked = dataset("t5", 4, 2).assign_coords(stack=("layer", ["encoder"] * 2 + ["decoder"] * 2))
    page = visit.open(report.write([stacked], tmp_path / "report"))
    assert [row[1] for row in rows(page)] == ["encoder"] * 4 + ["decoder"] * 4
    page.fill("#search", "decoder")
    visit.settle()
    assert column(page, "head") == ["2.0", "2.1", "3.0", "3.1"]
