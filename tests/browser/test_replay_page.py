"""The page that plays a recording, in a browser: what a reader sees and what keys, buttons and pointers do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from gymnasium.spaces import Discrete

from tests.browser.opening import OpenPage
from tests.report.recorded_worlds import SPACE, Plain, config_of, recording_of
from warpworld.drawing import Discs, Drawing, Image, Text
from warpworld.environment import Array, Group
from warpworld.report.recording import record
from warpworld.report.replay import write_replay

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.long, pytest.mark.cpu_backend]

CHOICE = ".replay-choice select"
TRAP = '<img src="x" onerror="document.title = 1">'


class Placed(Plain):
    """Draws a disc for each agent, and says where agents are."""

    def draw(self, arrays: Mapping[str, np.ndarray]) -> Drawing:
        x = arrays["x"] % 100.0
        return Drawing((-10, -10, 40, 20), [Discs(x, 5.0, 1.0, fill="left")], places=(x, 5.0))


class Wide(Plain):
    """One agent, which sees a table beside what others see."""

    def groups(self) -> Sequence[Group]:
        return [Group("agent", 1, SPACE, Discrete(2))]

    def arrays(self) -> Sequence[Array]:
        return [*super().arrays(), Array("seen", "float32", (2, 6), initial=0.0)]

    def _step(self, arrays: Any, active: Any) -> None:
        super()._step(arrays, active)
        arrays["seen"][:, :, 0, 0] = -1.5

    def _reset(self, arrays: Any, active: Any) -> None:
        arrays["x"] = 0.0 * arrays["x"]


class Apart(Placed):
    """Groups with actions of their own; those of the second group have names."""

    def groups(self) -> Sequence[Group]:
        names = ("wait", "run")
        own = Group("right", 1, SPACE, Discrete(2), own_arrays=True, action_names=names)
        return [Group("left", 2, SPACE, Discrete(2)), own]

    def _step(self, arrays: Any, active: Any) -> None:
        arrays["x"] = arrays["x"] + 1.0
        arrays["terminated"] = arrays["timestep"] == 3

    def _reset(self, arrays: Any, active: Any) -> None:
        arrays["x"] = 0.0 * arrays["x"] + 10.0 * torch.arange(3)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A page with two episodes of three steps."""
    recording = record(config_of(Placed), {"left": None, "right": None}, episodes=2)
    return write_replay(recording, tmp_path_factory.mktemp("replay") / "replay.html").as_uri()


def step(page: Page) -> str:
    return page.locator(".replay-state").inner_text()


def shown(page: Page) -> dict[str, str]:
    """The panel's table: text by name."""
    rows = page.locator(".replay-arrays tr").all_inner_texts()
    return dict(row.split("\t", 1) for row in rows if "\t" in row)


COLOURS = """canvas => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const found = new Set();
  for (let i = 0; i < data.length; i += 4) if (data[i + 3] === 255) found.add(data.slice(i, i + 3).join(" "));
  return [...found];
}"""


def colours(page: Page, selector: str) -> set[str]:
    """The colours on a canvas, such as "255 0 0", of pixels that are not transparent."""
    return set(page.eval_on_selector(selector, COLOURS))


def place_of(page: Page, agent: float) -> tuple[float, float]:
    """Where the agent is on the page at frame 0: the view is 50 wide and 30 high, agents stand at 10 a and 5."""
    box = page.locator(".replay-stage canvas").bounding_box()
    assert box is not None
    return box["x"] + box["width"] * (10 * agent + 10) / 50, box["y"] + box["height"] * 15 / 30


# ---- time ------------------------------------------------------------------------------------------------------------
def test_keys_step_through_the_episodes(address: str, open_page: OpenPage) -> None:
    page = open_page(f"{address}#frame=0")
    assert step(page) == "step 0, episode 1 of 2"
    for key, expected in (
        ("ArrowRight", "step 1, episode 1 of 2"),
        ("End", "step 3, episode 2 of 2: time is up"),
        ("ArrowLeft", "step 2, episode 2 of 2"),
        ("Shift+ArrowLeft", "step 0, episode 1 of 2"),
        ("Shift+ArrowRight", "step 3, episode 2 of 2: time is up"),
        ("Home", "step 0, episode 1 of 2"),
    ):
        page.keyboard.press(key)
        assert step(page) == expected
    page.keyboard.press("+")
    assert page.locator("select[aria-label=speed]").input_value() == "2"


def test_it_plays_by_itself_to_the_end(address: str, open_page: OpenPage) -> None:
    page = open_page(f"{address}#speed=8")
    page.locator(".replay-state", has_text="step 3, episode 2 of 2").wait_for()
    page.get_by_title("play", exact=True).wait_for()  # which the button says once it has stopped


def test_it_stands_still_where_the_reader_wants_no_motion(address: str, open_page: OpenPage) -> None:
    page = open_page(address, reduced_motion="reduce")
    assert page.get_by_title("play", exact=True).is_visible()
    page.keyboard.press(" ")
    assert page.get_by_title("pause", exact=True).is_visible()


def test_it_plays_again_and_again(address: str, open_page: OpenPage) -> None:
    page = open_page(f"{address}#frame=6&speed=2&loop&play")
    for expected in ("step 3, episode 2", "step 1, episode 1", "step 3, episode 1"):
        page.wait_for_function(
            "text => document.querySelector('.replay-state').textContent.includes(text)", arg=expected
        )
    assert page.get_by_title("pause", exact=True).is_visible()


def test_the_strip_and_the_slider_scrub(address: str, open_page: OpenPage) -> None:
    page = open_page(f"{address}#frame=0")
    strip = page.locator(".replay-timeline")
    box = strip.bounding_box()
    assert box is not None
    strip.click(position={"x": 8 + (box["width"] - 16) * 5 / 7, "y": 20})
    assert step(page) == "step 1, episode 2 of 2"
    page.locator(".replay-slider").fill("2")
    assert step(page) == "step 2, episode 1 of 2"


LETTERS = """() => {
  window.letters = [];
  const fillText = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
    if (this.canvas.matches(".replay-timeline")) window.letters.push([text, x]);
    return fillText.call(this, text, x, y);
  };
}"""


def test_the_line_of_the_present_strikes_no_number_of_the_strip(address: str, open_page: OpenPage) -> None:
    page = open_page(f"{address}#frame=1")
    page.evaluate(LETTERS)
    at = {}
    for frame in ("0", "4"):
        page.evaluate("window.letters.length = 0")
        page.locator(".replay-slider").fill(frame)
        at[frame] = dict(page.evaluate("window.letters"))
    assert at["4"]["366"] == at["4"]["step 0"] == 8  # the largest return and the first step, at the strip's left edge
    assert (at["0"]["366"], at["0"]["step 0"]) == (12, 8)  # the present's line stands at 8, and ends above the steps


# ---- agents ----------------------------------------------------------------------------------------------------------
def test_an_agent_is_chosen_and_its_numbers_are_shown(address: str, open_page: OpenPage) -> None:
    page = open_page(f"{address}#frame=0")
    assert shown(page) == {"episodes": "0"}
    page.locator(CHOICE).select_option("left 1")
    start = {"reward": "-", "return": "0", "observations": "10", "actions": "-", "x": "10", "episodes": "0"}
    assert shown(page) == start
    page.keyboard.press("Tab")  # out of the choice, which keeps the arrows to itself
    page.locator(".replay-slider").fill("2")
    after = shown(page)
    assert after.pop("actions") in ("0", "1")
    assert after == {"reward": "12", "return": "23", "observations": "12", "x": "12", "episodes": "0"}


def test_actions_have_the_names_of_their_group(tmp_path: Path, open_page: OpenPage) -> None:
    recording = record(config_of(Apart), {"left": None, "right": None})
    page = open_page(write_replay(recording, tmp_path / "replay.html").as_uri() + "#frame=1&agent=2")
    assert shown(page)["actions_right"] in ("wait", "run") and "actions_left" not in shown(page)
    page.mouse.move(*place_of(page, 2.1))
    assert page.locator(".replay-tip").inner_text().endswith(f"action {shown(page)['actions_right']}")
    page.locator(CHOICE).select_option("left 1")
    assert shown(page)["actions_left"] in ("0", "1")


def test_the_pointer_finds_agents(address: str, open_page: OpenPage) -> None:
    page = open_page(f"{address}#frame=0")
    tip = page.locator(".replay-tip")
    page.mouse.move(*place_of(page, 2))
    assert tip.inner_text() == "right: reward -, return 0, action -"
    page.mouse.move(*place_of(page, 1))
    assert tip.inner_text().startswith("left 1: ")
    page.mouse.click(*place_of(page, 1))
    assert page.locator(CHOICE).input_value() == "1"
    page.mouse.move(0, 0)
    assert tip.is_hidden()


def test_keys_choose_and_follow(address: str, open_page: OpenPage) -> None:
    page = open_page(f"{address}#frame=0")
    agent, follow = page.locator(CHOICE), page.get_by_title("follow the chosen agent")
    for key, expected in (("a", "0"), ("a", "1"), ("A", "0"), ("A", "2"), ("Escape", ""), ("f", "0")):
        page.keyboard.press(key)
        assert agent.input_value() == expected
    assert follow.get_attribute("aria-pressed") == "true"
    page.mouse.move(*place_of(page, 1.5))  # the middle of the picture: where agent 0 is now
    assert page.locator(".replay-tip").inner_text().startswith("left 0: ")
    page.keyboard.press("Escape")
    assert follow.get_attribute("aria-pressed") == "false"


def test_a_link_leads_to_the_frame_and_the_agent(address: str, open_page: OpenPage) -> None:
    page = open_page(f"{address}#frame=0")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("A")
    page.keyboard.press("f")
    page.get_by_title("link to this frame").click()
    assert page.url == f"{address}#frame=1&agent=2&follow"
    other = open_page(page.url)
    assert (step(other), other.locator(CHOICE).input_value()) == ("step 1, episode 1 of 2", "2")
    assert shown(other)["x"] == "21"


@pytest.mark.parametrize("wrong", ["frame=-3&agent=17", "frame=x&agent=1.5&speed=3", "agent=&frame=", "%"])
def test_an_address_that_means_nothing_is_no_fault(wrong: str, address: str, open_page: OpenPage) -> None:
    page = open_page(f"{address}#{wrong}", reduced_motion="reduce")
    assert step(page) == "step 0, episode 1 of 2"


def test_long_arrays_are_cells_that_can_be_read(tmp_path: Path, open_page: OpenPage) -> None:
    recording = record(config_of(Wide), {"agent": None})
    page = open_page(write_replay(recording, tmp_path / "replay.html").as_uri() + "#frame=1")
    assert shown(page)["seen"] == "2 \u00d7 6"
    page.locator(".replay-cells").hover(position={"x": 1, "y": 1})
    assert page.locator(".replay-panel output").inner_text() == "seen[0][0] = -1.5"
    assert len(colours(page, ".replay-cells")) == 1  # of the one number that is not 0


# ---- looks -----------------------------------------------------------------------------------------------------------
def test_dark_pages_exchange_light_and_dark_of_diagrams_alone(tmp_path: Path, open_page: OpenPage) -> None:
    white, camera = np.full((1, 1, 3), 255, np.uint8), np.array([[[250, 128, 0]]], np.uint8)
    marks = [Image(0, 0, 5, 10, white, on_paper=True), Image(5, 0, 5, 10, camera)]
    address = write_replay(recording_of(marks, marks), tmp_path / "replay.html").as_uri() + "#frame=0"
    assert {"255 255 255", "250 128 0"} <= colours(open_page(address), ".replay-stage canvas")
    assert {"22 25 28", "250 128 0"} <= colours(open_page(address, dark=True), ".replay-stage canvas")


def test_a_phone_shows_everything_in_its_width(address: str, open_page: OpenPage) -> None:
    page = open_page(f"{address}#frame=1&agent=1", phone=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    picture, panel = page.locator(".replay-stage").bounding_box(), page.locator(".replay-panel").bounding_box()
    assert picture is not None and panel is not None
    assert panel["y"] > picture["y"] + picture["height"]  # below, not beside


def test_markup_in_names_stays_text(tmp_path: Path, open_page: OpenPage) -> None:
    recording = recording_of([Text(5, 5, TRAP, 1)], [], about=TRAP)
    page = open_page(write_replay(recording, tmp_path / "replay.html").as_uri() + "#frame=0")
    assert page.locator(".replay-heading").inner_text().endswith(TRAP)
    assert page.locator("img").count() == 0
    assert page.title() == "toy: replay"


def test_two_recordings_on_a_page_both_play(open_page: OpenPage, tmp_path: Path) -> None:
    recordings = [recording_of([Discs(5, 5, 1)], [], [], about=about) for about in ("above", "below")]
    page = open_page(write_replay(recordings[0], tmp_path / "two.html", recordings[1]).as_uri())
    assert page.locator(".replay-heading .replay-about").all_inner_texts() == ["above", "below"]
    for number in range(2):
        page.locator(".replay-state").nth(number).filter(has_text="step 2").wait_for()
    page.locator(".replay-stage canvas").nth(1).click()  # keys are for the one that was touched last
    page.keyboard.press("Home")
    assert [text.split(",")[0] for text in page.locator(".replay-state").all_inner_texts()] == ["step 2", "step 0"]
