"""Photographs pages for the documentation: a run's report and replay, the board of the folder it lies in, and a game.

`make pictures RUN=...` runs it from the repository's root; Chromium and Playwright come with `make browser-tools`.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.sync_api import sync_playwright

from warpworld.cli import local_server
from warpworld.cli.board.index import RunIndex
from warpworld.cli.board.server import served
from warpworld.cli.play.app import make_app
from warpworld.cli.play.game import Game
from warpworld.cli.play.others import find_others
from warpworld.config import load_config

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

HERE = Path(__file__).parent
NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
DRAWN = "#panels polyline"  # what the board shows last
WALK = [[3, 0, 0]] * 12 + [[3, 1, 0]] * 14 + [[0, 3, 1]] * 6  # a game's steps: forward, to the left, and fire


def photograph(
    browser: Browser,
    address: str,
    name: str,
    size: tuple[int, int],
    wait_for: str = "body",
    prepare: Callable[[Page], None] = lambda page: None,
) -> None:
    """Write a picture of a page of ``size`` pixels."""
    page = browser.new_page(viewport={"width": size[0], "height": size[1]})
    page.goto(address)
    page.locator(wait_for).first.wait_for()
    prepare(page)
    page.screenshot(path=HERE / name)
    page.close()
    print(HERE / name)


def played_game() -> Game:
    """A game of Deathmatch against a script, some steps from its start."""
    config = load_config("deathmatch", ["trainer.device=cpu"])
    game = Game(config, find_others(config, "walker"), seed=4)
    for choices in WALK:
        game.step(choices)
    return game


def lift_cover(page: Page) -> None:
    """Show the game as it is, without a step."""
    page.evaluate("document.getElementById('cover').style.display = 'none'")
    page.evaluate("document.getElementById('pause').disabled = false")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path, help="a run folder with report.html and replay.html, beside other runs")
    parser.add_argument("--only", choices=("report", "replay", "board", "play"), help="one of the pictures")
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
        if only in (None, "play"):
            with local_server.served(make_app(played_game())) as address:
                photograph(browser, address, "play.png", (1180, 1000), "#cover:not([hidden])", lift_cover)
        browser.close()


if __name__ == "__main__":
    sys.exit(main())
