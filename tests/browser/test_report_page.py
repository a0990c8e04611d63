"""A report in a browser: charts are read with the pointer, replays play in it, it fits phones and dark rooms."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser.opening import OpenPage
from tests.report.recorded_worlds import recording_of
from tests.report.test_report import run_with, written
from warpworld.drawing import Discs
from warpworld.report.replay import replay_text

pytestmark = [pytest.mark.long, pytest.mark.cpu_backend]


@pytest.fixture
def address(tmp_path: Path) -> str:
    """A report with charts, constant ones among them, and a replay of three frames."""
    run = run_with(tmp_path)
    replay = replay_text(recording_of(*[[Discs(5, 5, 1)]] * 3))
    written([run], tmp_path / "report.html", replays={run.path: replay}, random_returns={"left": 45.0})
    return (tmp_path / "report.html").as_uri()


def test_charts_are_read_with_the_pointer(address: str, open_page: OpenPage) -> None:
    page = open_page(address)
    figure = page.locator("figure", has_text="left: return")
    box = figure.locator("svg").bounding_box()
    assert box is not None
    figure.locator("svg").hover(position={"x": box["width"] - 25, "y": 20})
    assert figure.locator(".reading text").text_content() == "at 24:  30 "
    page.mouse.move(0, 0)
    assert figure.locator(".reading").count() == 0


def test_what_never_changes_is_folded_until_it_is_opened(address: str, open_page: OpenPage) -> None:
    page = open_page(address)
    folded = page.locator("figure", has_text="learning rate")
    assert folded.is_hidden()
    page.get_by_text("never changes: learning rate").click()
    assert folded.is_visible()


def test_a_replay_waits_in_the_report_until_it_is_played(address: str, open_page: OpenPage) -> None:
    page = open_page(address)
    state = page.locator(".replay-state")
    assert state.inner_text() == "step 0"
    page.get_by_title("play", exact=True).click()
    page.locator(".replay-state", has_text="step 2").wait_for()


def test_a_phone_and_a_dark_page(address: str, open_page: OpenPage) -> None:
    page = open_page(address, phone=True, dark=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(22, 25, 28)"
