"""The board in a browser: runs are listed, chosen and compared, live, on a desk and on a phone."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("tests.cli.board.boards", reason="no uvicorn here: pip install 'warpworld[board]'")

from tests.browser.opening import OpenPage
from tests.cli.board.test_app import LEAGUE, run_called
from tests.report.recorded_worlds import recording_of
from warpworld.drawing import Discs
from warpworld.report.replay import write_replay
from warpworld.runs import Run

playwright = pytest.importorskip("playwright.sync_api", reason="no Playwright here; make browser-tools installs it")
boards = pytest.importorskip("tests.cli.board.boards")
if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.cli.board.boards import Board

pytestmark = [pytest.mark.long, pytest.mark.cpu_backend]

TRAP = "<img src=x onerror=alert(1)>"
RETURN = "agent: return"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two runs of CartPole with times, and one with a name that is markup."""
    runs = tmp_path / "runs"
    runs.mkdir()
    for name, returns, seed in (("first", [10.0, 20.0, 60.0], 1), ("second", [5.0, 40.0], 2), (TRAP, [1.0], 3)):
        run = run_called("made_last", tmp_path, [*returns], f"seed={seed}")
        timing = ({"iteration": i, "env_steps": 32 * i, "time": 0.5 * i} for i in range(1, len(returns) + 1))
        (run.path / "timing.jsonl").write_text("".join(json.dumps(line) + "\n" for line in timing))
        run.path.rename(runs / name)
    return runs


@pytest.fixture
def board(folder: Path) -> Iterator[Board]:
    with boards.board_of(folder) as served:
        yield served


def chosen_runs(page: Page) -> list[str]:
    """Names of the chosen runs; a line that is not drawn yet has no inner text, so that their text content is read."""
    return page.locator("#runs li:has(input:checked) b").all_text_contents()


def only(page: Page, *names: str) -> None:
    """Choose these runs alone."""
    page.locator("#panels svg").first.wait_for()
    for name, wanted in (*((name, False) for name in chosen_runs(page)), *((name, True) for name in names)):
        page.locator("#runs li", has_text=name).locator("input").set_checked(wanted)
    playwright.expect(page.locator("#panels figure:first-child polyline")).to_have_count(len(names))


def points(page: Page, heading: str) -> list[int]:
    """How many points each line of a panel has."""
    lines = page.locator("#panels figure", has_text=heading).locator("polyline")
    return [len(line.split()) for line in lines.evaluate_all("lines => lines.map(line => line.getAttribute('points'))")]


def test_runs_are_listed_and_their_curves_drawn(board: Board, folder: Path, open_page: OpenPage) -> None:
    page = open_page(board.address)
    page.locator("#panels svg").first.wait_for()
    assert set(page.locator("#runs b").all_text_contents()) == {"first", "second", TRAP}
    assert page.locator("header p").inner_text() == f"Folder {folder}: 3 runs"
    line = page.locator("#runs li", has_text="first").locator(".quiet")
    assert line.text_content() == "50% of 192 env steps \u00b7 agent 60 (best 60)"
    only(page, "first", "second")
    playwright.expect(page.locator("#legend > span")).to_have_text(["seed 1", "seed 2"])  # once both are drawn anew
    assert sorted(points(page, RETURN)) == [2, 3]
    assert page.locator("#settings tr").all_inner_texts() == ["\tseed 1\tseed 2", "trainer.seed\t1\t2"]


def test_filter_sort_and_the_address(board: Board, open_page: OpenPage) -> None:
    page = open_page(board.address)
    page.locator("#panels svg").first.wait_for()
    page.locator("#sort").select_option("best")
    assert page.locator("#runs b").all_text_contents() == ["first", "second", TRAP]
    page.locator("#filter").fill("SECO")
    assert page.locator("#runs li:visible b").all_text_contents() == ["second"]
    page.locator("#filter").fill("")
    only(page, "second")
    page.locator("#x").select_option("seconds")
    again = open_page(page.url)
    again.locator("#panels svg").first.wait_for()
    assert (chosen_runs(again), again.locator("#x").input_value()) == (["second"], "seconds")


def test_time_and_smoothing(board: Board, open_page: OpenPage) -> None:
    page = open_page(board.address)
    only(page, "first")
    figure = page.locator("#panels figure", has_text=RETURN)
    page.locator("#x").select_option("seconds")
    assert figure.locator(".tick").all_text_contents()[-1].endswith("s")
    before = figure.locator("polyline").get_attribute("points")
    page.locator("#smooth").fill("0.9")
    assert figure.locator("polyline").get_attribute("points") != before
    assert figure.locator(".raw").count() == 1
    # in one call of the page: it draws anew while it is asked, and what was found before is gone
    width = float(figure.evaluate("figure => figure.querySelector('svg').getBoundingClientRect().width"))
    figure.locator("svg").hover(position={"x": width - 20, "y": 20})
    assert figure.locator(".reading text").text_content() == "at 1.5:  31.8 "


def test_a_curve_breaks_where_there_is_no_number(board: Board, folder: Path, open_page: OpenPage) -> None:
    values = [None, 1.0, 2.0, None, 3.0, None, 4.0, 5.0, None]
    rows = [{"iteration": i, "env_steps": 32 * i, "charts/agent/episodic_return": y} for i, y in enumerate(values, 1)]
    (folder / "first" / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    board.index.refresh()
    page = open_page(board.address)
    page.locator("#runs li", has_text="second").locator("input").uncheck()
    figure = page.locator("#panels figure", has_text=RETURN)
    playwright.expect(figure.locator(".curve.c0 polyline")).to_have_count(3)
    assert points(page, RETURN)[:3] == [2, 1, 2]
    assert figure.locator(".curve.c0 circle").count() == 2  # the point between two gaps, and the last one
    page.locator("#smooth").fill("0.5")
    assert points(page, RETURN)[:3] == [2, 1, 2]
    path = figure.locator(".raw.c0").get_attribute("d")
    assert path is not None and path.count("M") == 3 and "NaN" not in path


@pytest.mark.heavy
def test_it_is_live(board: Board, folder: Path, open_page: OpenPage) -> None:
    page = open_page(board.address)
    only(page, "first")
    with (folder / "first" / "metrics.jsonl").open("a") as file:
        file.write('{"iteration": 4, "env_steps": 128, "charts/agent/episodic_return": 90.0}\n')
    (folder / "second").rename(folder.parent / "second")
    board.index.refresh()
    page.locator("#runs li", has_text="first").locator(".quiet", has_text="agent 90 (best 90)").wait_for()
    four_points = re.compile(r"^(\S+ ){3}\S+$")
    playwright.expect(page.locator("#panels polyline").first).to_have_attribute("points", four_points)
    assert page.locator("#runs li").count() == 2


def test_replays_play_and_leagues_are_tables(board: Board, folder: Path, open_page: OpenPage) -> None:
    write_replay(recording_of([Discs(5, 5, 1)], [], []), folder / "first" / "replay.html")
    (folder / "second" / "league.json").write_text(json.dumps(LEAGUE))
    board.index.refresh()
    page = open_page(board.address)
    only(page, "first", "second")
    replay = page.frame_locator("#replay iframe")
    replay.locator(".replay-state", has_text="step 2").wait_for()  # it plays by itself
    rows = page.locator("#league tbody tr").all_inner_texts()
    assert rows == ["2\t1100\t-", "1\t1000\t0.50"]  # the strongest first


def test_replays_come_while_a_run_trains(board: Board, folder: Path, open_page: OpenPage) -> None:
    recorded = Run.open(folder / "first").recorded
    recorded.folder.mkdir()

    def record(iteration: int) -> None:
        moving = recording_of([Discs(5, 5, 1)], [], about=f"iteration {iteration}")
        write_replay(moving, recorded.page(iteration))
        board.index.refresh()

    record(20)
    page = open_page(board.address)
    only(page, "first")
    about = page.frame_locator("#replay iframe").locator(".replay-heading .replay-about")
    about.filter(has_text="iteration 20").wait_for()
    record(100)  # the newest is shown by itself
    about.filter(has_text="iteration 100").wait_for()
    choice = page.locator("#replay select")
    assert choice.locator("option").all_inner_texts() == ["first, iteration 100", "first, iteration 20"]
    choice.select_option(label="first, iteration 20")
    about.filter(has_text="iteration 20").wait_for()
    record(120)  # what the reader took stays
    choice.locator("option", has_text="iteration 120").wait_for(state="attached")
    assert about.inner_text() == "iteration 20"


def test_a_choice_of_replays_is_no_wider_than_a_phone(board: Board, folder: Path, open_page: OpenPage) -> None:
    (folder / "first").rename(folder / ("long-" * 12))
    recorded = Run.open(folder / ("long-" * 12)).recorded
    recorded.folder.mkdir()
    for iteration in (20, 100):
        write_replay(recording_of([], []), recorded.page(iteration))
    board.index.refresh()
    page = open_page(board.address, phone=True)
    only(page, "long-" * 12)
    page.locator("#replay select").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_markup_in_names_stays_text(board: Board, open_page: OpenPage) -> None:
    page = open_page(board.address)
    only(page, TRAP)
    assert page.locator("#runs b", has_text=TRAP).count() == 1
    assert page.locator("img").count() == 0


def test_a_phone_and_a_dark_page(board: Board, open_page: OpenPage) -> None:
    page = open_page(board.address, phone=True, dark=True)
    page.locator("#panels svg").first.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(22, 25, 28)"
    nav, main = page.locator("nav").bounding_box(), page.locator("main").bounding_box()
    assert nav is not None and main is not None and main["y"] >= nav["y"] + nav["height"]


def test_an_empty_folder(tmp_path: Path, open_page: OpenPage) -> None:
    with boards.board_of(tmp_path) as board:
        page = open_page(board.address)
        page.locator("#status", has_text="no runs yet: warpworld train starts one").wait_for()
