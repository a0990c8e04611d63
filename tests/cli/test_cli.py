"""The command line: what it prints, what it leaves behind, and its exit status for every mistake."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.chase import NAME, TEXT, changed
from warpworld.cli.main import main
from warpworld.config import RunConfig, load_config
from warpworld.errors import BuildError, KernelError
from warpworld.runs import Run
from warpworld.trainers.evaluations.evaluation_state import EvaluationState
from warpworld.trainers.processes.distributed import ALONE, ProcessGroup

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder with a right config in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.yaml").write_text(TEXT)
    return tmp_path


class StubTrainer:
    """Stands in for the trainer: the command line is tested without training."""

    fail_on_build: Exception | None = None
    fail_after: int = 1000
    timed_every: int = 1
    failure: BaseException = KeyboardInterrupt()
    world = types.SimpleNamespace(
        device=types.SimpleNamespace(type="cpu"),
        environment=types.SimpleNamespace(resumable=True, why_not_resumable=""),
    )
    evaluations = types.SimpleNamespace(state=EvaluationState())
    ending = ""

    def __init__(self, config: RunConfig, initial_weights: bool = True, processes: ProcessGroup = ALONE) -> None:
        self.processes = processes
        if self.fail_on_build is not None:
            raise self.fail_on_build
        self.config, self.iteration, self.env_steps = config, 0, 0
        self.num_iterations = config.trainer.total_env_steps // (config.trainer.num_envs * config.trainer.num_steps)

    @property
    def is_finished(self) -> bool:
        return self.iteration == self.num_iterations

    def create_run(self, directory: None = None, path: None = None) -> Run:
        return Run.create(self.config, first_state={"iteration": self.iteration})

    def train(
        self, run: Run, on_iteration: Callable[[dict[str, Any]], None], stop: Callable[[], bool]
    ) -> dict[str, Any]:
        rollout = self.config.trainer.num_envs * self.config.trainer.num_steps
        for _ in range(2):
            logging.getLogger("warpworld.trainers").info("device auto: cpu")
        for iteration in range(1, self.num_iterations + 1):
            if stop():
                break
            if iteration > self.fail_after:
                raise self.failure
            self.iteration, self.env_steps = iteration, iteration * rollout
            metrics = {
                "iteration": iteration,
                "env_steps": iteration * rollout,
                "agent_steps": iteration * rollout * 4,
                "charts/chaser/episodic_return": None if iteration == 1 else iteration * 1.5,
                "charts/episodic_length": float("nan"),
            }
            if iteration % self.timed_every == 0:
                metrics |= {"perf/env_steps_per_s": 1234.5, "perf/rollout_s": 0.25, "perf/update_s": 0.5}
            run.log(metrics)
            on_iteration(metrics)
        return {}


@pytest.fixture
def trainer(monkeypatch: pytest.MonkeyPatch) -> type[StubTrainer]:
    """Put a trainer in the place of the real one; this process is not tuned."""
    stub = type("Stub", (StubTrainer,), {})
    module = types.ModuleType("warpworld.trainers.trainer")
    module.Trainer = stub  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    stub.tuned = 0  # type: ignore[attr-defined]

    def tune(device: Any) -> None:
        stub.tuned += device.type == "cpu"  # type: ignore[attr-defined]

    monkeypatch.setattr("warpworld.trainers.cpu_tuning.tune_for_cpu", tune)
    return stub


def test_train_prints_a_summary_and_leaves_a_run_folder(
    trainer: type[StubTrainer], here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", "run.yaml", "trainer.total_env_steps=320", "policy.chaser.gamma=0.5"]) == 0
    (folder,) = (here / "runs").iterdir()
    relative = folder.relative_to(here)
    assert load_config(folder / "config.yaml").policy["chaser"].gamma == 0.5
    assert len((folder / "metrics.jsonl").read_text().splitlines()) == 10
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0] == f"training {NAME} with 8 envs; run folder: {relative}"
    speeds = "1,234 env steps/s, 4,938 agent steps/s"
    assert lines[1].startswith(f"100%  320 env steps  {speeds}  0:00:00 left  mean return: chaser 15.00, evader -")
    assert lines[3:5] == [f"run folder      {relative}", f"learning curve  {relative}/curve.png"]
    assert lines[5].startswith("env steps       320 in 0:00:0")
    assert lines[6].startswith("agent steps     1,280 (")
    assert lines[7:] == [
        "time            2.5 s in rollouts, 5.0 s in updates",
        "chaser          mean return 3.00 at first, 15.00 at last",
        "evader          mean return - at first, - at last",
    ]
    assert (folder / "curve.png").is_file()
    assert err == "device auto: cpu\n"


@pytest.mark.long
def test_the_summary_says_which_iterations_were_timed(
    trainer: type[StubTrainer], here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(trainer, "timed_every", 4)
    assert main(["train", "run.yaml", "trainer.total_env_steps=320"]) == 0
    said = "time            0.5 s in rollouts, 1.0 s in updates, in the 2 of 10 iterations that were logged or saved"
    assert said in capsys.readouterr().out.splitlines()


def test_train_stops_where_it_is_told(
    trainer: type[StubTrainer], here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        main(["train", "run.yaml", "total_env_steps=3200", "--stop-at", "1_00"]) == 0
    )  # the first multiple of 32 from there on is 128
    (folder,) = (here / "runs").iterdir()
    assert len((folder / "metrics.jsonl").read_text().splitlines()) == 4
    assert capsys.readouterr().out.splitlines()[1:] == [
        f"stopped after 128 env steps, with a checkpoint; run folder: {folder.relative_to(here)}",
        f"continue: warpworld train --resume {folder.relative_to(here)}",
    ]


def test_train_finds_packaged_configs(trainer: type[StubTrainer], capsys: pytest.CaptureFixture[str]) -> None:
    small = ["trainer.num_envs=8", "trainer.num_steps=4", "trainer.total_env_steps=64"]
    assert main(["train", "cartpole", *small]) == 0
    assert capsys.readouterr().out.startswith("training cartpole with 8 envs")


@pytest.mark.parametrize(("device", "times"), [("cpu", 1), ("cuda", 0)])
def test_training_on_the_cpu_is_tuned_for_it(
    trainer: type[StubTrainer], device: str, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trainer.world.device, "type", device)
    assert main(["train", "run.yaml", "trainer.total_env_steps=320"]) == 0
    assert trainer.tuned == times  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "overrides", "message"),
    [
        (changed("num_envs:", "num_envz:"), [], "run.yaml, line 5: trainer.num_envz is not a known key."),
        (changed("  num_steps: 4\n", ""), [], "run.yaml, line 4: trainer.num_steps is missing"),
        (TEXT + "name: x\n", [], "run.yaml, line 13: name is given twice, first in line 1; keep one"),
        (TEXT + "---\n", [], "run.yaml, line 13: a second YAML document starts here, expected one: remove the '---'"),
        (changed(NAME, "!!python/name:os.getcwd"), [], "run.yaml, line 1: the YAML tag !!python/name:os.getcwd"),
        (changed("num_envs: 8", "num_envs: many"), [], "run.yaml, line 5: trainer.num_envs is 'many', expected"),
        (changed("num_envs: 8", "num_envs: 0"), [], "run.yaml, line 5: trainer.num_envs is 0, expected at least 1"),
        (changed(NAME, "cartpol"), [], "run.yaml, line 1: name: unknown environment 'cartpol'."),
        ("name: [\n", [], "run.yaml, line 2: YAML syntax error: expected the node content, but found '<stream end>'"),
        ("", [], "run.yaml is empty, expected the sections name, env, trainer, policy and saving"),
        (TEXT, ["trainer.num_env=3"], "command line, trainer.num_env=3: trainer.num_env is not a known key"),
        (TEXT, ["trainer.num_envs=0"], "command line, trainer.num_envs=0: trainer.num_envs is 0, expected at least 1"),
        (TEXT, ["fast"], "override 'fast': expected key=value, for instance trainer.num_envs=64"),
    ],
)  # fmt: skip
def test_a_bad_config_is_one_line_and_status_2(
    here: Path, capsys: pytest.CaptureFixture[str], text: str, overrides: list[str], message: str
) -> None:
    (here / "run.yaml").write_text(text)
    assert main(["train", "run.yaml", *overrides]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"error: {message}")
    assert err.count("\n") == 1
    assert [entry.name for entry in here.iterdir()] == ["run.yaml"]


def test_no_such_config(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "cartpol.yaml"]) == 2
    assert capsys.readouterr().err == (
        "error: no file 'cartpol.yaml', and no packaged config of that name. Did you mean 'cartpole'? "
        "All: warpworld list\n"
    )
    assert not (here / "runs").exists()


def test_a_config_of_a_near_name_in_the_same_folder(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "rum.yaml"]) == 2
    assert capsys.readouterr().err == (
        "error: no file 'rum.yaml', and no packaged config of that name. Did you mean 'run.yaml'? All: warpworld list\n"
    )


def test_code_of_an_environment_is_no_config(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for given, near in {"run.py": ", such as run.yaml", "walk.cu": ""}.items():
        assert main(["train", given]) == 2
        assert capsys.readouterr().err == (
            f"error: '{given}' is an environment's code, expected a YAML file{near} or a name of `warpworld list`\n"
        )


def test_a_kernel_that_does_not_build_leaves_no_folder(
    trainer: type[StubTrainer], here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trainer.fail_on_build = BuildError("chase.cu:7: error: expected ';'")
    assert main(["train", "run.yaml"]) == 2
    assert capsys.readouterr() == ("", "error: chase.cu:7: error: expected ';'\n")
    assert not (here / "runs").exists()


def test_run_folder_that_cannot_be_made(
    trainer: type[StubTrainer], here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", "run.yaml", "saving.directory=run.yaml"]) == 2
    assert "error: no run folder can be made in 'run.yaml'" in capsys.readouterr().err
    assert (here / "run.yaml").read_text() == TEXT


def test_a_kernel_fault_while_training(trainer: type[StubTrainer], capsys: pytest.CaptureFixture[str]) -> None:
    trainer.fail_after, trainer.failure = 1, KernelError("kernel step, env 3, agent 1: bad pointer")
    assert main(["train", "run.yaml"]) == 2
    assert capsys.readouterr().err.endswith("error: kernel step, env 3, agent 1: bad pointer\n")


def test_ctrl_c(trainer: type[StubTrainer], here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trainer.fail_after = 3
    assert main(["train", "run.yaml"]) == 130
    (folder,) = (here / "runs").iterdir()
    assert capsys.readouterr().err.splitlines()[-2:] == [
        f"interrupted after 96 env steps; run folder: {folder.relative_to(here)}",
        f"continue from its last checkpoint: warpworld train --resume {folder.relative_to(here)}",
    ]
    assert (folder / "curve.png").is_file()


def test_an_error_of_our_own_making_shows_its_traceback(trainer: type[StubTrainer]) -> None:
    trainer.fail_after, trainer.failure = 1, ZeroDivisionError("division by zero")
    with pytest.raises(ZeroDivisionError):
        main(["train", "run.yaml"])


@pytest.mark.long
def test_as_a_process(here: Path) -> None:
    (here / "run.yaml").write_text(TEXT.replace(NAME, "cartpole").replace("chasers: 3", "episode_length: 0"))
    command = [sys.executable, "-m", "warpworld", "train", "run.yaml"]
    done = subprocess.run(
        command, cwd=here, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: run.yaml, line 3: env.episode_length is 0, expected 1 to ")
    assert done.stderr.count("\n") == 1
    assert [entry.name for entry in here.iterdir()] == ["run.yaml"]


def test_reader_that_stops_reading(here: Path) -> None:
    command = f"'{sys.executable}' -m warpworld list | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=here,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.strip() in ("0", "1")
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["trian"], "error: unknown command 'trian'. Did you mean 'train'? Known: train, sweep, reproduce, tune, "),
        (["cartpole"], "error: unknown command 'cartpole'. Did you mean 'warpworld train cartpole'? Known: train, "),
        (
            ["train"],
            "expected a YAML file or a packaged config, such as cartpole, tag_gridworld, minatar_breakout; "
            "all: warpworld list",
        ),
        (["check", "cartpole", "--device", "cpu"], "unrecognized arguments: --device cpu"),
        (["train", "run.yaml", "--stop-at", "0"], "argument --stop-at: '0', expected a whole number of at least 1"),
        (["train", "--resume"], "argument --resume: expected one argument"),
        (["train", "run.yaml", "--sed", "3"], "unrecognized arguments: --sed 3. Did you mean --seed?\n"),
        (
            ["train", "run.yaml", "--ent-coef", "3"],
            "unrecognized arguments: --ent-coef 3; settings are written key=value: ent_coef=3\n",
        ),
        (["export", "x", "--ent-coef=3"], "unrecognized arguments: --ent-coef=3\n"),
        (["eval", "x", "--side=3"], "unrecognized arguments: --side=3; settings are written key=value: side=3\n"),
        (["check", "x", "--seed", "3", "a=1", "side", "--b=2"], "unrecognized arguments: side --b=2"),
        (["eval", "x", "--episodes", "0"], "argument --episodes: '0', expected a whole number of at least 1"),
        (["eval", "x", "--seed", "-1"], "argument --seed: '-1', expected a whole number of at least 0"),
        (["eval", "x", "--episodes", "²"], "argument --episodes: '²', expected a whole number of at least 1"),
        (
            ["eval", "x", "--checkpoint", "last"],
            "argument --checkpoint: 'last', expected an iteration, or best for the weights with the best evaluation\n",
        ),
        (["eval", "x", "--episodes", "10_000_001"], "'10_000_001', expected a whole number of at most 10,000,000"),
        (["eval", "x", "--episodes", "9" * 23], f"'{'9' * 23}', expected a whole number of at most 10,000,000"),
        (["eval", "x", "--episodes", "9" * 5000], "999', expected a whole number of at most 10,000,000"),
        (["watch", "x", "--episodes", "9" * 23], f"'{'9' * 23}', expected a whole number of at most 10,000,000"),
        (
            ["eval", "x", "--seed", str(2**63)],
            f"'{2**63}', expected a whole number of at most 9,223,372,036,854,775,80",
        ),
        *(
            (
                ["bench", f"--seconds={given}"],
                f"argument --seconds: '{given}', expected a number of seconds that is more",
            )
            for given in ("nan", "-1", "0", "inf", "soon")
        ),
    ],
)
def test_wrong_words(capsys: pytest.CaptureFixture[str], words: list[str], message: str) -> None:
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


def test_no_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert "train" in capsys.readouterr().out


def test_eval(here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}

    def evaluate(run: Run, **options: object) -> dict[str, dict[str, float]]:
        assert options.pop("played_in") is run.config
        seen.update(options, path=run.path)
        result = {"mean_return": 1234.567, "confidence": 0.5, "against_random": 7.0, "random_return": -2.0}
        own = {"chaser": {"env/chaser/tags": 0.123456}, "evader": {"env/evader/tags": 1e6}}
        return {name: {**result, **own[name], "env/tags_left": 2.0} for name in run.config.policy}

    module = types.ModuleType("warpworld.trainers.evaluate")
    module.evaluate = evaluate  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    path = Run.create(load_config("run.yaml")).path
    assert main(["eval", str(path), "--episodes", "7", "--seed", "3"]) == 0
    unset = {"greedy": False, "checkpoint": None, "steps": None, "simulations": None, "opponents": [], "by": None}
    assert seen == {"path": path, "episodes": 7, "seed": 3, **unset}
    assert capsys.readouterr().out.splitlines() == [
        "policy  mean return  95% confidence  all at random  others at random",
        "chaser  1,234.57     +- 0.50         -2.00          7.00",
        "evader  1,234.57     +- 0.50         -2.00          7.00",
        "",
        "metric        mean",
        "chaser: tags  0.123",
        "tags left     2.00",
        "evader: tags  1,000,000.00",
    ]


@pytest.mark.parametrize(("words", "device"), [([], "auto"), (["--device", "cpu"], "cpu")])
def test_the_device_of_an_evaluation(
    here: Path, words: list[str], device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    monkeypatch.setattr(
        "warpworld.trainers.evaluate.evaluate", lambda run, **options: seen.append(run.config.trainer.device) or {}
    )
    path = Run.create(load_config("run.yaml", ["device=auto"])).path
    assert main(["eval", str(path), *words]) == 0
    assert seen == [device]


@pytest.mark.parametrize(("asked", "played"), [(7, None), (1024, None), (1025, 2048)])
def test_episodes_that_are_rounded_say_so(
    here: Path, asked: int, played: int | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("warpworld.trainers.evaluate.evaluate", lambda run, **options: {})
    path = Run.create(load_config("run.yaml")).path
    assert main(["eval", str(path), "--episodes", str(asked)]) == 0
    notice = f"{played:,} episodes: {asked:,} rounded up, so that every env plays as many\n" if played else ""
    assert capsys.readouterr().out.startswith(notice or "policy")


def test_eval_of_what_is_no_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "run.yam"]) == 2
    assert (
        capsys.readouterr().err == "error: 'run.yam' does not exist, expected a run folder. Did you mean 'run.yaml'?\n"
    )


def test_a_config_in_place_of_a_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "cartpole"]) == 2
    expected = (
        "error: 'cartpole' does not exist, expected a run folder. 'cartpole' is a config: warpworld train cartpole "
    )
    assert capsys.readouterr().err == f"{expected}makes a run of it.\n"


def test_a_run_in_place_of_a_config(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = Run.create(load_config("run.yaml")).path
    assert main(["train", str(path)]) == 2
    assert capsys.readouterr().err == (
        f"error: '{path}' is a run folder, expected a config. To continue the run: warpworld train --resume {path}; to "
        f"repeat it: warpworld train {path}/config.yaml\n"
    )


def test_watch_of_a_config_that_is_misspelt(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["watch", "tag_gridwold"]) == 2
    assert capsys.readouterr().err == (
        "error: 'tag_gridwold' does not exist, expected a run folder or a config. Did you mean 'tag_gridworld'?\n"
    )


def test_a_run_without_its_folder(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = Run.create(load_config("run.yaml")).path
    assert main(["eval", path.name]) == 2
    assert capsys.readouterr().err == (
        f"error: '{path.name}' does not exist, expected a run folder. Did you mean 'runs/{path.name}'?\n"
    )


@pytest.mark.parametrize(
    ("budget", "printed"),
    [(320, []), (350, ["320 env steps: the budget of 350 rounded down to 10 iterations of 32"])],
)
def test_a_budget_that_is_rounded_says_so(
    here: Path, trainer: type[StubTrainer], budget: int, printed: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", "run.yaml", f"total_env_steps={budget}"]) == 0
    out = capsys.readouterr().out
    assert [line for line in out.splitlines() if "rounded" in line] == printed


def test_options_that_stand_for_settings(
    here: Path, trainer: type[StubTrainer], capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--seed", "7", "--device", "cpu", "--name", "007", "--tag", "a", "--tag", "b.2"]
    assert main(["train", "run.yaml", *words]) == 0
    (path,) = (here / "runs").iterdir()
    saving = load_config(path / "config.yaml").saving
    assert path.name.startswith("007-")
    assert (saving.name, saving.tags) == ("007", ("a", "b.2"))
    assert load_config(path / "config.yaml").trainer.seed == 7


def test_log_handler_goes_away(trainer: type[StubTrainer]) -> None:
    before = list(logging.getLogger("warpworld").handlers)
    main(["train", "run.yaml"])
    assert logging.getLogger("warpworld").handlers == before


@pytest.mark.parametrize(
    ("redirected", "status", "said"),
    [
        (">&-", 0, ""),
        (">/dev/full", 2, "error: standard output cannot be written: No space left on device\n"),
    ],
)
@pytest.mark.long
def test_standard_output_that_is_closed_or_full(redirected: str, status: int, said: str) -> None:
    command = f"'{sys.executable}' -m warpworld list {redirected}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (status, said)
