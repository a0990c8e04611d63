"""``warpworld.train`` and what it returns."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import warpworld
from warpworld.cli.main import main
from warpworld.errors import ConfigError, DeviceError, ProcessError, RunError
from warpworld.policies import MLP, Policy
from warpworld.trainers import cpu_tuning
from warpworld.trainers.evaluate import load_policies

pytestmark = pytest.mark.cpu_backend

WORDS = (
    "trainer.device=cpu",
    "trainer.num_envs=4",
    "trainer.num_steps=8",
    "trainer.total_env_steps=192",
    "policy.agent.num_minibatches=1",
    "policy.agent.update_epochs=1",
    "policy.agent.model.type=tests.trainers.from_python.drawing_model:Drawing",
    "saving.checkpoint_every=2",
)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Each test in a folder of its own; torch's threads and precision are put back, which commands change."""
    monkeypatch.chdir(tmp_path)
    precision, threads = torch.get_float32_matmul_precision(), torch.get_num_threads()
    torch.set_float32_matmul_precision("highest")
    yield tmp_path
    torch.set_float32_matmul_precision(precision)
    torch.set_num_threads(threads)


def settings_of_torch() -> tuple[Any, ...]:
    return torch.get_rng_state().tolist(), torch.get_float32_matmul_precision(), torch.get_num_threads()


def same(one: Any, other: Any) -> bool:
    """Whether two parts of checkpoints are equal, bit for bit."""
    if isinstance(one, torch.Tensor):
        return torch.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    return bool(one == other)


@pytest.mark.long
@pytest.mark.parametrize("model", ["own", "fused"])
def test_the_run_is_that_of_the_command(model: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [word for word in WORDS if model == "own" or ".model." not in word]
    torch.manual_seed(77)
    before, seen = settings_of_torch(), list[dict[str, Any]]()
    run = warpworld.train("cartpole", words, on_iteration=seen.append, directory="mine")
    assert settings_of_torch() == before
    assert run.path.parent == Path("mine")
    said = capsys.readouterr().out
    torch.manual_seed(78)
    assert main(["train", "cartpole", *words]) == 0
    (theirs,) = map(warpworld.Run.open, (here / "runs").iterdir())
    assert run.metrics_path.read_bytes() == theirs.metrics_path.read_bytes()
    assert run.checkpoints() == theirs.checkpoints() == [0, 2, 4, 6]
    mine, other = run.load_checkpoint(), theirs.load_checkpoint()
    assert mine.keys() == other.keys()
    for part in mine.keys() - {"seconds"}:
        assert same(mine[part], other[part]), part
    names, others = ({path.name.partition(".tfevents")[0] for path in each.path.iterdir()} for each in (run, theirs))
    assert names == others
    assert [metrics["iteration"] for metrics in seen] == [1, 2, 3, 4, 5, 6]
    assert seen[-1]["losses/agent/entropy"] > 0
    lines = said.splitlines()
    assert lines[0] == f"training cartpole with 4 envs; run folder: {run.path}"
    end = lines.index("")  # behind the lines of progress, of which a busy machine prints several
    assert lines[end - 1].startswith("100%  192 env steps")
    assert lines[end + 1] == f"run folder      {run.path}"


def test_settings_of_torch_are_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu_tuning, "tune_for_cpu", lambda device: torch.set_float32_matmul_precision("medium"))
    torch.set_num_threads(2)
    before, within = settings_of_torch(), list[Any]()
    warpworld.train(
        "cartpole", [*WORDS, "trainer.torch_threads=1"], on_iteration=lambda _: within.append(settings_of_torch())
    )
    assert within[0][1:] == ("medium", 1)
    assert settings_of_torch() == before
    assert before[1:] == ("highest", 2)


@pytest.mark.long
def test_configs_of_every_kind(here: Path) -> None:
    config = warpworld.load_config("cartpole", WORDS)
    small = "trainer.total_env_steps=32"
    made = [warpworld.train(given, [small]) for given in (config, config.to_dict())]
    (here / "own.yaml").write_text(config.to_yaml())
    made.append(warpworld.train(here / "own.yaml", [small]))
    assert warpworld.train(made[0].config).config is made[0].config
    assert len({run.metrics_path.read_bytes() for run in made}) == 1
    assert all(run.config == made[0].config for run in made)
    assert repr(made[0]) == f"<Run '{made[0].path}': cartpole>"


@pytest.mark.long
def test_a_finished_run_can_be_taken_up_again(here: Path) -> None:
    run = warpworld.train("cartpole", [*WORDS, "trainer.total_env_steps=64"])
    assert main(["train", "--resume", str(run.path), "trainer.total_env_steps=192"]) == 0
    assert run.checkpoints()[-1] == 6


@pytest.mark.long
@pytest.mark.parametrize(("number", "error"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit)])
def test_a_signal_leaves_a_checkpoint(number: int, error: Any, here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    def interrupt(metrics: dict[str, Any]) -> None:
        if metrics["iteration"] == 3:
            os.kill(os.getpid(), number)

    before = settings_of_torch()
    with pytest.raises(error) as raised:
        warpworld.train("cartpole", WORDS, on_iteration=interrupt)
    assert raised.value.args == (() if number == signal.SIGINT else (143,))
    (path,) = Path("runs").iterdir()
    assert warpworld.Run.open(path).checkpoints() == [0, 2, 3]
    assert capfd.readouterr().err.splitlines()[-2:] == [
        f"ended by {signal.Signals(number).name} after 96 env steps, with a checkpoint; run folder: {path}",
        f"continue: warpworld train --resume {path}",
    ]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert settings_of_torch() == before
    assert main(["train", "--resume", str(path)]) == 0


def test_what_on_iteration_raises_comes_through(here: Path) -> None:
    def fail(metrics: dict[str, Any]) -> None:
        raise ZeroDivisionError("of the caller")

    with pytest.raises(ZeroDivisionError, match="of the caller"):
        warpworld.train("cartpole", WORDS, on_iteration=fail)
    (path,) = Path("runs").iterdir()
    warpworld.Run.open(path).lock()  # which nobody holds any more


def test_what_torch_says_of_a_gpu_is_explained() -> None:
    def fail(metrics: dict[str, Any]) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.\nmore")

    with pytest.raises(DeviceError) as error:
        warpworld.train("cartpole", WORDS, on_iteration=fail)
    assert str(error.value) == (
        "the GPU's memory is full (CUDA out of memory. Tried to allocate 2.00 GiB.); ask for fewer envs, shorter "
        "rollouts or more minibatches"
    )


def test_a_second_signal_ends_at_once(capfd: pytest.CaptureFixture[str]) -> None:
    def interrupt(metrics: dict[str, Any]) -> None:
        if metrics["iteration"] == 3:
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        warpworld.train("cartpole", WORDS, on_iteration=interrupt)
    (path,) = Path("runs").iterdir()
    assert warpworld.Run.open(path).checkpoints() == [0, 2]
    assert capfd.readouterr().err.splitlines()[-2:] == [
        f"interrupted after 96 env steps; run folder: {path}",
        f"continue from its last checkpoint: warpworld train --resume {path}",
    ]


def test_in_another_thread() -> None:
    made = []
    thread = threading.Thread(target=lambda: made.append(warpworld.train("cartpole", WORDS)))
    thread.start()
    thread.join()
    assert made[0].checkpoints() == [0, 2, 4, 6]


@pytest.mark.parametrize(
    ("config", "overrides", "message"),
    [
        (
            5,
            (),
            "config is int, expected a YAML file's path, the name of a packaged config, a dict or a RunConfig",
        ),
        ("cartpole", "trainer.seed=1", "overrides='trainer.seed=1': expected a list of texts such as trainer.seed=3"),
        ({"name": "cartpole"}, ["trainer.num_envs"], "override 'trainer.num_envs': expected key=value, for instance "
         "trainer.num_envs=64"),
        (
            {"name": "cartpole", "trainer": {"total_env_steps": 8}, "policy": {"agent": {}}},
            ["policy.agnet.gamma=1"],
            "command line, policy.agnet.gamma=1: no policy 'agnet' in config. Did you mean 'agent'? Known: agent",
        ),
    ],
)  # fmt: skip
def test_configs_that_are_wrong(config: Any, overrides: Any, message: str, here: Path) -> None:
    with pytest.raises(ConfigError) as error:
        warpworld.train(config, overrides)
    assert str(error.value) == message
    assert list(here.iterdir()) == []


def test_under_torchrun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ProcessError) as error:
        warpworld.train("cartpole", WORDS)
    expected = "warpworld.train() runs in one process; under torchrun use the command: warpworld train CONFIG"
    assert str(error.value) == expected


def test_an_attribute_that_is_not_there() -> None:
    with pytest.raises(AttributeError) as error:
        warpworld.trian  # noqa: B018
    assert str(error.value) == "module 'warpworld' has no attribute 'trian'"
    assert {"Run", "Trainer", "load_config", "load_policy", "rollout", "train"} <= set(dir(warpworld))


# --- what is printed --------------------------------------------------------------------------------------------------
SHOW = "from warpworld.trainers.session.progress import standard_output as s; s().print('[b]x')"


@pytest.mark.parametrize(
    ("variables", "is_terminal"),
    [
        ({}, True),
        ({"JPY_PARENT_PID": "7", "FORCE_COLOR": "1"}, False),
        ({"MPLBACKEND": "module://matplotlib_inline.backend_inline"}, False),
        ({"MPLBACKEND": "agg"}, True),
    ],
)
@pytest.mark.long
def test_a_notebooks_terminal_is_none(variables: dict[str, str], is_terminal: bool) -> None:
    mine, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", **variables}
    subprocess.run([sys.executable, "-c", SHOW], env=environment, stdout=theirs, check=True)
    os.close(theirs)
    said = os.read(mine, 4096).decode()
    os.close(mine)
    assert said == ("\x1b[1mx\x1b[0m\r\n" if is_terminal else "x\r\n")


@pytest.mark.long
def test_nothing_is_live_in_a_pipe() -> None:
    done = subprocess.run([sys.executable, "-c", SHOW], env={**os.environ, "FORCE_COLOR": "1"}, stdout=subprocess.PIPE)
    assert done.stdout == b"x\n"


# --- load_policy ------------------------------------------------------------------------------------------------------
def test_the_only_policy_is_loaded_with_its_normaliser() -> None:
    words = [*WORDS, "policy.agent.model={type: mlp, hidden_sizes: [8], normalise_observations: true}"]
    run = warpworld.train("cartpole", words)
    policy = warpworld.load_policy(run.path)
    expected = load_policies(run)["agent"]
    assert isinstance(policy.model, MLP) and expected is not None
    assert policy.normaliser is not None and policy.normaliser.count > 0
    seen = torch.randn(200, 4)
    assert torch.equal(policy.outputs(seen), expected.outputs(seen))
    assert torch.equal(policy.act(seen, greedy=True), policy.outputs(seen).argmax(-1))
    first = warpworld.load_policy(run, "agent", checkpoint=0)
    assert first.normaliser is not None and first.normaliser.count == 0


def several(name: str, **policies: Any) -> warpworld.Run:
    """A run of an env of small_worlds with the groups left and right."""
    given = {group: policies.get(group, {"num_minibatches": 1}) for group in ("left", "right")}
    trainer = {"num_envs": 2, "num_steps": 5, "total_env_steps": 10, "device": "cpu"}
    return warpworld.train({"name": f"tests.trainers.small_worlds:{name}", "trainer": trainer, "policy": given})


@pytest.mark.long
def test_policies_by_name() -> None:
    run = several("Narrowing")
    policy = warpworld.load_policy(str(run.path), "left")
    assert isinstance(policy, Policy) and policy.needs_mask
    messages = {
        (): f"run '{run.path}' has policies left, right; name one of them",
        ("lift",): f"run '{run.path}' has no policy 'lift'. Did you mean 'left'? Its policies: left, right",
        ("left", 7): f"run '{run.path}' has no checkpoint of iteration 7, the nearest is 1",
    }
    for arguments, message in messages.items():
        with pytest.raises(RunError) as error:
            warpworld.load_policy(run, *arguments)
        assert str(error.value) == message


@pytest.mark.long
def test_policies_that_act_at_random() -> None:
    run = several("Clockwork", right={"algorithm": "random"})
    assert warpworld.load_policy(run) is not None and not warpworld.load_policy(run).needs_mask
    with pytest.raises(RunError) as error:
        warpworld.load_policy(run, "right")
    assert str(error.value) == f"policy 'right' of run '{run.path}' acts at random: there is nothing to load"
    nothing = several("Clockwork", left={"algorithm": "random"}, right={"algorithm": "random"})
    with pytest.raises(RunError) as error:
        warpworld.load_policy(nothing)
    assert str(error.value) == f"run '{nothing.path}' has no policy but random ones"


def test_folders_that_are_no_runs(here: Path) -> None:
    (here / "empty").mkdir()
    with pytest.raises(RunError) as error:
        warpworld.load_policy("empty")
    expected = "'empty' holds no config.yaml, expected a run folder such as 'warpworld train' makes"
    assert str(error.value) == expected
    with pytest.raises(RunError) as error:
        warpworld.load_policy("emty")
    assert str(error.value) == "'emty' does not exist, expected a run folder. Did you mean 'empty'?"
