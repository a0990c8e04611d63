"""The page that plays a recording, in a browser: what a reader sees and what keys and buttons do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.browser.opening import OpenPage
from tests.report.recorded_worlds import Drawn, config_of
from warpworld.report.recording import record
from warpworld.report.replay import write_replay

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.long, pytest.mark.cpu_backend]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A page with two episodes of three steps."""
    recording = record(config_of(Drawn), {"left": None, "right": None}, episodes=2)
    return write_replay(recording, tmp_path_factory.mktemp("replay") / "replay.html").as_uri()


def step(page: Page) -> str:
    return page.locator(".replay-state").inner_text()


def test_keys_step_through_the_episodes(address: str, open_page: OpenPage) -> None:
    page = open_page(f"{address}#frame=0")
    assert step(page) == "step 0, episode 1 of 2"
    page.keyboard.press("ArrowRight")
    assert step(page) == "step 1, episode 1 of 2"
    page.keyboard.press("End")
    assert step(page) == "step 3, episode 2 of 2: time is up"
    page.keyboard.press("ArrowLeft")
    assert step(page) == "step 2, episode 2 of 2"
    page.keyboard.press("Home")
    assert step(page) == "step 0, episode 1 of 2"
