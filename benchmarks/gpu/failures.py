"""A plugin of pytest that writes failures down as they come: contract.py has pytest load it.

Each is a finding of the part, and ``failures.txt`` beside it has the whole traceback and what the test printed.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from .wrong import FOLDER, write_wrong

FILE = "failures.txt"


class Failures:
    """Writes down failed tests, and files that cannot be collected.

    Args:
        folder: of the findings.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._uncollected: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Called when a phase of a test has ended."""
        if report.failed:
            self._write(report, report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Called when a file is collected, by several workers once each."""
        if report.failed and report.nodeid not in self._uncollected:
            self._uncollected.add(report.nodeid)
            self._write(report, f"{report.nodeid} (not collected)")

    def _write(self, report: pytest.TestReport | pytest.CollectReport, name: str) -> None:
        text = report.longreprtext
        write_wrong(self._folder, f"{name}: {short(text)}")
        printed = "\n".join(f"--- {title}\n{content}" for title, content in report.sections)
        with (self._folder / FILE).open("a") as file:
            file.write(f"=== {name}\n{text}\n{printed}\n")


def short(text: str) -> str:
    """The line of a traceback that says what is wrong: the first that pytest marks with an E, else the last."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    marked = [line[1:].strip() for line in lines if line.startswith("E ")]
    return next(iter([*marked, *lines[-1:]]), "no traceback")


def pytest_configure(config: pytest.Config) -> None:
    """Register in the process that hears of all tests, to which workers of pytest-xdist report, if it has a folder."""
    if FOLDER in os.environ and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Failures(Path(os.environ[FOLDER])))
