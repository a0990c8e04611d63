"""The exercises: each check fails on the world as it stands, and passes with the solution."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cases import often

pytest.importorskip("nbclient")

from tests.docs.pages import Shown, changed, shown
from tests.tutorials.notebooks import FOLDER

pytestmark = [pytest.mark.cpu_backend]

PAGE = (FOLDER / "exercises.md").read_text(encoding="utf-8")
START, *EXERCISES = re.split(r"^## (?=\d\. )", PAGE, flags=re.MULTILINE)
NAMES = [exercise.splitlines()[0] for exercise in EXERCISES]
STEP = re.compile(r'extern "C" __global__ void step\(.*?\n\}\n', re.DOTALL)


def write(folder: Path, block: Shown) -> None:
    """Do what a block says: a file, a change of one, or another kernel `step` in ants.cu."""
    if block.language == "diff":
        path = folder / block.file
        path.write_text(changed(path.read_text(), block.text))
    elif block.file:
        (folder / block.file).write_text(block.text)
    else:
        path = folder / "ants.cu"
        path.write_text(STEP.sub(lambda _: block.text, path.read_text()))


def passes(folder: Path) -> bool:
    """Whether pytest passes in a folder, in a process of its own."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment |= {"PYTHONPATH": str(FOLDER.parents[1])}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(folder)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    assert "BuildError" not in done.stdout, done.stdout
    return done.returncode == 0


def test_there_are_six_each_with_a_hidden_hint_and_a_hidden_solution() -> None:
    assert [name.partition(".")[0] for name in NAMES] == ["1", "2", "3", "4", "5", "6"]
    for number, exercise in enumerate(EXERCISES, 1):
        assert re.findall(r"<summary>(.*?)</summary>", exercise) == ["Hint", "Solution"]
        assert exercise.count("<details") == exercise.count("</details>") == 2
        assert f"`test_{number}.py`:" in exercise.partition("<details")[0]


@pytest.mark.slow
@pytest.mark.parametrize("exercise", often(EXERCISES[:1], EXERCISES), ids=NAMES)
def test_the_check_tells_right_from_wrong(exercise: str, tmp_path: Path) -> None:
    task, _, answer = exercise.partition("<details")
    for block in [*shown(START), *shown(task)]:
        write(tmp_path, block)
    assert not passes(tmp_path)
    for block in shown(answer):
        write(tmp_path, block)
    assert passes(tmp_path)
