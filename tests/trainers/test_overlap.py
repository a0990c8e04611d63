"""With trainer.overlap an update runs beside the next rollout, which acts with the weights from before it."""

from __future__ import annotations

import copy
import itertools
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
import torch

from tests.cases import often
from tests.trainers.overlapped import TRAINER, RolloutFirst, UpdateFirst, overlapped, result, trained
from tests.trainers.test_resumed_runs import DQN, ONE, RUN_CONFIGS
from warpworld.config import config_from_dict, load_config
from warpworld.errors import ConfigError, KernelError, TrainingError
from warpworld.runs import Run
from warpworld.trainers.algorithms import OnPolicy, Progress
from warpworld.trainers.algorithms.ppo import PPO, PPOSettings
from warpworld.trainers.collecting import Collector
from warpworld.trainers.overlap import copy_policies
from warpworld.trainers.trainer import Trainer

pytestmark = pytest.mark.cpu_backend

CARTPOLE = {"name": "cartpole", "policy": {"agent": ONE}}
MORE = {
    "cartpole": CARTPOLE,
    "stacks of frames": {
        "name": "tests.trainers.algorithms.test_frame_stacks:LastSeen",
        "policy": {"agent": {**DQN, "frame_stack": 3, "priority_alpha": 0.6}},
    },
    "v-trace of a2c": {"name": "cartpole", "policy": {"agent": {"algorithm": "a2c", "value_targets": "vtrace"}}},
    "self-play": {
        "name": "tag_gridworld",
        "policy": {
            "tagger": {**ONE, "self_play": {"share": 0.5, "slots": 2, "snapshot_every": 2, "match_every": 1}},
            "runner": ONE,
        },
    },
}
FIRST = (
    "gru, frozen gru and v-trace",
    "mappo with popart and a memory",
    "r2d2",
    "vdn beside qmix, with memories",
    "dqn on final observations",
    "sac",
)
CONFIGS = {**MORE, **RUN_CONFIGS}
# Each kind of data that a rollout leaves to an update: rows, stacks of a ring, windows of teams, rows of opponents.
RESUMED = ("mappo with popart and a memory", "stacks of frames", "vdn beside qmix, with memories", "self-play")


# ---- the order in which rollout and update run -----------------------------------------------------------------------
def check_order(data: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether a run is the same with rollout and update at once, and one after the other in either order."""
    config = overlapped(data, torch_threads=1)
    at_once = trained(config)
    for kind in (UpdateFirst, RolloutFirst):
        monkeypatch.setattr("warpworld.trainers.trainer.choose_beside", lambda world, kind=kind: kind())
        assert trained(config) == at_once, kind


@pytest.mark.heavy
@pytest.mark.usefixtures("bf16_everywhere")
@pytest.mark.parametrize("name", often((*MORE, *FIRST), CONFIGS))
def test_an_update_and_the_rollout_beside_it_share_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check_order(CONFIGS[name], monkeypatch)


@pytest.mark.long
@pytest.mark.parametrize("policy", [ONE, {**DQN, "replay_size": 96 * 20}], ids=["ppo", "dqn"])
def test_the_number_of_workers_changes_nothing(policy: dict[str, Any]) -> None:
    data, sizes = {"name": "cartpole", "policy": {"agent": policy}}, {"num_envs": 96, "total_env_steps": 96 * 8 * 4}
    alone, together = (trained(overlapped(data, **sizes, num_workers=count)) for count in (1, 2))
    assert alone == together


# ---- by hand ---------------------------------------------------------------------------------------------------------
BY_HAND = {
    "ppo": ONE,
    "ppo with v-trace": {**ONE, "value_targets": "vtrace", "model": {"normalise_observations": True}},
    "a2c with v-trace": {"algorithm": "a2c", "value_targets": "vtrace", "num_minibatches": 2},
    "memory": {**ONE, "model": {"recurrent": "gru", "recurrent_size": 5}},
    "dqn": {**DQN, "priority_alpha": 0.6, "n_step": 2},
}


def _num_steps(collector: Collector) -> int:
    return collector.num_steps


def by_hand(data: dict[str, Any], **settings: Any) -> list[bytes]:
    """Weights of a run without overlap, whose parts are called in a loop with the lag."""
    trainer = Trainer(overlapped(data, torch_threads=1, fused=False, overlap=False, **settings))
    policy, algorithm, iterations = trainer.policies["agent"], trainer.algorithms["agent"], trainer.num_iterations
    assert policy is not None
    older = copy.deepcopy(policy.state_dict())
    for k in range(iterations):
        newest = copy.deepcopy(policy.state_dict())
        policy.load_state_dict(older)
        trainer.collector.collect()
        acted = copy.deepcopy(policy)
        policy.load_state_dict(newest)
        if isinstance(algorithm, OnPolicy):
            algorithm.acted = acted  # whose values the advantages are made from
        algorithm.learn(Progress(k / iterations, k * trainer.env_steps_per_iteration, trainer.generator))
        older = newest
    return [weight.cpu().numpy().tobytes() for weight in policy.state_dict().values()]


@pytest.mark.long
@pytest.mark.parametrize("policy", BY_HAND.values(), ids=BY_HAND)
def test_a_loop_by_hand_gives_the_same_weights(policy: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    data = {"name": "cartpole", "policy": {"agent": policy}}
    weights = trained(overlapped(data, torch_threads=1, fused=False))[0]
    monkeypatch.setattr(Collector, "rows_ahead", property(_num_steps))  # as large a ring
    assert by_hand(data) == weights


# ---- checkpoints -----------------------------------------------------------------------------------------------------
def check_resumes(data: dict[str, Any], tmp_path: Path) -> None:
    """Whether a run that is resumed after each of its iterations is the uninterrupted one's."""
    config = overlapped({**data, "saving": {"checkpoint_every": 1, "keep_checkpoints": 9, "replay": "newest"}})
    whole, whole_run = folder(config, tmp_path / "whole")
    whole.train(whole_run)
    whole_run.close()
    trainer, run = folder(config, tmp_path / "parts")
    while not trainer.is_finished:
        last = trainer.iteration
        trainer.train(run, stop=lambda trainer=trainer, last=last: trainer.iteration > last)
        run.close()
        torch.manual_seed(12345)
        trainer, run = Trainer(config), Run.open(run.path)
        trainer.resume(run)
    run.close()
    assert result(trainer, []) == result(whole, [])
    assert run.metrics_path.read_bytes() == whole_run.metrics_path.read_bytes()


@pytest.mark.heavy
@pytest.mark.usefixtures("bf16_everywhere")
@pytest.mark.parametrize("name", often(RESUMED, CONFIGS))
def test_a_run_resumes_from_any_checkpoint(name: str, tmp_path: Path) -> None:
    """What a checkpoint holds of each configuration, tests/trainers/test_resumed_runs.py asks of all of them."""
    check_resumes(CONFIGS[name], tmp_path)


@pytest.mark.long
def test_checkpoints_and_evaluations_change_nothing() -> None:
    plain, saved = (
        trained(overlapped({**CARTPOLE, "saving": saving}))
        for saving in ({"checkpoint_every": 100}, {"checkpoint_every": 1, "eval_every": 2, "eval_episodes": 2})
    )
    assert plain[:2] == saved[:2]


def folder(config: Any, path: Path) -> tuple[Trainer, Run]:
    trainer = Trainer(config)
    run = trainer.create_run(path=path)
    assert run is not None
    return trainer, run


KILLED = """
import os, signal, sys
from warpworld.config import load_config
from warpworld.trainers.trainer import Trainer
from warpworld.runs import Run

trainer = Trainer(load_config(sys.argv[1]))
run = trainer.create_run(path=__import__("pathlib").Path(sys.argv[2]))
learn = type(trainer.algorithms["agent"]).learn

def dying(self, progress):
    if progress.env_steps == 4 * 48:  # within the update of the fifth rollout, beside the sixth
        os.kill(os.getpid(), signal.SIGKILL)
    return learn(self, progress)

type(trainer.algorithms["agent"]).learn = dying
trainer.train(run)
"""


@pytest.mark.heavy
@pytest.mark.parametrize("data", [CARTPOLE, MORE["stacks of frames"]], ids=["ppo", "dqn"])
def test_a_killed_process_resumes(data: dict[str, Any], tmp_path: Path) -> None:
    config = overlapped({**data, "saving": {"checkpoint_every": 3}})
    whole, whole_run = folder(config, tmp_path / "whole")
    whole.train(whole_run)
    whole_run.close()
    (tmp_path / "config.yaml").write_text(config.to_yaml())
    command = [sys.executable, "-c", KILLED, str(tmp_path / "config.yaml"), str(tmp_path / "killed")]
    ended = subprocess.run(command, env={**os.environ, "PYTHONPATH": os.getcwd()}, check=False, timeout=600)
    assert ended.returncode == -signal.SIGKILL
    run, trainer = Run.open(tmp_path / "killed"), Trainer(config)
    trainer.resume(run)
    assert trainer.iteration == 3
    trainer.train(run)
    run.close()
    assert result(trainer, []) == result(whole, [])
    assert run.metrics_path.read_bytes() == whole_run.metrics_path.read_bytes()


# ---- metrics ---------------------------------------------------------------------------------------------------------
@pytest.mark.long
def test_each_iteration_is_reported_once_with_the_weights_of_its_update() -> None:
    trainer, lines = Trainer(overlapped(CARTPOLE)), list[dict[str, Any]]()
    policy = trainer.policies["agent"]
    assert policy is not None
    moments = []

    def note(metrics: dict[str, Any]) -> None:
        lines.append(metrics)
        moments.append([weight.clone() for weight in policy.parameters()])

    trainer.train(None, note)
    assert [line["iteration"] for line in lines] == [1, 2, 3, 4, 5, 6]
    assert [line["env_steps"] for line in lines] == [48 * k for k in range(1, 7)]
    assert all("losses/agent/approx_kl" in line and line["perf/agent/update_s"] > 0 for line in lines)
    assert all(not torch.equal(a[0], b[0]) for a, b in itertools.pairwise(moments))
    assert all(torch.equal(a, b) for a, b in zip(moments[-1], policy.parameters(), strict=True))


# ---- faults ----------------------------------------------------------------------------------------------------------
def no_thread_is_left() -> bool:
    return not any(thread.name == "warpworld-learner" for thread in threading.enumerate())


@pytest.mark.long
@pytest.mark.parametrize("error", [TrainingError("a fault"), KeyboardInterrupt("a fault")], ids=repr)
def test_an_error_of_an_update_reaches_the_caller(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = Trainer(overlapped(CARTPOLE))

    def learn(progress: Progress) -> dict[str, torch.Tensor]:
        raise error

    monkeypatch.setattr(trainer.algorithms["agent"], "learn", learn)
    with pytest.raises(type(error), match="a fault"):
        trainer.train(None)
    assert no_thread_is_left()


@pytest.mark.long
@pytest.mark.parametrize("error", [KernelError("a fault"), KeyboardInterrupt()], ids=repr)
def test_an_error_of_a_rollout_ends_the_update_beside_it(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer, begun, ended = Trainer(overlapped(CARTPOLE)), threading.Event(), list[bool]()

    def learn(progress: Progress) -> dict[str, torch.Tensor]:
        begun.set()
        try:
            while True:  # an update that takes long
                torch.zeros(1)
        finally:
            ended.append(True)

    collect = trainer.collector.collect

    def failing() -> None:
        if trainer.iteration == 1:
            assert begun.wait(60)
            raise error
        collect()

    monkeypatch.setattr(trainer.algorithms["agent"], "learn", learn)
    monkeypatch.setattr(trainer.collector, "collect", failing)
    with pytest.raises(type(error)):
        trainer.train(None)
    assert ended == [True]
    assert no_thread_is_left()


@pytest.mark.long
def test_a_loss_that_is_not_finite_ends_the_run() -> None:
    trainer = Trainer(overlapped({"name": "cartpole", "policy": {"agent": {**ONE, "learning_rate": 1e30}}}))
    with pytest.raises(TrainingError, match="policy 'agent'"):
        trainer.train(None)
    assert no_thread_is_left()


# ---- refusals --------------------------------------------------------------------------------------------------------
class PlainSettings(PPOSettings):
    """Settings of an algorithm of the user's."""

    algorithm: str = "plain"  # type: ignore[assignment]


class Plain(PPO):
    """An algorithm that cannot give its rollout away."""

    Settings = PlainSettings
    overlaps: ClassVar[bool] = False


MODEL = "trainer.overlap is true, but the model of policy 'agent', which acts as a copy beside its updates,"
OR_ELSE = "or set trainer.overlap to false"


class OwnModel(torch.nn.Module):
    """A model of the user's."""

    def __init__(self, observation: Any, num_outputs: int) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(4, num_outputs)

    def actor(self, observations: torch.Tensor) -> torch.Tensor:
        return self.layer(observations)

    def critic(self, inputs: torch.Tensor) -> torch.Tensor:
        return self.layer(inputs)[..., 0]


class Uncopied(OwnModel):
    """A model that cannot be copied."""

    def __init__(self, observation: Any, num_outputs: int) -> None:
        super().__init__(observation, num_outputs)
        self.lock = threading.Lock()


class CopiedToAnother(OwnModel):
    """A model whose copy has weights of another shape."""

    def __deepcopy__(self, memo: Any) -> Any:
        made = OwnModel(None, 2)
        made.layer = torch.nn.Linear(3, 2)
        return made


class CopiedToNothing(OwnModel):
    """A model whose copy is none."""

    def __deepcopy__(self, memo: Any) -> Any:
        return None


class CopiedToItself(OwnModel):
    """A model whose copy is the model."""

    def __deepcopy__(self, memo: Any) -> Any:
        return self


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (
            {**ONE, "algorithm": f"{__name__}:Plain"},
            f"trainer.overlap is true, but policy 'agent' learns by {__name__}:Plain, which has no take() and so no "
            "overlaps; set it to false, or give its class both",
        ),
        (
            {**ONE, "model": {"type": f"{__name__}:Uncopied"}},
            f"{MODEL} cannot be copied: cannot pickle '_thread.lock' object; give its class a __deepcopy__, {OR_ELSE}",
        ),
        (
            {**ONE, "model": {"type": f"{__name__}:CopiedToAnother"}},
            f"{MODEL} has a __deepcopy__ that gives a copy whose model.layer.weight is (2, 3), expected (2, 4); "
            f"correct it, {OR_ELSE}",
        ),
        (
            {**ONE, "model": {"type": f"{__name__}:CopiedToNothing"}},
            f"{MODEL} has a __deepcopy__ that gives a copy whose model.layer.weight is missing, expected (2, 4); "
            f"correct it, {OR_ELSE}",
        ),
        (
            {**ONE, "model": {"type": f"{__name__}:CopiedToItself"}},
            f"{MODEL} has a __deepcopy__ that shares model.layer.weight, expected memory of its own; correct it, "
            f"{OR_ELSE}",
        ),
    ],
    ids=["an algorithm", "a model", "other shapes", "no model", "the same memory"],
)
def test_what_cannot_overlap_is_refused(policy: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Trainer(overlapped({"name": "cartpole", "policy": {"agent": policy}}))
    assert str(caught.value) == message


def test_several_processes_are_refused() -> None:
    processes: Any = SimpleNamespace(several=True, size=2)
    with pytest.raises(ConfigError) as caught:
        copy_policies(overlapped(CARTPOLE), {}, processes)
    assert str(caught.value) == (
        "trainer.overlap is true, but 2 processes train the run, which wait for each other; set it to false, or start "
        "one process"
    )


class Noisy(torch.nn.Module):
    """A model that draws noise from torch's global generator."""

    def __init__(self, observation: Any, num_outputs: int) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(4, num_outputs)

    def actor(self, observations: torch.Tensor) -> torch.Tensor:
        return self.layer(observations + torch.randn_like(observations))

    def critic(self, inputs: torch.Tensor) -> torch.Tensor:
        return self.layer(inputs)[..., 0]


@pytest.mark.long
def test_draws_in_no_fixed_order_are_refused() -> None:
    trainer = Trainer(overlapped({"name": "cartpole", "policy": {"agent": {"model": {"type": f"{__name__}:Noisy"}}}}))
    with pytest.raises(ConfigError, match="draws from torch's global generator"):
        trainer.train(None)


def test_a_resumed_run_keeps_it(tmp_path: Path) -> None:
    from warpworld.runs.resume import resumed_config

    config = config_from_dict({**CARTPOLE, "trainer": {**TRAINER, "overlap": False}})
    run = Run.create(config, tmp_path)
    with pytest.raises(ConfigError, match=r"a run that is resumed keeps its trainer\.overlap"):
        resumed_config(run, ["trainer.overlap=true"])
    run.close()


def test_every_packaged_algorithm_but_the_search_overlaps() -> None:
    from warpworld.packaged import ALGORITHMS
    from warpworld.trainers.algorithms import get_algorithm

    assert {name for name in ALGORITHMS if not get_algorithm(name).overlaps} == {"gumbel_zero"}
    assert load_config("cartpole", ["trainer.overlap=true"]).trainer.overlap
