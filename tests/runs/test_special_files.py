"""Pipes, devices, sockets and folders in the place of a run's files: each is refused, and never waited for."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from warpworld.cli.main import main
from warpworld.errors import WarpworldError
from warpworld.files import check_file, read_file
from warpworld.runs import Run
from warpworld.runs.loggers import JsonLines
from warpworld.runs.metrics.metric_files import read_metrics
from warpworld.runs.run_data import read_run

SECONDS = 30  # after which a test that waits for a pipe fails


@pytest.fixture(autouse=True)
def limit() -> Iterator[None]:
    """End what would wait forever."""

    def fail(number: int, frame: object) -> None:
        raise TimeoutError("a pipe was waited for")

    before = signal.signal(signal.SIGALRM, fail)
    signal.alarm(SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def make_socket(path: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)  # the length of a socket's path is limited
    try:
        with socket.socket(socket.AF_UNIX) as opened:
            opened.bind(path.name)
    finally:
        os.chdir(here)


KINDS: dict[str, Callable[[Path], None]] = {
    "a pipe": os.mkfifo,
    "a socket": make_socket,
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a folder": os.mkdir,
}


def put(path: Path, kind: str) -> None:
    path.unlink(missing_ok=True)
    KINDS[kind](path)


@pytest.mark.parametrize("kind", KINDS)
def test_a_checkpoint(run: Run, kind: str) -> None:
    path = run.checkpoint_path(3)
    put(path, kind)
    with pytest.raises(WarpworldError) as caught:
        run.load_checkpoint()
    assert str(caught.value) == (
        f"checkpoint '{path}' cannot be read: it is {kind}, expected a file; "
        "iteration 2 has one as well: --checkpoint 2"
    )
    assert run.load_newest_readable()["iteration"] == 2


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["metrics.jsonl", "timing.jsonl", "machine.json"])
def test_what_a_report_reads(run: Run, name: str, kind: str) -> None:
    put(run.path / name, kind)
    with pytest.raises(WarpworldError) as caught:
        read_run(run)
    assert str(caught.value) == f"'{run.path / name}' cannot be read: it is {kind}, expected a file"


def test_what_is_appended_to(run: Run) -> None:
    lines = JsonLines(run.metrics_path, lambda metrics: metrics)
    for path, call in ((run.metrics_path, lambda: lines.log({"iteration": 4})), (run.path / ".lock", run.lock)):
        put(path, "a pipe")
        with pytest.raises(WarpworldError) as caught:
            call()
        assert str(caught.value) == f"'{path}' cannot be written: it is a pipe, expected a file"


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_read_and_written(run: Run, kind: str) -> None:
    put(run.path / "machine.json", kind)
    with pytest.raises(WarpworldError) as caught:
        run.add_session({})
    path = run.path / "machine.json"
    assert str(caught.value) == f"'{path}' cannot be read or written: it is {kind}, expected a file"
    put(run.metrics_path, kind)
    with pytest.raises(WarpworldError) as caught:
        JsonLines(run.metrics_path, lambda metrics: metrics).rewind(1, 32)
    assert str(caught.value) == f"'{run.metrics_path}' cannot be written: it is {kind}, expected a file"


@pytest.mark.parametrize("command", [["eval"], ["report"], ["watch"], ["league"], ["train", "--resume"]])
def test_a_config(run: Run, command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    put(run.path / "config.yaml", "a pipe")
    assert main([*command, str(run.path)]) == 2
    expected = f"error: config '{run.path / 'config.yaml'}' cannot be read: it is a pipe, expected a file\n"
    assert capsys.readouterr().err == expected


def test_a_file_without_permission(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not that it was damaged."""
    path = run.checkpoint_path(3)

    def refuse(self: Path, *arguments: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(WarpworldError) as caught:
        run.load_checkpoint()
    assert (
        str(caught.value)
        == f"checkpoint '{path}' cannot be read: Permission denied; iteration 2 has one as well: --checkpoint 2"
    )


def test_a_link_to_itself(run: Run) -> None:
    run.metrics_path.unlink()
    run.metrics_path.symlink_to(run.metrics_path.name)
    with pytest.raises(WarpworldError, match=r"metrics.jsonl' cannot be read: Too many levels of symbolic links$"):
        read_metrics(run.metrics_path)


def test_a_pipe_that_the_shell_has_opened_is_read() -> None:
    """As in ``warpworld train <(sed ... config.yaml)``."""
    reader, writer = os.pipe()
    os.write(writer, b"name: cartpole\n")
    os.close(writer)
    assert read_file(f"/dev/fd/{reader}") == b"name: cartpole\n"
    os.close(reader)


def test_an_ordinary_file(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"1")
    (tmp_path / "link").symlink_to("x")
    check_file(tmp_path / "link")
    assert read_file(tmp_path / "x") == b"1"
    with pytest.raises(FileNotFoundError):
        check_file(tmp_path / "y")


# --- files that users name --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["plans", "{pipe}.json"], "'{pipe}.json': cannot be read: it is a pipe, expected a file"),
        (["plans", "{pipe}.svg"], "'{pipe}.svg': cannot be read: it is a pipe, expected a file"),
        (["train", "{pipe}.yaml"], "config '{pipe}.yaml' cannot be read: it is a pipe, expected a file"),
        (
            ["report", "{run}", "--output", "{pipe}.html"],
            "'{pipe}.html' cannot be written: it is a pipe",
        ),
        (["report", "{run}", "--output", "/dev/null"], "'/dev/null' cannot be written: it is a device"),
        (["run", "cartpole", "--trace", "0", "--output", "{pipe}.csv"], "'{pipe}.csv' cannot be written: it is a pipe"),
    ],
)
def test_files_that_users_name(
    run: Run, tmp_path: Path, command: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for kind in ("json", "svg", "yaml", "html", "csv"):
        os.mkfifo(tmp_path / f"pipe.{kind}")
    names = {"pipe": str(tmp_path / "pipe"), "run": str(run.path)}
    assert main([word.format(**names) for word in command]) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith(f"error: {message.format(**names)}")
    assert os.path.exists("/dev/null") and not os.path.isfile("/dev/null")


def test_a_kernel_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "walk_home", "--into", str(tmp_path)]) == 0
    put(tmp_path / "walk_home" / "walk_home.cu", "a pipe")
    assert main(["check", str(tmp_path / "walk_home" / "walk_home.py"), "--steps", "1"]) == 2
    path = tmp_path / "walk_home" / "walk_home.cu"
    assert capsys.readouterr().err.splitlines()[-1] == (
        f"error: cannot read the kernel file {path}: it is a pipe, expected a file; it must be a text file in UTF-8"
    )
