"""A browser that is installed on this machine, for tests that look at pages."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

NAMES = ("chromium", "chromium-browser", "google-chrome")
# Without a sandbox, for containers run tests as root; pages are our own.
OPTIONS = ("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage")


def find() -> str | None:
    """Give the path of the first browser that is there."""
    return next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def launched() -> Iterator[Browser]:
    """Start a browser without a window; skip the test where there is none."""
    path = find()
    if path is None:
        pytest.skip(f"no browser: none of {', '.join(NAMES)} is installed")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=path, args=list(OPTIONS))
        try:
            yield browser
        finally:
            browser.close()


class Visit:
    """A page that is open, and what went wrong in it."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.faults: list[str] = []
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.faults.append(str(error)))

    def _console(self, message: Any) -> None:
        if message.type in {"error", "warning"}:
            self.faults.append(message.text)


@contextmanager
def visiting(browser: Browser, **options: Any) -> Iterator[Visit]:
    """Open a page with the options of a context: `viewport`, `color_scheme`, `locale`, ..."""
    context = browser.new_context(**options)
    try:
        visit = Visit(context.new_page())
        visit.page.set_default_timeout(20_000)
        yield visit
    finally:
        context.close()
