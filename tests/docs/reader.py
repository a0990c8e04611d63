"""A reader of a page, who types what it shows, from its first line to its last."""

from __future__ import annotations

import glob
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import pytest

from tests.docs.pages import Shown, changed
from warpworld.cli.main import main

SECONDS = re.compile(r"\d+\.\d s\)")
NUMBER = re.compile(r"-?\d+\.\d+")
WIDTH = re.compile(r"\+- (\d+\.\d+)")  # half of an interval of 95 %
NO_FINDINGS = re.compile(r"^\w+: 0 findings", re.MULTILINE)


class Reader:
    """Follows the blocks of a page in an empty folder, which is the current one.

    Attributes:
        folder: where.
        last: the command that was last, or "python".
        printed: what it printed.

    Args:
        folder: see above.
        capsys: catches what is printed.
        modules: of the page's environments.
        one_session: whether all of its Python is typed in one session, or each block in one of its own.
        shorter: overrides of ``warpworld train``, for less training than the page shows; numbers are not compared then.
    """

    def __init__(
        self,
        folder: Path,
        capsys: pytest.CaptureFixture[str],
        *modules: str,
        one_session: bool = False,
        shorter: Sequence[str] = (),
    ) -> None:
        self.folder, self._capsys, self._modules = folder, capsys, modules
        self._names: dict[str, Any] | None = {"__name__": "__main__"} if one_session else None
        self._shorter = list(shorter)
        self.last, self.printed = "", ""

    def follow(self, block: Shown) -> None:
        for module in self._modules:  # each command, and each session of Python, is a process of its own
            sys.modules.pop(module, None)
        if block.language == "diff":
            path = self.folder / block.file
            path.write_text(changed(path.read_text(), block.text))
        elif block.file:
            (self.folder / block.file).write_text(block.text)
        elif block.language == "python":
            self.last = "python"
            names = {"__name__": "__main__"} if self._names is None else self._names
            exec(compile(block.text, "page.md", "exec"), names)
            self.printed = self._capsys.readouterr().out
        elif block.language == "sh":
            for line in block.text.splitlines():
                self._run(line)
        elif block.language != "cuda":  # that of no file is a fragment
            assert block.language == "text"
            self._compare(block.text)

    def _run(self, line: str) -> None:
        typed = line.partition("  # ")[0]  # without a comment
        words = [word for part in shlex.split(typed) for word in (glob.glob(part) or [part])]
        if words[0] == "warpworld":
            status = main([*words[1:], *(self._shorter if words[1] == "train" else [])])
            self.last, self.printed = words[1], self._capsys.readouterr().out
            found = self.last == "check" and not NO_FINDINGS.search(self.printed)
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
        # Other processors round otherwise, so that training takes another trajectory; the lesson is the same.
        assert NUMBER.sub("", self.printed).split() == NUMBER.sub("", expected).split()
        if self._shorter:
            return
        for found, shown in zip(self.printed.splitlines(), expected.splitlines(), strict=True):
            doubt = sum(float(width) for width in WIDTH.findall(found + shown))
            pairs = zip(NUMBER.findall(found), NUMBER.findall(shown), strict=True)
            assert all(abs(float(mine) - float(theirs)) < max(3.0, doubt) for mine, theirs in pairs), found


class ReaderMaker(Protocol):
    """Makes a ``Reader`` of the working folder; the modules are those of the page's environments."""

    def __call__(self, *modules: str, one_session: bool = False, shorter: tuple[str, ...] = ()) -> Reader: ...
