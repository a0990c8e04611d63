"""The workflow for GitHub and .ci/run: what they start exists."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
JOBS: dict[str, Any] = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))["jobs"]
TARGETS = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
RUN = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
COMMANDS = [step["run"] for job in JOBS.values() for step in job["steps"] if "run" in step]


def missing(command: str) -> list[str]:
    """The targets of make, and the programs of the repository, that a command names and that are not there."""
    program, *words = shlex.split(command)
    if program == "make":
        return [word for word in words if "=" not in word and word not in TARGETS]
    return [] if (ROOT / program).is_file() else [program]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_step_starts_what_is_there(command: str) -> None:
    assert missing(command) == []


def test_every_target_that_ci_makes_is_there() -> None:
    made = re.findall(r"^\s*(?:if with_pycuda; then )?(make [\w= -]+?)(?:;|$)", RUN, re.MULTILINE)
    assert len(made) == RUN.count("make ") - RUN.count("echo")  # the last line names one in words
    assert [target for command in made for target in missing(command)] == []


def test_what_is_not_there_is_missing() -> None:
    assert missing("make tests lint VENV=x") == ["tests"]
    assert missing(".ci/walk") == [".ci/walk"]


def test_the_supported_versions_of_python_are_tested() -> None:
    stated = re.findall(r"Programming Language :: Python :: (3\.\d+)", (ROOT / "setup.py").read_text(encoding="utf-8"))
    assert JOBS["tests"]["strategy"]["matrix"]["python"] == stated
