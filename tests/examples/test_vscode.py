"""examples/vscode: valid JSON, and what it starts does what its labels say, with the example of docs/debugging.md."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.cuda.debugger import gdb
from tests.docs.pages import blocks, page

pytestmark = pytest.mark.cpu_backend

FOLDER = Path(__file__).parents[2] / "examples" / "vscode"
LAUNCH, TASKS = (json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8")) for name in ("launch", "tasks"))
(DEBUG,) = LAUNCH["configurations"]
CHECK, TRACE = TASKS["tasks"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with an environment in a folder of its own, whose kernel is open in the editor."""
    text = page("debugging")
    (tmp_path / "world").mkdir()
    (tmp_path / "world" / "walk.py").write_text(blocks(text, "python")[0])
    (tmp_path / "world" / "walk.cu").write_text(blocks(text, "cuda")[0])
    return tmp_path


def filled(text: str, project: Path) -> str:
    """A text with the editor's variables replaced."""
    values = {
        "command:python.interpreterPath": sys.executable,
        "fileDirname": str(project / "world"),
        "fileBasenameNoExtension": "walk",
        "workspaceFolder": str(project),
    }
    return re.sub(r"\$\{(.*?)\}", lambda found: values[found[1]], text)


def run(task: Mapping[str, Any], project: Path) -> subprocess.CompletedProcess[str]:
    """What a task's command prints, and its status."""
    command = [filled(word, project) for word in (task["command"], *task["args"])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    folder = filled(task["options"]["cwd"], project)
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.heavy
@pytest.mark.long
def test_the_check_lists_each_finding_at_its_line(project: Path) -> None:
    done = run(CHECK, project)
    assert done.returncode == 1, done.stderr
    pattern = CHECK["problemMatcher"]["pattern"]
    problems = [found for line in done.stdout.splitlines() if (found := re.search(pattern["regexp"], line))]
    places = [(found[pattern["file"]], int(found[pattern["line"]])) for found in problems]
    assert ("world/walk.cu", 15) in places
    assert all((project / file).is_file() for file, _ in places)
    messages = [found[pattern["message"]] for found in problems]
    assert any(message.startswith("not-finite: ") and "rewards[env 2, agent 2]" in message for message in messages)
    assert f"Walk: {len(problems)} finding" in done.stdout


@pytest.mark.heavy
@pytest.mark.long
def test_the_trace_lies_in_the_project(project: Path) -> None:
    done = run(TRACE, project)
    assert done.returncode == 0, done.stderr
    assert (project / "trace.csv").read_text().startswith("step,episode,event,agent,group,")


@pytest.mark.exhaustive
@pytest.mark.heavy
@pytest.mark.long
def test_the_debugger_stops_in_one_agent_of_one_env(project: Path) -> None:
    assert (DEBUG["type"], DEBUG["MIMode"], DEBUG["program"]) == ("cppdbg", "gdb", "${command:python.interpreterPath}")
    variables = {entry["name"]: entry["value"] for entry in DEBUG["environment"]}
    setup = [command["text"] for command in DEBUG["setupCommands"]]
    stop = ["break walk.cu:12 if env_id() == 2 && agent_id() == 1", "run", "print env_id()", "print agent_id()"]
    values = ["print timestep[env_id()]", "print energy[agent_index()] > 0", "info locals", "next"]
    program = [filled(word, project) for word in DEBUG["args"]]
    said = gdb([*setup, *stop, *values], program, project, PYTHONPATH=os.pathsep.join(sys.path), **variables)
    behind = said.partition("hit Breakpoint 1")[2]
    assert "$1 = 2\n$2 = 1\n$3 = 1\n$4 = true\n" in behind
    assert "\nway = " in behind
    assert behind.splitlines()[-1].startswith("13\t")
