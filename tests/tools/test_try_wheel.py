"""The tools that try a wheel, and that look for wheels of free-threaded Pythons: what they say of what will not do."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tools import free_threaded

ROOT = Path(__file__).resolve().parents[2]


def tried(*words: str | Path) -> list[str]:
    """The error of trying a wheel, which must fail."""
    command = [sys.executable, ROOT / "tools" / "try_wheel.py", *words]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    return done.stderr.splitlines()


def test_a_wheel_that_is_not_there(tmp_path: Path) -> None:
    missing = tmp_path / "warpworld.whl"
    assert tried(missing) == [f"error: [Errno 2] No such file or directory: '{missing}'"]


def test_a_python_that_does_not_start(tmp_path: Path) -> None:
    (tmp_path / "warpworld.whl").write_text("")
    (line,) = tried(tmp_path / "warpworld.whl", "--python", "python2.99")
    assert line.startswith("error: '") and "python2.99' is no Python that starts: " in line


def pip(monkeypatch: pytest.MonkeyPatch, without: Sequence[str]) -> list[Sequence[str]]:
    """Stand in for pip and an index that lacks wheels of some packages; gives the commands."""
    commands: list[Sequence[str]] = []

    def run(command: Sequence[str], **_: Any) -> subprocess.CompletedProcess[str]:
        commands.append(command)
        return subprocess.CompletedProcess(command, int(command[-1] in without or "all" in without))

    monkeypatch.setattr(free_threaded.subprocess, "run", run)
    return commands


def test_packages_without_a_wheel_are_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(free_threaded, "needed", lambda: {"numpy", "tree-sitter", "torch"})
    commands = pip(monkeypatch, ["tree-sitter"])
    monkeypatch.setattr(sys, "argv", ["free_threaded", "3.13", "3.14"])
    assert free_threaded.main() == 0
    assert capsys.readouterr().out.splitlines() == [
        "Python 3.13t: tree-sitter of 3 packages without a wheel",
        "Python 3.14t: tree-sitter of 3 packages without a wheel",
    ]
    assert [command[command.index("--abi") + 1] for command in commands] == ["cp313t"] * 3 + ["cp314t"] * 3


def test_an_index_that_does_not_answer(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(free_threaded, "needed", lambda: {"numpy", "torch"})
    pip(monkeypatch, ["all"])
    monkeypatch.setattr(sys, "argv", ["free_threaded"])
    assert free_threaded.main() == 1
    assert capsys.readouterr().err == ("error: pip finds no wheel at all for Python 3.13t; does its index answer?\n")
