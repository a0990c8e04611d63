"""Photographs the pages of a run for the documentation: its report, its replay and the board of the folder it lies in.

`make pictures RUN=...` runs it from the repository's root; Chromium and Playwright come with `make browser-tools`.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.sync_api import sync_playwright

from warpworld.cli.board.index import RunIndex
from warpworld.cli.board.server import served

if TYPE_CHECKING:
    from playwright.sync_api import Browser

HERE = Path(__file__).parent
NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
DRAWN = "#panels polyline"  # what the board shows last


def photograph(browser: Browser, address: str, name: str, size: tuple[int, int], wait_for: str = "body") -> None:
    """Write a picture of a page of ``size`` pixels."""
    page = browser.new_page(viewport={"width": size[0], "height": size[1]})
    page.goto(address)
    page.locator(wait_for).first.wait_for()
    page.screenshot(path=HERE / name)
    page.close()
    print(HERE / name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path, help="a run folder with report.html and replay.html, beside other runs")
    parser.add_argument("--only", choices=("report", "replay", "board"), help="one of the pictures")
    run, only = vars(parser.parse_args()).values()
    browser_path = next(filter(None, map(shutil.which, NAMES)), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        if only in (None, "report"):
            photograph(browser, f"{(run / 'report.html').resolve().as_uri()}#frame=20", "report.png", (1180, 1640))
        if only in (None, "replay"):
            address = f"{(run / 'replay.html').resolve().as_uri()}#frame=20&agent=1"
            photograph(browser, address, "replay.png", (1180, 860))
        if only in (None, "board"):
            index = RunIndex(run.parent)
            index.refresh()
            with served(index) as address:
                photograph(browser, address, "board.png", (1400, 900), DRAWN)
        browser.close()


if __name__ == "__main__":
    sys.exit(main())
