"""Steps a second of games in a browser: ``python -m benchmarks.play``, with Chromium on PATH or as ``BROWSER``.

Each world is played for some seconds on a desk's screen and on a phone's, at 30 steps a second. Reported are the steps
that the page has drawn per second, and the mean of the milliseconds from a step's request to its frame.
"""

from __future__ import annotations

import argparse
import os
import shutil
from typing import TYPE_CHECKING

from warpworld.cli.local_server import served
from warpworld.cli.play.app import make_app
from warpworld.cli.play.game import Game
from warpworld.cli.play.others import find_others
from warpworld.config import load_config

if TYPE_CHECKING:
    from playwright.sync_api import Browser

WORLDS = ("overcooked", "minatar_seaquest", "tag_gridworld", "tag_continuous", "deathmatch")
SCREENS = {"desk": (1200, 900), "phone": (390, 800)}
RATE = "30"
STEPS = "Number(document.body.dataset.steps ?? 0)"
ANSWERS = "performance.getEntriesByType('resource').filter(each => each.name.endsWith('/api/step'))"
MILLISECONDS = f"(all => all.reduce((sum, each) => sum + each.duration, 0) / all.length)({ANSWERS})"


def measure(browser: Browser, world: str, screen: tuple[int, int], seconds: float) -> tuple[float, float]:
    """Steps a second, and milliseconds of a request."""
    config = load_config(world, ["trainer.device=cpu"])
    with served(make_app(Game(config, find_others(config, None)))) as address:
        page = browser.new_page(viewport={"width": screen[0], "height": screen[1]})
        page.goto(address)
        page.locator("#cover:not([hidden])").wait_for()
        page.locator("#rate").select_option(RATE)
        page.keyboard.press("Enter")
        page.wait_for_timeout(500)
        began = page.evaluate("performance.now()"), page.evaluate(STEPS)
        page.wait_for_timeout(1000 * seconds)
        ended = page.evaluate("performance.now()"), page.evaluate(STEPS)
        waited = page.evaluate(MILLISECONDS)
        page.close()
    return 1000 * (ended[1] - began[1]) / (ended[0] - began[0]), waited


def main() -> None:
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("worlds", nargs="*", default=WORLDS, help="packaged configs")
    parser.add_argument("--seconds", type=float, default=2.0, help="of each measurement (default: 2)")
    arguments = parser.parse_args()
    path = shutil.which(os.environ.get("BROWSER", "chromium"))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for world in arguments.worlds:
            for name, screen in SCREENS.items():
                steps, waited = measure(browser, world, screen, arguments.seconds)
                print(f"{world:18} {name:6} {steps:5.1f} steps a second, {waited:5.1f} ms a request", flush=True)
        browser.close()


if __name__ == "__main__":
    main()
