"""Debian's Chromium, driven by Playwright, on a server of the tests. It must find no fault of its own on a page."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

CANDIDATES = ("chromium", "chromium-browser", "google-chrome")
SCREENSHOTS = Path(os.environ.get("SCREENSHOTS", "build/screenshots"))
ALLOWED_SCHEMES = {"data", "blob"}
TIMEOUT_MILLISECONDS = 60_000

expect.set_options(timeout=TIMEOUT_MILLISECONDS)


def chromium_path() -> str:
    """Where Chromium is. Without one a test is skipped, but fails where ``CI`` is set."""
    found = next((path for name in CANDIDATES if (path := shutil.which(name))), None)
    if found is None and "CI" in os.environ:
        pytest.fail("needs Chromium: apt-get install chromium")
    return found or pytest.skip("needs Chromium: apt-get install chromium")


@contextmanager
def running_browser() -> Iterator[Browser]:
    """A headless browser."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def visit(browser: Browser, base_url: str, width: int = 1280, expected: str = "") -> Iterator[Page]:
    """A page of a visitor of its own. Left, it must have asked no other host and had no console error.

    Errors that hold what is ``expected`` are none.
    """
    context = browser.new_context(base_url=base_url, viewport={"width": width, "height": 900})
    page = context.new_page()
    page.set_default_timeout(TIMEOUT_MILLISECONDS)
    faults: list[str] = []
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("request", lambda request: None if _allowed(request.url, base_url) else faults.append(request.url))
    try:
        yield page
        unexpected = [fault for fault in faults if not expected or expected not in fault]
        assert not unexpected, unexpected
    finally:
        context.close()


def screenshot(page: Page, name: str) -> None:
    """Keeps a picture of the page under ``SCREENSHOTS``."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True)


def _allowed(url: str, base_url: str) -> bool:
    return urlsplit(url).scheme in ALLOWED_SCHEMES or urlsplit(url).netloc == urlsplit(base_url).netloc
