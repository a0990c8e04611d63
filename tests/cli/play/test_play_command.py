"""The command `play`: what it prints and refuses."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import urllib.request
import webbrowser
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tests.cli.play.named_worlds import Strips, Walkers
from tests.report.recorded_worlds import run_of
from warpworld.cli.main import main
from warpworld.cli.play import command

pytest.importorskip("warpworld.cli.local_server", reason="no uvicorn here: pip install 'warpworld[board]'")
pytestmark = pytest.mark.cpu_backend


@pytest.mark.long
def test_a_game_is_served_until_it_is_interrupted(tmp_path: Path) -> None:
    run = run_of(Walkers, tmp_path)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        words = [sys.executable, "-m", "warpworld", "play", str(run.path), "--as", "right", "--port", str(port)]
        # no browser with windows can be found
        environment = {key: value for key, value in os.environ.items() if key not in ("DISPLAY", "WAYLAND_DISPLAY")}
        environment |= {"BROWSER": "", "PYTHONPATH": os.pathsep.join(sys.path)}
        with subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        ) as served:
            assert served.stdout is not None and served.stderr is not None
            lines = [served.stdout.readline() for _ in range(5)]
            assert lines[0].startswith(f"port {port} is in use, taking "), served.stderr.read()
            assert lines[1].endswith("Walkers: you play right\n")
            assert lines[2] == f"left: policy 'left' of {run.path}, actions drawn\n"
            assert lines[3].startswith("http://127.0.0.1:") and lines[3].endswith("/ (Ctrl-C ends it)\n")
            assert lines[4] == "no browser was found: open the address above\n"
            with urllib.request.urlopen(lines[3].split()[0]) as answer:
                assert b"Walkers: play</title>" in answer.read()
            served.send_signal(signal.SIGINT)
            assert served.wait(timeout=30) == 0
            assert served.stderr.read().count("\n") == 1  # that the run loads code of its own


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["cartpole", "--as", "agnet"], "--as agnet: there is no group 'agnet'. Did you mean 'agent'? Groups: agent"),
        (
            ["particles_reference"],
            "particles_reference: group 'agent': actions have no names, expected action_names and action_keys of a",
        ),
        (["cartpole", "--greedy"], "--greedy and --checkpoint are for policies of a run: name one with --policy RUN"),
        (["cartpole", "--checkpoint", "3"], "--greedy and --checkpoint are for policies of a run"),
        (["cartpole", "--policy", "nowhere"], "'nowhere' does not exist, expected a run folder."),
        (["cartpoel"], "'cartpoel' does not exist, expected a run folder or a config. Did you mean 'cartpole'?"),
        (["cartpole", "env.gravty=3"], "Did you mean 'gravity'?"),
    ],
)
def test_words_that_are_refused(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["play", *words, "--port", "0", "--no-open"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ") and message in error and error.count("\n") == 1


def test_policies_of_another_environment(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, other = run_of(Walkers, tmp_path / "a"), run_of(Strips, tmp_path / "b")
    assert main(["play", str(run.path), "--policy", str(other.path), "--no-open"]) == 2
    names = (f"tests.cli.play.named_worlds:{name}" for name in ("Strips", "Walkers"))
    expected = "--policy {}: its policies were trained in '{}', expected a run of '{}'".format(other.path, *names)
    assert capsys.readouterr().err.splitlines()[-1] == f"error: {expected}"


def test_no_port_is_free(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("warpworld.cli.local_server.MOST_PORTS", 1)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert main(["play", "cartpole", "--port", str(port), "--no-open"]) == 2
    error = capsys.readouterr().err
    assert f"none of the ports {port} to {port} is free on 127.0.0.1; give another one with --port\n" in error


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "warpworld.cli.play.app", None)
    assert main(["play", "cartpole"]) == 2
    assert "which is not installed: pip install 'warpworld[board]'" in capsys.readouterr().err


# ---- browsers --------------------------------------------------------------------------------------------------------
class Windowed(webbrowser.BaseBrowser):
    opened: ClassVar[list[str]] = []

    def open(self, url: str, new: int = 0, autoraise: bool = True) -> bool:
        self.opened.append(url)
        return True


@pytest.mark.parametrize(
    ("browser", "is_opened"), [(Windowed(), True), (webbrowser.GenericBrowser("w3m"), False), (None, False)]
)
def test_only_browsers_with_windows_are_opened(browser: Any, is_opened: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def get() -> Any:
        if browser is None:
            raise webbrowser.Error("could not locate runnable browser")
        return browser

    monkeypatch.setattr(webbrowser, "get", get)
    monkeypatch.setattr(Windowed, "opened", [])
    assert command._open("http://127.0.0.1:1/") is is_opened
    assert Windowed.opened == ["http://127.0.0.1:1/"] * is_opened
