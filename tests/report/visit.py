"""One page of the browser, with what it asked for and what it complained about."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page, Route

LOCAL = ("file:", "data:", "blob:")


class Visit:
    """One open page. `outside` are the requests that left the disk, `errors` what the console called an error."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.outside: list[str] = []
        self.errors: list[str] = []
        page.on("request", lambda request: self._see(request.url))
        page.on("websocket", lambda socket: self._see(socket.url))
        page.on("console", lambda message: self.errors.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.route(lambda url: not url.startswith(LOCAL), self._abort)

    def _see(self, url: str) -> None:
        if not url.startswith(LOCAL):
            self.outside.append(url)

    def _abort(self, route: Route) -> None:
        route.abort()

    def open(self, index: Path, address: str = "") -> Page:
        self.page.goto(index.as_uri() + address)
        self.until("document.querySelector('#tetrahedron .plot')?._fullLayout?.scene?._scene?.glplot !== undefined")
        self.settle()
        return self.page

    def open_kernels(self, page: Path, address: str = "") -> Page:
        self.page.goto(page.as_uri() + address)
        self.until("document.querySelector('#map [data-name]') !== null")
        self.settle()
        return self.page

    def until(self, condition: str) -> None:
        """Wait until a JavaScript expression is true. (`wait_for_function` uses `eval`, which the page forbids.)"""
        for _ in range(300):
            if self.page.evaluate(condition) is True:
                return
            self.page.wait_for_timeout(100)
        raise AssertionError(f"never true: {condition}")

    def settle(self) -> None:
        """Until the frame that draws the last change is over."""
        self.page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
