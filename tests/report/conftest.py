"""A real headless Chromium with the network off, and reports of made-up models."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from checks.chromium import chromium
from numerics import report
from tests.report.datasets import ABSOLUTE, BROAD_KERNELS, EVIL, EVIL_KERNELS, ROTARY, ROTARY_KERNELS
from tests.report.visit import Visit


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


@pytest.fixture
def visit(browser: Browser) -> Iterator[Visit]:
    with browser.new_context(viewport={"width": 1200, "height": 900}, color_scheme="light") as context:
        one = Visit(context.new_page())
        yield one
        assert one.outside == [], "the page asked for something outside its folder"
        assert one.errors == []


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return report.write([ROTARY, ABSOLUTE, EVIL], tmp_path_factory.mktemp("site") / "report")


@pytest.fixture(scope="session")
def kernels_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of kernels of a report in which some models have profiles, some kernels, some both."""
    datasets = [ROTARY, ABSOLUTE, EVIL, BROAD_KERNELS, ROTARY_KERNELS, EVIL_KERNELS]
    return report.write(datasets, tmp_path_factory.mktemp("site") / "report").parent / "kernels.html"
