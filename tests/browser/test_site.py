"""The documentation site in a browser, opened as files: search finds pages, and pages read well on a phone."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import pytest
from filelock import FileLock

pytest.importorskip("zensical", reason="no zensical here: make docs installs it")
pytest.importorskip("nbconvert", reason="no nbconvert here: make docs installs it")

from tests.browser.opening import OpenPage
from tests.cases import often
from tools.site.__main__ import build

playwright = pytest.importorskip("playwright.sync_api", reason="no Playwright here; make browser-tools installs it")
if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

pytestmark = [pytest.mark.slow, pytest.mark.heavy, pytest.mark.long]

ROOT = Path(__file__).resolve().parents[2]
MADE = {".git", ".venv", ".cache", "build", "site", "runs", "mkdocs.yml"}
HARD_TO_READ = (Path(__file__).parent / "hard_to_read.js").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the built site, which is built once for all processes of a run of tests."""
    base = tmp_path_factory.getbasetemp()
    root = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "repository"
    with FileLock(f"{root}.lock"):
        if not root.exists():
            root.mkdir()
            for entry in ROOT.iterdir():
                if entry.name not in MADE:
                    (root / entry.name).symlink_to(entry)
            shutil.copy(ROOT / "mkdocs.yml", root)
            assert build(root) == 0
    return root / "site"


@pytest.fixture
def served(site: Path) -> Iterator[str]:
    """The address at which the site is served."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *arguments: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def search(page: Page) -> Locator:
    """Open the search and return the box for its text."""
    page.locator(".md-search__button").click()
    return page.locator("dialog").get_by_role("combobox")


def results(page: Page) -> list[str]:
    """File and anchor of each result of the search, when no more come: pages are searched one after the other."""
    before, found = None, list[str]()
    while not found or found != before:
        page.wait_for_timeout(300)
        options = page.locator("dialog").get_by_role("option")
        before, found = found, options.evaluate_all("links => links.map(link => link.href)")
    return [link.rpartition("/")[2] for link in found]


@pytest.mark.parametrize("start", often(["tutorials/index.html"], ["index.html", "tutorials/index.html"]))
def test_search_in_pages_opened_as_files_finds_what_it_finds_in_a_served_site(
    start: str, open_page: OpenPage, site: Path, served: str
) -> None:
    text = "graph_steps"
    page = open_page(f"{served}/{start}")
    search(page).fill(text)
    expected = results(page)

    page = open_page((site / start).as_uri())
    box = search(page)
    box.press_sequentially(text)
    found = results(page)
    assert sorted(found) == sorted(expected)  # those that match equally well come in any order
    assert box.input_value() == text
    page.locator("dialog").get_by_role("option").first.click()
    page.wait_for_url(f"file://**/{found[0].partition('?')[0]}*")


def hard_to_read(open_page: OpenPage, pages: list[Path], site: Path) -> dict[str, list[str]]:
    """By its path, what is hard to read on each page of a phone's screen."""
    page, found = open_page(pages[0].as_uri(), phone=True), {}
    for path in pages:
        page.goto(path.as_uri(), wait_until="domcontentloaded")
        page.wait_for_timeout(50)  # tables get their frames
        if faults := page.evaluate(HARD_TO_READ):
            found[path.relative_to(site).as_posix()] = faults
    return found


def test_pages_read_well_on_a_phone(open_page: OpenPage, site: Path) -> None:
    # Of pages that show code, one folder and one file: all are made alike.
    pages = [page for page in sorted(site.rglob("*.html")) if "source" not in page.parts and page.name != "404.html"]
    shown = site / "source" / "warpworld"
    pages += [shown / "world.html", shown / "trainers" / "trainer.py.html"]
    assert len(pages) > 50
    assert hard_to_read(open_page, pages, site) == {}


def test_what_is_hard_to_read_is_found(open_page: OpenPage, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(
        "<!doctype html><body style='margin: 0'><div class='md-content'>"
        "<p style='width: 3em; word-break: break-all'>discontinuous</p>"
        "<table><tr><td>one<td>two</table>"
        "<div style='overflow: hidden; width: 2em'><p>unreadable</p></div>"
        "<div style='overflow: auto; width: 2em'><table><tr><td>threescore<td>four</table></div>"
        "<div style='width: 500px'>wide</div><img src='data:,'></div>"
    )
    (faults,) = hard_to_read(open_page, [page], tmp_path).values()
    assert [fault.partition(":")[0].rstrip("0123456789 px") for fault in faults] == [
        "the page scrolls sideways by",
        "a picture without a text",
        *["a column of"] * 2,
        "a broken word",
        "a cut word",
    ]
