"""A game in a browser: keys, buttons and taps, masks, ends, pauses; on a desk and on a phone, light and dark."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

pytest.importorskip("warpworld.cli.local_server", reason="no uvicorn here: pip install 'warpworld[board]'")

from tests.browser.opening import OpenPage
from tests.cli.play.named_worlds import Twofold, Walkers, game_of, saved
from warpworld.cli.local_server import served
from warpworld.cli.play.app import make_app
from warpworld.cli.play.game import Game
from warpworld.cli.play.others import find_others
from warpworld.cli.play.saving import Folder, replay_of
from warpworld.config import load_config
from warpworld.report import read_replay

playwright = pytest.importorskip("playwright.sync_api", reason="no Playwright here; make browser-tools installs it")
if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.long, pytest.mark.cpu_backend]


@dataclasses.dataclass(frozen=True)
class Served:
    """A game, and its address."""

    game: Game
    address: str

    def actions(self, group: str) -> list[int]:
        """First parts of the actions that the person has taken."""
        actions = saved(self.game)[f"{group}/actions"][:, self.game.seat.index]
        return actions.reshape(len(actions), -1)[:, 0].tolist()


@contextmanager
def serving(game: Game) -> Iterator[Served]:
    with served(make_app(game)) as address:
        yield Served(game, address)


@pytest.fixture
def walkers() -> Iterator[Served]:
    with serving(game_of(Walkers, "right", length=100_000)) as found:
        yield found


@pytest.fixture
def board() -> Iterator[Served]:
    """Tic-tac-toe, the first player's side, against a script that never loses."""
    config = load_config("tic_tac_toe", ["trainer.device=cpu"])
    with serving(Game(config, find_others(config, None))) as found:
        yield found


def wait_until(page: Page, holds: Callable[[], bool]) -> None:
    """Wait for what happens on the page; its security policy refuses conditions as text."""
    for _ in range(600):
        if holds():
            return
        page.wait_for_timeout(50)
    raise AssertionError(page.locator("#state").inner_text())


def steps(page: Page, at_least: int) -> None:
    """Wait until so many steps have been taken."""
    wait_until(page, lambda: taken(page) >= at_least)


def begin(page: Page) -> None:
    """Start a world that steps by itself, once the page is ready."""
    page.get_by_text("Ready?").wait_for()
    page.keyboard.press("Enter")


def taken(page: Page) -> int:
    return int(page.evaluate("Number(document.body.dataset.steps ?? 0)"))


def turn(page: Page) -> None:
    """Wait for the person's turn."""
    wait_until(page, lambda: "your turn" in page.locator("#state").inner_text())


def tap(page: Page, choice: int, choices: list[list[float]], view: list[float]) -> None:
    """Tap the middle of a choice's place in the picture."""
    box = page.locator("#picture").bounding_box()
    assert box is not None
    left, bottom, right, top = view
    x, y = (choices[choice][0] + choices[choice][2]) / 2, (choices[choice][1] + choices[choice][3]) / 2
    place = {"x": (x - left) / (right - left) * box["width"], "y": (y - top) / (bottom - top) * box["height"]}
    page.locator("#picture").click(position=place)


# ---- worlds that go on by themselves ---------------------------------------------------------------------------------
def test_it_begins_with_a_key_and_pauses(walkers: Served, open_page: OpenPage) -> None:
    page = open_page(walkers.address)
    page.get_by_text("Ready?").wait_for()
    assert page.locator("#who").inner_text() == "You play right; left: random actions."
    assert page.locator("#cover").is_visible() and walkers.game.frame()["timestep"] == 0
    begin(page)
    steps(page, 3)
    page.keyboard.press("Escape")
    assert page.locator("#cover-text").inner_text() == "Paused"
    page.wait_for_timeout(200)
    before = taken(page)
    page.wait_for_timeout(400)
    assert taken(page) == before
    page.locator("#cover-button").click()
    steps(page, before + 2)


def test_held_keys_act_and_short_presses_count(walkers: Served, open_page: OpenPage) -> None:
    page = open_page(walkers.address)
    begin(page)
    steps(page, 2)
    page.keyboard.down("ArrowRight")
    steps(page, taken(page) + 4)
    page.keyboard.up("ArrowRight")
    steps(page, taken(page) + 4)
    page.keyboard.press("ArrowRight")
    steps(page, taken(page) + 3)
    page.keyboard.press("Escape")
    page.wait_for_timeout(200)
    runs = "".join(map(str, walkers.actions("right"))).split("0")
    lengths = [len(run) for run in runs if run]
    assert len(lengths) == 2 and lengths[0] >= 3 and lengths[1] in (1, 2)


def test_buttons_are_held_as_keys_are(walkers: Served, open_page: OpenPage) -> None:
    page = open_page(walkers.address, phone=True)
    page.locator("#cover-button").tap()
    button = page.get_by_role("button", name="go")
    button.dispatch_event("pointerdown")
    steps(page, taken(page) + 3)
    assert "held" in (button.get_attribute("class") or "")
    button.dispatch_event("pointerup")
    steps(page, taken(page) + 3)
    assert walkers.actions("right")[-1] == 0 and walkers.actions("right").count(1) >= 2
    assert "held" not in (button.get_attribute("class") or "")


def test_an_end_and_another_game(open_page: OpenPage) -> None:
    with serving(game_of(Walkers, "right", length=4)) as found:
        page = open_page(found.address)
        begin(page)
        wait_until(page, lambda: page.locator("#cover-text").inner_text().startswith("The game is over."))
        assert "Your return: 90" in page.locator("#cover-text").inner_text()  # 21 + 22 + 23 + 24
        page.keyboard.press("Enter")
        wait_until(page, lambda: page.locator("#state").inner_text().startswith("game 2, step"))
        page.keyboard.press("Escape")
        page.wait_for_timeout(200)


def test_both_parts_of_an_action(open_page: OpenPage) -> None:
    with serving(game_of(Twofold, "left", length=100_000)) as found:
        page = open_page(found.address)
        begin(page)
        page.keyboard.down("w")
        page.keyboard.down("2")
        steps(page, taken(page) + 4)
        page.keyboard.press("Escape")
        page.wait_for_timeout(200)
        assert saved(found.game)["left/actions"][-1, 0].tolist() == [1, 2]


def test_the_pace_can_be_chosen(walkers: Served, open_page: OpenPage) -> None:
    page = open_page(walkers.address)
    page.get_by_text("Ready?").wait_for()
    options = page.locator("#rate option").all_inner_texts()
    assert page.locator("#rate").input_value() == "10" and "30" in options
    page.locator("#rate").select_option("30")
    begin(page)
    steps(page, 30)


def test_the_page_that_was_opened_last_plays(walkers: Served, open_page: OpenPage) -> None:
    page = open_page(walkers.address)
    begin(page)
    steps(page, 1)
    page.keyboard.press("Escape")
    other = open_page(walkers.address)
    begin(other)
    steps(other, 3)
    assert other.locator("#state").inner_text().startswith("game 1, step ")


def test_what_the_agent_sees_and_nothing_else(open_page: OpenPage) -> None:
    config = load_config("deathmatch", ["trainer.device=cpu"])
    with serving(Game(config, find_others(config, "random"))) as found:
        page = open_page(found.address, phone=True, dark=True)
        begin(page)
        steps(page, 2)
        page.keyboard.press("Escape")
        assert page.locator("#sight").is_visible() and page.locator("#picture").is_visible()
        page.get_by_label("own eyes only").check()
        assert page.locator("#sight").is_visible() and not page.locator("#picture").is_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


# ---- worlds that wait ------------------------------------------------------------------------------------------------
def test_a_board_waits_for_taps_and_keys_and_shows_what_is_legal(board: Served, open_page: OpenPage) -> None:
    page = open_page(board.address)
    turn(page)
    page.wait_for_timeout(900)
    assert taken(page) == 0
    frame = board.game.frame()
    tap(page, 4, frame["choices"], frame["view"])
    steps(page, 2)  # and the other player's
    turn(page)
    disabled = [button.is_disabled() for button in page.locator("#buttons button").all()]
    assert disabled.count(True) == 2 and disabled[4]
    free = disabled.index(False)
    tap(page, 4, frame["choices"], frame["view"])  # taken already: nothing happens
    page.keyboard.press("789456123"[free])
    steps(page, 4)
    assert board.actions("first")[0] == 4 and board.actions("first")[2] == free


def test_a_held_key_does_not_play_the_next_turn(board: Served, open_page: OpenPage) -> None:
    page = open_page(board.address)
    page.locator("#rate").select_option("60")
    turn(page)
    page.keyboard.down("5")
    steps(page, 2)
    turn(page)
    page.keyboard.down("7")
    page.keyboard.up("5")
    steps(page, 4)
    page.wait_for_timeout(500)
    assert taken(page) == 4


def test_a_game_is_played_to_its_end_by_taps(board: Served, open_page: OpenPage) -> None:
    page = open_page(board.address, phone=True)
    page.locator("#rate").select_option("60")
    frame = board.game.frame()
    for _ in range(5):
        turn(page)
        legal = [not button.is_disabled() for button in page.locator("#buttons button").all()]
        tap(page, legal.index(True), frame["choices"], frame["view"])
        page.wait_for_timeout(400)
        if page.locator("#cover").is_visible():
            break
    assert page.locator("#cover-text").inner_text().startswith("The game is over. Your return: ")
    page.locator("#cover-button").tap()
    turn(page)
    assert page.locator("#state").inner_text() == "game 2, step 0, your return 0, your turn"


# ---- looks, and files ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dark", [False, True])
def test_a_phone_shows_everything_in_its_width(dark: bool, board: Served, open_page: OpenPage) -> None:
    page = open_page(board.address, phone=True, dark=dark)
    turn(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == ("rgb(22, 25, 28)" if dark else "rgb(255, 255, 255)")
    sizes = page.evaluate("[...document.querySelectorAll('button:not([hidden])')].map(each => each.offsetHeight)")
    assert min(size for size in sizes if size) >= 40  # for fingers


def test_games_are_saved_from_the_page(board: Served, open_page: OpenPage, tmp_path: Path) -> None:
    page = open_page(board.address)
    turn(page)
    page.keyboard.press("5")
    steps(page, 2)
    for name, ending in (("Save replay", "html"), ("Save data", "npz")):
        with page.expect_download() as download:
            page.get_by_role("link", name=name).click()
        assert download.value.suggested_filename == f"tic_tac_toe-1.{ending}"
        download.value.save_as(tmp_path / f"game.{ending}")
    assert '"timestep":[0,1,2' in read_replay(tmp_path / "game.html")
    with np.load(tmp_path / "game.npz") as data:
        assert data["first/actions"][0, 0] == 4


def test_the_page_names_what_was_saved(open_page: OpenPage, tmp_path: Path) -> None:
    with served(make_app(game_of(Walkers, "right", length=2), Folder(tmp_path))) as address:
        page = open_page(address)
        begin(page)
        wait_until(page, lambda: page.locator("#state").inner_text().startswith("saved: "))
        named = page.locator("#state").inner_text().removeprefix("saved: ").split(", ")
        assert sorted(named) == sorted(path.name for path in tmp_path.iterdir())


def test_a_replay_shows_names_of_all_parts(open_page: OpenPage, tmp_path: Path) -> None:
    game = game_of(Twofold, "left")
    game.step([1, 2])
    (tmp_path / "game.html").write_text(replay_of(game))
    page = open_page((tmp_path / "game.html").as_uri() + "#frame=1&agent=0")
    rows = page.locator(".replay-arrays tr").all_inner_texts()
    assert "actions_left\tgo, high" in rows
