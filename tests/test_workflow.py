"""The workflow for GitHub and .ci/run: what they start exists."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
JOBS: dict[str, Any] = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))["jobs"]
TARGETS = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
RUN = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
# What .ci/run prints, which is not the order in which it makes them.
STAGES = [
    *("setup", "peers", "cuda-tools", "browser-tools", "docs"),
    *("lint", "types", "test-optimised", "test-cuda", "test"),
]
COMMANDS = [step["run"] for job in JOBS.values() for step in job["steps"] if "run" in step]


def missing(command: str) -> list[str]:
    """The targets of make, and the programs of the repository, that a command names and that are not there."""
    program, *words = shlex.split(command)
    if program == "make":
        return [word for word in words if "=" not in word and word not in TARGETS]
    if program == "pip":
        return []
    return [] if (ROOT / program).is_file() else [program]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_step_starts_what_is_there(command: str) -> None:
    assert missing(command) == []


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize("failing", ["", "setup", "lint", "test-optimised", "peers", "docs", "test-cuda", "test"])
def test_ci_makes_all_stages_and_fails_where_one_fails(failing: str, tmp_path: Path) -> None:
    programs = {
        ".ci/run": RUN,
        ".venv/bin/python": "#!/bin/sh\n",
        "bin/make": f'#!/bin/sh\necho "made $1"\n[ "$1" != "{failing}" ]\n',
    }
    for name, text in programs.items():
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    ended = subprocess.run([tmp_path / ".ci/run"], env=environment, capture_output=True, text=True, check=False)
    assert (ended.returncode == 0) == (not failing), ended.stderr
    made = re.findall("made (.*)", ended.stdout)
    assert failing or made == STAGES
    assert set(made) <= TARGETS
    assert failing in ("", *made)  # what it printed is shown
    assert failing or ended.stdout.count(" s  make ") == len(made) - 1


def test_what_is_not_there_is_missing() -> None:
    assert missing("make tests lint VENV=x") == ["tests"]
    assert missing(".ci/walk") == [".ci/walk"]


def test_the_supported_versions_of_python_are_tested() -> None:
    stated = re.findall(r"Programming Language :: Python :: (3\.\d+)", (ROOT / "setup.py").read_text(encoding="utf-8"))
    assert JOBS["tests"]["strategy"]["matrix"]["python"] == stated
