"""docs/debugging.md: what it shows is what happens."""

from __future__ import annotations

import os
import re
import shlex
import sys
from pathlib import Path

import pytest

import warpworld
from tests.cuda.debugger import gdb
from tests.docs.pages import blocks, page
from warpworld.cli.main import main
from warpworld.environment import get_environment
from warpworld.errors import KernelError
from warpworld.managers.kernel_source import INCLUDE_FOLDER

pytestmark = pytest.mark.cpu_backend

PAGE = page("debugging")
PACKAGE = Path(warpworld.__file__).parent
CHECK, TRACE, GDB, PATIENT = (block.strip() for block in blocks(PAGE, "sh"))
CLASS, READ, LOOP = blocks(PAGE, "python")
KERNELS, PRINT = blocks(PAGE, "cuda")
ON_CPU = ["--device", "cpu"]


@pytest.fixture(autouse=True)
def walk(working_folder: Path) -> Path:
    """The page's example, in the working folder."""
    (working_folder / "walk.py").write_text(CLASS)
    (working_folder / "walk.cu").write_text(KERNELS)
    return working_folder / "walk.cu"


def words_of(command: str) -> list[str]:
    """What stands behind the program's name."""
    program, *words = shlex.split(command)
    assert program == "warpworld"
    return words


def test_the_check_says_where_the_rewards_become_nan(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words_of(CHECK)) == 1
    said = capsys.readouterr().out
    assert "walk.cu:15: not-finite" in said
    assert "rewards[env 2, agent 2]" in said
    assert "sqrtf" in KERNELS.splitlines()[11]  # line 12, as the page says


def test_the_trace_is_that_of_the_page_and_the_page_reads_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words_of(TRACE), *ON_CPU]) == 0
    header, *table = Path("Walk-env2.csv").read_text().splitlines()
    shown = [row for row in table if ",2,walker," in row]
    assert "\n".join([header, *shown]) == blocks(PAGE, "csv")[0].strip()
    capsys.readouterr()
    exec(READ, {})
    assert capsys.readouterr().out == "4\n"


def test_a_check_and_a_run_walk_the_same_trajectory_at_first() -> None:
    """The step and the agent of the check's finding are where the run's trace has the first nan."""
    finding = next(f for f in warpworld.check("walk.py", steps=40).findings if f.kind == "not-finite")
    assert finding.step <= 10  # before the check resets some
    assert main(["run", "walk.py", "--steps", "40", "--trace", str(finding.env), *ON_CPU]) == 0
    rows = [line.split(",") for line in Path(f"Walk-env{finding.env}.csv").read_text().splitlines()]
    first = next(row for row in rows if row[rows[0].index("rewards")] == "nan")
    assert (int(first[0]), int(first[3])) == (finding.step, finding.index[1])


def test_a_loop_of_ones_own() -> None:
    exec(LOOP, {})
    header, *table = Path("lazy.csv").read_text().splitlines()
    assert "actions[0]" in header
    assert len(table) == 2 * (1 + 30 + 1)  # two walkers; the 25th step ends an episode


def test_printf_prints_what_the_page_shows(walk: Path, capfd: pytest.CaptureFixture[str]) -> None:
    lines = KERNELS.splitlines(keepends=True)
    walk.write_text("".join([*lines[:11], PRINT, *lines[11:]]))
    assert main(["run", "walk.py", "--steps", "5", *ON_CPU]) == 0
    printed = [line for line in capfd.readouterr().out.splitlines() if line.startswith("[")]
    shown = blocks(PAGE, "text")[0].splitlines()
    assert sorted(printed)[: len(shown)] == shown


@pytest.mark.exhaustive
@pytest.mark.heavy
@pytest.mark.long
def test_gdb_stops_as_the_page_says(tmp_path: Path) -> None:
    words = shlex.split(GDB)
    assert words[:4] == ["WARPWORLD_DEBUG=1", "gdb", "--args", "python"]
    (commands,) = blocks(PAGE, "gdb")
    path = os.pathsep.join(sys.path)
    skips = ["skip -gfi */warpworld/cuda/*", "advance walk.cu:16", "step", "step"]
    said = gdb([*commands.splitlines(), *skips], words[4:], tmp_path, PYTHONPATH=path)
    behind = said.partition("hit Breakpoint 1")[2]
    assert "$1 = -0.200000048\n$2 = 5\n" in behind
    assert "i = 8\n" in behind
    assert "ww_fiber_entry" in behind
    assert "$3 = -nan" in behind
    assert "observe (x=" in behind
    assert behind.splitlines()[-1].startswith("5\t")  # line 4 calls words of the header


def test_the_kernel_gets_the_time_that_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    setting, _, command = PATIENT.partition(" ")
    monkeypatch.setenv(*setting.split("="))
    assert main([*words_of(command), *ON_CPU]) == 0


def test_undefined_behaviour_faults_under_the_flags_of_the_page(walk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (flags,) = re.findall(r"`(-fsanitize=undefined[^`]*)`", PAGE)
    walk.write_text(KERNELS.replace("rewards[i] = way;", "rewards[i] = (float)(1 << (31 + timestep[env_id()]));"))
    monkeypatch.setenv("WARPWORLD_CXXFLAGS", flags)
    monkeypatch.setenv("WARPWORLD_DEBUG", "1")
    world = warpworld.World(get_environment("walk.py")(), 1, device="cpu")
    world.reset()
    with pytest.raises(KernelError, match=r"walk\.cu:15: .*undefined behaviour"):
        world.step()


def test_the_messages_are_those_of_the_runtime() -> None:
    table = PAGE.partition("## Fault messages")[2].partition("## A kernel that hangs")[0]
    messages = re.findall(r"^\| `(.*?)` \|", table, re.MULTILINE)
    sources = "".join(path.read_text() for path in (INCLUDE_FOLDER / "cpu").glob("*.hpp"))
    assert len(messages) == 8
    for message in messages:
        assert message in sources


def test_the_table_of_settings_is_whole() -> None:
    named = set(re.findall(r"^\| `(WARPWORLD_\w+)` \|", PAGE, re.MULTILINE))
    texts = (path.read_text() for path in PACKAGE.rglob("*.py"))
    assert named == {name for text in texts for name in re.findall(r"WARPWORLD_[A-Z_]+[A-Z]", text)}
