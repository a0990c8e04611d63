"""Ports, folders and the command that serves the board."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.runs.test_summaries import logged
from warpworld.cli.main import main

MonkeyPatch, Capture = pytest.MonkeyPatch, pytest.CaptureFixture[str]
pytest.importorskip("warpworld.cli.board.server", reason="no uvicorn here: pip install 'warpworld[board]'")
pytestmark = pytest.mark.cpu_backend


@pytest.mark.long
def test_the_command_serves_until_it_is_interrupted(tmp_path: Path) -> None:
    logged(tmp_path / "runs", [1.0]).close()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        command = [sys.executable, "-m", "warpworld", "board", "runs", "--port", str(port)]
        with subprocess.Popen(
            command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as served:
            assert served.stdout is not None
            assert served.stdout.readline().startswith(f"port {port} is in use, taking ")
            line = served.stdout.readline()
            assert line.startswith("the runs in runs: http://127.0.0.1:")
            with urllib.request.urlopen(line.split()[4]) as answer:
                assert b"<title>warpworld board</title>" in answer.read()
            served.send_signal(signal.SIGINT)
            assert served.wait(timeout=30) == 0
            assert served.stderr is not None and served.stderr.read() == ""


def test_folders_that_are_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    run = logged(tmp_path / "runs", [])
    run.close()
    (tmp_path / "file").write_text("")
    inner = f"runs/{run.path.name}"
    for name, message in (
        ("rnus", "'rnus' does not exist, expected a folder with run folders. Did you mean 'runs'?"),
        ("file", "'file' is a file, expected a folder with run folders."),
        (inner, f"'{inner}' is a run, expected a folder with run folders, such as '{tmp_path}/runs'"),
    ):
        assert main(["board", name]) == 2
        assert capsys.readouterr().err == f"error: {message}\n"


def test_a_folder_without_rights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def forbidden(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "iterdir", forbidden)  # root, as which CI runs, may read everything
    assert main(["board", str(tmp_path)]) == 2
    expected = f"error: '{tmp_path}' cannot be read: Permission denied; expected a folder with run folders\n"
    assert capsys.readouterr().err == expected


def test_a_missing_package_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "warpworld.cli.board.server", None)
    monkeypatch.delattr("warpworld.cli.board.server", raising=False)
    assert main(["board", str(tmp_path)]) == 2
    assert "which is not installed: pip install 'warpworld[board]'" in capsys.readouterr().err
