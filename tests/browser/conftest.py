"""A headless Chromium for the tests of pages; without one they are skipped."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.browser_tools import find_chromium
from tests.browser.opening import OpenPage

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

DESK, PHONE = {"width": 1200, "height": 900}, {"width": 390, "height": 800}
LOCAL = ("file:", "data:", "blob:", "http://127.0.0.1:", "about:")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser for a file's tests: Playwright's event loop must not outlive it, since other tests run their own."""
    playwright = pytest.importorskip("playwright.sync_api", reason="no Playwright here; make browser-tools installs it")
    path = find_chromium()
    if path is None:
        pytest.skip("no Chromium here; make browser-tools installs it")
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])  # CI runs as root
        yield started
        started.close()


@pytest.fixture
def open_page(browser: Browser) -> Iterator[OpenPage]:
    """Opens an address in a page of its own; afterwards no page may have logged an error or asked for the network."""
    contexts, faults = [], []

    def open_one(address: str, phone: bool = False, dark: bool = False, **options: Any) -> Page:
        size, scheme = PHONE if phone else DESK, "dark" if dark else "light"
        context = browser.new_context(viewport=size, color_scheme=scheme, has_touch=phone, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on("pageerror", lambda error: faults.append(f"exception: {error}"))
        page.on("console", lambda line: faults.append(line.text) if line.type in ("error", "warning") else None)
        page.on("request", lambda asked: faults.append(asked.url) if not asked.url.startswith(LOCAL) else None)
        page.goto(address)
        return page

    yield open_one
    for context in contexts:
        context.close()
    assert faults == []
