"""A browser for all tests of a process, and a page that notes whatever goes wrong in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

#: Chromium looks for updates and the like; here it must not.
QUIET = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    from shutil import which

    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=which("chromium"), args=QUIET.split())
        yield opened
        opened.close()


class Opened:
    """A report in the browser. What goes wrong in it is in `trouble`."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.trouble: list[str] = []
        page.on("pageerror", lambda error: self.trouble.append(f"error: {error}"))
        page.on("console", self._console)
        page.on("request", self._request)

    def _console(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.trouble.append(f"console: {message.text}")

    def _request(self, request: Any) -> None:
        if not request.url.startswith(("file:", "blob:", "data:")):
            self.trouble.append(f"request: {request.url}")

    def tab(self, name: str) -> None:
        self.page.get_by_role("tab", name=name, exact=True).click()

    def button(self, name: str) -> None:
        self.page.get_by_role("button", name=name, exact=True).first.click()

    def choose(self, node: int) -> None:
        """Choose a node of the shown tree, and look at its panel."""
        self.tab("Node")
        self.page.locator(f'.card[data-node="{node}"]').dispatch_event("click")

    @property
    def said(self) -> str:
        return str(self.page.locator(".status").inner_text())

    def answers(self, rows: Any) -> list[dict[str, Any]]:
        """What the page says of rows as its trees walk them."""
        entries = [[None if value != value else value for value in row] for row in rows.tolist()]
        found: list[dict[str, Any]] = self.page.evaluate(
            "rows => rows.map((row) => obliqua.answer(row))", entries
        )
        return found

    def edits(self) -> str:
        return str(self.page.evaluate("() => obliqua.edits()"))


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Opened]]:
    """Open reports; at the end nothing may have gone wrong in any of them."""
    pages: list[Opened] = []

    def open_one(report: Any, **settings: Any) -> Opened:
        path = tmp_path / f"report{len(pages)}.html"
        report.save(path)
        context = browser.new_context(
            viewport={"width": 1400, "height": 1000}, accept_downloads=True, **settings
        )
        context.set_default_timeout(10_000)
        one = Opened(context.new_page())
        pages.append(one)
        one.page.goto(path.as_uri())
        return one

    yield open_one
    for one in pages:
        one.page.context.close()
        assert one.trouble == []
