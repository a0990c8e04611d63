"""tools/set_up.py: which torch is installed where, and what is reported when pip fails."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tools import set_up
from tools.set_up import Parts, SetUpError, install_compiler, install_torch, reaches, train_once

INDEX = "https://index.example/cpu"


class Written(Parts):
    """Parts that install nothing, and remember what they would install."""

    def __init__(self, log: Path, fails: bool = False) -> None:
        super().__init__(log, count=5)
        self.installed: list[str] = []
        self.commands: list[str] = []
        self._fails = fails

    def run(self, command: Sequence[str]) -> int:
        self.commands.append(" ".join(command[1:]))
        return int(self._fails)

    def install(self, *arguments: str) -> None:
        self.installed.append(" ".join(arguments))
        if self._fails:
            raise SetUpError("pip failed")


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A machine without a GPU and without torch, which reaches the index."""
    monkeypatch.setattr(set_up, "has_gpu", lambda: False)
    monkeypatch.setattr(set_up, "has_pinned_torch", lambda: False)
    monkeypatch.setattr(set_up, "reaches", lambda index: True)
    return monkeypatch


def test_a_machine_without_gpu_takes_the_cpu_build(
    machine: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parts = Written(tmp_path / "log")
    install_torch(parts, INDEX, for_gpu=False)
    assert parts.installed == [f"--no-deps --index-url {INDEX} --retries 1 --timeout 15 torch"]
    assert capsys.readouterr().out == f"[1/5] torch: the CPU build from {INDEX}, since there is no NVIDIA GPU here\n"


def test_an_index_without_that_torch_is_no_failure(
    machine: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install_torch(Written(tmp_path / "log", fails=True), INDEX, for_gpu=False)
    assert "for this Python: taking the build that pip finds\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "index", "for_gpu", "reported"),
    [
        ({"has_gpu": lambda: True}, INDEX, False, "the build for NVIDIA GPUs, with the other packages"),
        ({}, INDEX, True, "the build for NVIDIA GPUs, with the other packages"),
        (
            {"reaches": lambda index: False},
            INDEX,
            False,
            f"the build that pip finds, with the other packages ({INDEX} does not answer)",
        ),
        ({}, "", False, "the build that pip finds, with the other packages (no index of CPU builds is given)"),
    ],
    ids=["a GPU", "requirements for a GPU", "no answer", "no index"],
)
def test_where_the_default_build_is_taken(
    machine: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    change: dict[str, Any],
    index: str,
    for_gpu: bool,
    reported: str,
) -> None:
    for name, value in change.items():
        machine.setattr(set_up, name, value)
    parts = Written(tmp_path / "log")
    install_torch(parts, index, for_gpu)
    assert parts.installed == []
    assert capsys.readouterr().out == f"[1/5] torch: {reported}\n"


@pytest.fixture
def server() -> Iterator[str]:
    """An index on this machine."""

    class Index(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/cpu/torch/" else 404)
            self.end_headers()

        def log_message(self, *arguments: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Index) as served:
        Thread(target=served.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{served.server_port}"
        served.shutdown()


@pytest.mark.long
def test_an_index_is_reached_or_not(server: str) -> None:
    assert reaches(f"{server}/cpu")
    assert not reaches(f"{server}/other")
    assert not reaches("no address")


def test_an_index_that_never_answers_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert not reaches(f"http://127.0.0.1:{silent.getsockname()[1]}", seconds=0.2)


def test_a_compiler_is_installed_where_there_is_none(machine: pytest.MonkeyPatch, tmp_path: Path) -> None:
    machine.delenv("CXX", raising=False)
    parts = Written(tmp_path / "log")
    machine.setattr(set_up.shutil, "which", lambda name: f"/usr/bin/{name}")
    install_compiler(parts)
    assert parts.installed == []
    machine.setattr(set_up.shutil, "which", lambda name: None)
    install_compiler(parts)
    assert parts.installed == ["ziglang"]


def test_a_first_training_that_fails_is_reported_and_ends_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parts = Written(tmp_path / "log", fails=True)
    train_once(parts)
    assert [command.split(" saving.")[0] for command in parts.commands] == [
        "-m warpworld train tag_gridworld trainer.total_env_steps=40_000"
    ]
    assert capsys.readouterr().out.splitlines() == [
        "[1/5] a first iteration of Tag, which compiles its kernels",
        f"      it failed; `warpworld info` shows what was found, and {tmp_path / 'log'} why",
    ]


@pytest.mark.long
def test_a_failure_shows_pips_last_lines_and_names_the_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wanted = tmp_path / "requirements.txt"
    wanted.write_text("no-such-package-of-warpworld\n")
    log = tmp_path / "setup.log"
    with pytest.raises(SetUpError) as raised:
        Parts(log, 1).install("--no-index", "--requirement", str(wanted))
    assert "No matching distribution found for no-such-package-of-warpworld" in str(raised.value)
    assert str(raised.value).startswith("pip failed:\n    ")
    assert str(raised.value).endswith(f"\nits whole log: {log}")
    assert "No matching distribution found" in log.read_text()
    assert capsys.readouterr().out == ""
