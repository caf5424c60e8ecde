"""The head that a page looks at: its list, its steps, and who is taken to its figure."""

from __future__ import annotations

from pathlib import Path

import pytest

from numerics import report
from tests.report.band_datasets import BANDS
from tests.report.datasets import ROTARY_KERNELS
from tests.report.visit import Visit

FIGURES = {"kernels": "kernel-title", "bands": "spectrum-title"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return report.write([ROTARY_KERNELS, BANDS], tmp_path_factory.mktemp("site") / "report").parent


@pytest.mark.parametrize("name", FIGURES)
def test_only_a_head_that_was_chosen_elsewhere_takes_the_focus_to_its_figure(
    visit: Visit, folder: Path, name: str
) -> None:
    title = f"document.getElementById('{FIGURES[name]}')"
    page = visit.page

    def shown(head: str) -> None:
        visit.until(f"({title}.parentElement.querySelector('h3 small')?.textContent || '').startsWith('head {head},')")
        visit.settle()
        assert page.input_value("#at") == head

    page.goto((folder / f"{name}.html").as_uri() + "#at=0.2")
    shown("0.2")
    assert page.evaluate(f"document.activeElement === {title}")
    page.focus("#at")
    page.select_option("#at", "4.1")
    shown("4.1")
    assert page.evaluate("document.activeElement.id") == "at"
    for label, head in (("Next head", "4.2"), ("Previous head", "4.1"), ("Previous head", "4.0"), ("Next head", "4.1")):
        page.get_by_role("button", name=label).click()
        shown(head)
        assert page.evaluate("document.activeElement.getAttribute('aria-label')") == label
    page.evaluate("location.hash = '#at=0.0'")
    shown("0.0")
    assert page.evaluate(f"document.activeElement === {title}")
    page.get_by_role("button", name="Previous head").click()
    visit.settle()
    shown("0.0")
    page.click("#open-card")
    visit.until("document.querySelector('#card[open]') !== null")
    assert page.evaluate("location.hash").endswith("head=0.0")
