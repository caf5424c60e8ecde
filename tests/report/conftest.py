"""A real headless Chromium with the network off, and reports of made-up models."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from numerics import report
from tests.report.datasets import ABSOLUTE, EVIL, ROTARY
from tests.report.visit import Visit

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--use-gl=swiftshader",
    "--enable-unsafe-swiftshader",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
]


def chromium() -> str:
    found = os.environ.get("NUMERICS_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if not found:
        pytest.fail("no Chromium: apt-get install chromium, or set NUMERICS_CHROMIUM to its path", pytrace=False)
    return found


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        yield running
        running.close()


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
