"""docs/write-an-environment.md, followed from its first line to its last in an empty folder."""

from __future__ import annotations

import glob
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import Shown, changed, files, page, shown
from warpworld.cli import main

pytestmark = pytest.mark.cpu_backend

PAGE = page("write-an-environment")
SECONDS = re.compile(r"\d+\.\d s\)")
NUMBER = re.compile(r"\d+\.\d+")


class Reader:
    """Somebody who types what the page shows.

    Attributes:
        folder: where.
        last: the command that was last, or "python".
        printed: what it printed.
    """

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self._capsys = folder, capsys
        self.last, self.printed = "", ""

    def follow(self, block: Shown) -> None:
        sys.modules.pop("skaters", None)  # each command, and each session of Python, is a process of its own
        if block.language == "diff":
            path = self.folder / block.file
            path.write_text(changed(path.read_text(), block.text))
        elif block.file:
            (self.folder / block.file).write_text(block.text)
        elif block.language == "python":
            self.last = "python"
            exec(compile(block.text, "write-an-environment.md", "exec"), {"__name__": "__main__"})
            self.printed = self._capsys.readouterr().out
        elif block.language == "sh":
            for line in block.text.splitlines():
                self._run(line)
        else:
            assert block.language == "text"
            self._compare(block.text)

    def _run(self, line: str) -> None:
        words = [word for part in shlex.split(line) for word in (glob.glob(part) or [part])]
        if words[0] == "warpworld":
            status = main(words[1:])
            self.last, self.printed = words[1], self._capsys.readouterr().out
            found = self.last == "check" and not re.search(r"^Skaters: 0 findings", self.printed, re.MULTILINE)
            assert status == (1 if found else 0)
        else:
            assert words[:3] == ["python", "-m", "pytest"]
            environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
            command = [sys.executable, *words[1:], "-p", "no:cacheprovider"]
            done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
            assert done.returncode == 0, done.stdout
            self.last, self.printed = "pytest", done.stdout

    def _compare(self, expected: str) -> None:
        if self.last != "eval":
            assert SECONDS.sub("", self.printed) == SECONDS.sub("", expected)
            return
        # Other processors round otherwise, so that training takes another course; the lesson is the same.
        assert NUMBER.sub("", self.printed).split() == NUMBER.sub("", expected).split()
        mean, _, at_random = (float(number) for number in NUMBER.findall(self.printed))
        told, _, told_at_random = (float(number) for number in NUMBER.findall(expected))
        assert abs(mean - told) < 3.0 and abs(at_random - told_at_random) < 1.0 and mean > 1.5 * at_random


@pytest.mark.long
def test_the_page_can_be_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    reader = Reader(tmp_path, capsys)
    for block in shown(PAGE):
        reader.follow(block)
    run, measured = sorted((tmp_path / "runs").iterdir())
    assert '"env/bumps"' not in (run / "metrics.jsonl").read_text()
    assert '"env/bumps"' in (measured / "metrics.jsonl").read_text()
    assert (run / "replay.html").is_file() and (run / "curve.png").is_file()
    assert "has no draw()" not in reader.printed
    sys.modules.pop("skaters", None)


def test_what_the_page_shows_is_what_is_there() -> None:
    assert {name for name, _ in files(PAGE)} == {"skaters.py", "skaters.cu", "test_skaters.py", "skaters.yaml"}


def test_a_diff_that_fits_nowhere_is_told() -> None:
    assert changed("a\nb\nc\n", " a\n-b\n+B\n+\n\n-c\n+C\n") == "a\nB\n\nC\n"
    with pytest.raises(ValueError, match="found 0 times, not once:\nb\na\n"):
        changed("a\nb\n", " b\n-a\n")
    with pytest.raises(ValueError, match="found 2 times"):
        changed("a\na\n", "-a\n+b\n")
