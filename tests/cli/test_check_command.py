"""`warpworld check`, and what users give it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import warpworld
from tests.checking.planted_worlds import line_of, planted
from tests.toys import environment
from warpworld.cli.main import main
from warpworld.environment import get_environment
from warpworld.errors import BuildError, DeclarationError

pytestmark = pytest.mark.cpu_backend

WALK = """
from dataclasses import dataclass
import numpy as np
from gymnasium.spaces import Box, Discrete
from warpworld import Array, Environment, Group

class Walk(Environment):
    source = "walk.cu"

    @dataclass(frozen=True)
    class Params:
        walkers: int = 3
        slip: float = 0.0

    def groups(self):
        return [Group("walker", self.params.walkers, Box(-np.inf, np.inf, (1,)), Discrete(3))]

    def arrays(self):
        return [Array("steps", "int32", per="env")]
"""
KERNELS = """#include <warpworld.cuh>
extern "C" __global__ void step(int* steps, const int* actions, float* observations) {
  if (!is_active()) return;
  steps[env_id()] += actions[agent_index()];
  observations[agent_index()] = 0.0f;
}
extern "C" __global__ void reset(int* steps, float* observations) {
  if (!is_active()) return;
  if (agent_id() == 0) steps[env_id()] = 0;
  observations[agent_index()] = 0.0f;
}
"""
WRONG_LINE = "steps[env_id()] += actions[agent_index()];"
RIGHT = KERNELS.replace(WRONG_LINE, "atomicAdd(&steps[env_id()], actions[agent_index()]);")


@pytest.fixture
def walk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with an environment whose kernel loses updates; the working folder is its own."""
    path = tmp_path / "walk.py"
    path.write_text(WALK)
    (tmp_path / "walk.cu").write_text(KERNELS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "walk", raising=False)
    return path


@pytest.mark.long
def test_a_finding_is_printed_as_compilers_do_and_ends_with_status_1(
    walk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "walk.py", "--steps", "10", "--envs", "2"]) == 1
    first, advice, summary, *coverage = capsys.readouterr().out.splitlines()
    assert first == (
        "walk.cu:4: race: kernel 'step', env 0: agent 1 writes steps[env 0], which agent 0 wrote at the same line, "
        "with no barrier between; the values differ"
    )
    assert advice == "    use an atomic operation such as atomicAdd, or let one agent do it after sync_env()"
    assert summary.startswith("Walk: 1 finding (2 envs, 10 steps, seed 0, ")
    assert [re.sub(r"\d+", "N", line) for line in coverage] == ["  step: all N lines ran", "  reset: all N lines ran"]


@pytest.mark.long
@pytest.mark.parametrize("words", [["walkers=2", "--steps", "10"], ["--steps", "10", "walkers=2", "slip=0.5"]])
def test_a_mended_kernel_is_clean_and_ends_with_status_0(
    walk: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    (walk.parent / "walk.cu").write_text(RIGHT)
    assert main(["check", f"{walk}:Walk", *words]) == 0
    assert capsys.readouterr().out.startswith("Walk: 0 findings (5 envs, 10 steps, seed 0, ")


@pytest.mark.long
@pytest.mark.long
def test_a_config_is_checked_with_its_own_parameters(walk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    walk.with_suffix(".cu").write_text(RIGHT)
    config = walk.with_suffix(".yaml")
    config.write_text(
        "name: walk.py\nenv: {walkers: 1}\npolicy: {walker: {algorithm: ppo}}\n"
        "trainer: {num_envs: 4, num_steps: 8, total_env_steps: 64}\n"
    )
    assert main(["check", "walk.yaml", "--steps", "3", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["environment"].endswith("Walk")
    assert main(["check", "none.yaml"]) == 2
    assert "none.yaml" in capsys.readouterr().err


def test_json_holds_what_the_text_says(walk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "walk.py:Walk", "--steps", "10", "--seed", "3", "--format", "json"]) == 1
    report = json.loads(capsys.readouterr().out)
    (finding,) = report["findings"]
    assert (report["environment"], report["seed"], report["clean"]) == ("Walk", 3, False)
    assert finding["place"] == finding["other"] == {"file": str(walk.with_suffix(".cu")), "line": 4}
    assert (finding["kind"], finding["array"], finding["index"]) == ("race", "steps", [0])
    assert (finding["agents"], finding["writes"], finding["note"]) == ([2, 1], [True, True], False)


@pytest.mark.heavy
@pytest.mark.long
def test_the_check_as_a_process(walk: Path) -> None:
    command = [sys.executable, "-m", "warpworld", "check", "walk:Walk", "--steps", "5"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    noted = [line for line in result.stderr.splitlines() if "compiling" not in line]  # said where that takes long
    assert (result.returncode, noted) == (1, [])
    assert "walk.cu:4: race" in result.stdout


def test_only_the_name_is_required(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["check"])
    assert capsys.readouterr().err.endswith("the following arguments are required: NAME\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["cartpol"], "unknown environment 'cartpol'. Did you mean 'cartpole'?"),
        (["nowhere.py"], "no file 'nowhere.py'; expected a Python file that defines an Environment"),
        (["walk.py:Wlk"], "walk.py: no Environment 'Wlk'. Did you mean 'Walk'? Environments: Walk"),
        (["walk.py", "walker=2"], "Walk: no parameter 'walker'. Did you mean 'walkers'? Known: walkers, slip"),
        (["walk.py", "walkers"], "parameter 'walkers': expected key=value, for instance num_taggers=3"),
        (["walk.py", "env.walker=2"], "Walk: no parameter 'walker'. Did you mean 'walkers'? Known: walkers, slip"),
        (["walk.py", "seed=3"], "'seed' is no parameter of Walk, expected the option --seed 3"),
        (["walk.py", "trainer.num_envs=3"], "'num_envs' is no parameter of Walk, expected the option --envs 3"),
        (["walk.cu"], "unknown environment 'walk.cu'. An environment is named by its Python file: walk.py."),
        (["walk"], "unknown environment 'walk'. An environment is named by its Python file: walk.py."),
        (["game/"], "unknown environment 'game/'. An environment is named by its Python file: game/game.py."),
        (["walk.py", "walkers=[1"], "command line, walkers=[1: YAML syntax error"),
        (["empty.py"], "empty.py: expected a file that defines one Environment, this one defines none"),
        (
            ["two.py"],
            "two.py: expected a file that defines one Environment, this one defines A, B; say which:",
        ),
        (["broken.py"], "broken.py' cannot be imported: ZeroDivisionError: division by zero"),
        (["python.py"], "Waits: there is nothing to check, since `source` names no kernel file"),
    ],
)
def test_what_cannot_be_checked_is_told_in_a_line_with_status_2(
    walk: Path, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (walk.parent / "empty.py").write_text("from warpworld import Environment\n")
    (walk.parent / "two.py").write_text(
        "from warpworld import Environment\nclass A(Environment): pass\nclass B(Environment): pass\n"
    )
    (walk.parent / "broken.py").write_text("1 / 0\n")
    (walk.parent / "game").mkdir()
    (walk.parent / "game" / "game.py").touch()
    (walk.parent / "python.py").write_text(
        WALK.replace("Walk", "Waits").replace('"walk.cu"', "None") + "    def phases(self):\n        return [print]\n"
    )
    assert main(["check", *words]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert message in printed.err
    assert len(printed.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--envs", "1"], "expected a whole number of at least 2"),
        (["--steps", "0"], "expected a whole number of at least 1"),
        (["--steps", "1_000_000"], "expected a whole number of at most 100,000"),
        (["--format", "xml"], "invalid choice: 'xml'"),
    ],
)
def test_options_are_checked(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as error:
        main(["check", "cartpole", *words])
    assert error.value.code == 2
    assert message in capsys.readouterr().err


def test_python_finds_the_same_as_the_command() -> None:
    report = warpworld.check(planted("races.cu", "lost_update"), num_envs=2, steps=3, seed=1)
    (finding,) = report.findings
    assert not report.clean
    assert (finding.kind, finding.place.line) == ("race", line_of("races.cu", "lost_update"))


@pytest.mark.parametrize(
    ("given", "message"),
    [(dict(num_envs=1), "num_envs=1: .* from 2 to 1000"), (dict(steps=0), "steps=0: .* from 1 to 100000")],
)
def test_python_refuses_too_few(given: dict[str, int], message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        warpworld.check("cartpole", **given)
    with pytest.raises(DeclarationError, match="has its parameters already; episode_length cannot be given"):
        warpworld.check(planted("races.cu", "correct"), episode_length=3)


def test_a_compiler_without_the_option_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = tmp_path / "limited"
    compiler.write_text(
        "#!/bin/sh\nfor word; do case $word in -fsanitize*) "
        "echo \"limited: error: unrecognized option '$word'\" >&2; exit 1;; --version) echo limited 1.0; exit;; esac; "
        'done\nexec g++ "$@"\n'
    )
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    with pytest.raises(BuildError, match="which needs -fsanitize=thread and -fsanitize=undefined: "):
        warpworld.check(planted("races.cu", "correct"))


def test_a_kernel_that_does_not_compile_is_told_at_its_own_line(walk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (walk.parent / "walk.cu").write_text(KERNELS.replace("+=", "+= nothing +"))
    assert main(["check", "walk.py"]) == 2
    assert "walk.cu:4:" in capsys.readouterr().err


def test_a_file_of_a_package_is_not_imported_twice() -> None:
    from warpworld.envs.cartpole import cartpole

    assert get_environment(f"{cartpole.__file__}:CartPole") is cartpole.CartPole


def test_a_world_checks_its_environment_and_stays_as_it_is() -> None:
    world = warpworld.World(planted("bounds.cu", "next_agent"), 2, device="cpu")
    world.reset()
    world.step()
    before = world.snapshot()
    report = warpworld.check(world, num_envs=3, steps=4, seed=1)
    assert {finding.kind for finding in report.findings} == {"other-env", "out-of-bounds"}
    assert (report.num_envs, report.steps, report.seed) == (3, 4, 1)
    assert world.snapshot().equal(before)


def test_a_world_without_kernels_has_nothing_to_check() -> None:
    world = warpworld.World(environment(None, phases=[lambda arrays, active: None]), 2, device="cpu")
    with pytest.raises(DeclarationError, match="there is nothing to check"):
        warpworld.check(world)


@pytest.mark.long
def test_what_a_kernel_prints_is_shown_once(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "speaks.cu"
    path.write_text("""#include <warpworld.cuh>
extern "C" __global__ void step(const int* timestep) {
  if (is_active()) printf("step %d\\n", timestep[env_id()]);
}
""")
    assert warpworld.check(environment(path, resets=()), num_envs=2, steps=1).clean
    printed = capfd.readouterr().out.splitlines()
    assert printed == [f"[step, env {env}, agent {agent}] step 1" for env in range(2) for agent in range(2)]
