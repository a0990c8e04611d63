"""The command `demo`: a page of two games, in the browser or as pictures, and folders that will not do."""

from __future__ import annotations

import re
import socket
import webbrowser
from pathlib import Path

import pytest
from PIL import Image

from warpworld.cli import demo
from warpworld.cli.main import main
from warpworld.drawing import make_folder

pytestmark = pytest.mark.cpu_backend


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty working folder, a display, and games of a few steps."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DISPLAY", ":7")
    monkeypatch.delenv("BROWSER", raising=False)
    short = [demo.Game(game.pretrained, game.about, 3) for game in demo.GAMES]
    monkeypatch.setattr(demo, "GAMES", tuple(short))


def opens(monkeypatch: pytest.MonkeyPatch, answer: bool | Exception) -> list[str]:
    """Stand in for the user's browser; gives the addresses that it is asked for."""
    asked: list[str] = []

    def open_page(address: str) -> bool:
        asked.append(address)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(webbrowser, "open", open_page)
    return asked


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_page_of_both_games_opens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = opens(monkeypatch, True)
    assert main(["demo"]) == 0
    page = tmp_path / "warpworld-demo" / "demo.html"
    assert asked == [page.as_uri()]
    assert names(page.parent) == {"demo.html"}
    out = capsys.readouterr().out
    assert out.startswith(
        "games by policies that come with warpworld, recorded here; nothing is trained or downloaded\n"
    )
    assert "warpworld-demo/demo.html: opened in the browser\n" in out
    text = page.read_text()
    assert re.findall(r'"title":"([a-z_]+)"', text) == ["tag_continuous", "deathmatch"]
    assert text.count('<div class="replay">') == 2
    assert re.findall(r"(?:src|href)=\"(?!data:)", text) == []  # it loads nothing


@pytest.mark.parametrize("answer", [False, webbrowser.Error("none")])
def test_without_a_browser_there_are_pictures(
    answer: bool | Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opens(monkeypatch, answer)
    assert main(["demo", "--output", "shown"]) == 0
    assert names(tmp_path / "shown") == {"demo.html", "tag_continuous.gif", "deathmatch.gif"}
    out = capsys.readouterr().out
    assert "shown/demo.html: open it in a browser; it was not opened here, since there is no browser\n" in out
    with Image.open(tmp_path / "shown" / "tag_continuous.gif") as gif:
        assert gif.n_frames == 4  # the start and three steps


@pytest.mark.parametrize(("words", "why"), [(["--no-open"], "as --no-open says"), ([], "since there is no display")])
def test_it_does_not_open(
    words: list[str], why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for variable in demo.DISPLAYS:
        monkeypatch.delenv(variable, raising=False)
    asked = opens(monkeypatch, True)
    assert main(["demo", *words]) == 0
    assert asked == []
    assert f"it was not opened here, {why}\nwarpworld-demo/tag_continuous.gif: the same" in capsys.readouterr().out


def test_without_a_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page lies in the working folder, and compiled kernels in a folder for temporary files."""
    for variable in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr("os.path.expanduser", lambda path: path)  # as where the user has no entry with the system
    opens(monkeypatch, True)
    assert main(["demo"]) == 0
    assert names(tmp_path) == {"warpworld-demo"}


def test_without_a_network_and_with_every_port_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The page is a file: nothing is asked for, and nothing listens."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError("Network is unreachable")

    monkeypatch.setattr(socket.socket, "__init__", refuse)
    opens(monkeypatch, True)
    assert main(["demo"]) == 0
    assert names(tmp_path / "warpworld-demo") == {"demo.html"}
    assert capsys.readouterr().err == ""


def test_folders_that_will_not_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert main(["demo", "--output", "file/inside"]) == 2
    advice = "name another one with --output DIR\n"
    assert capsys.readouterr().err == f"error: folder 'file/inside' cannot be made: Not a directory; {advice}"
    # a folder that takes no files, also from an administrator
    monkeypatch.setattr("warpworld.private_folder._takes_files", lambda folder: False)
    assert make_folder(tmp_path / "read-only").is_dir()
    assert main(["demo", "--output", "read-only"]) == 2
    assert capsys.readouterr().err == f"error: folder 'read-only' cannot be written; {advice}"
