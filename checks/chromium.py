"""A headless Chromium for looking at pages: Debian's `chromium`, Google Chrome, or what NUMERICS_CHROMIUM names."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser

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


@contextmanager
def chromium() -> Iterator[Browser]:
    """A running browser. Raises FileNotFoundError when none is installed."""
    from playwright.sync_api import sync_playwright

    found = os.environ.get("NUMERICS_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if not found:
        raise FileNotFoundError("no Chromium: apt-get install chromium, or set NUMERICS_CHROMIUM to its path")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=FLAGS)
        yield browser
        browser.close()
