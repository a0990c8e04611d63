"""Metrics come to the host where they are logged or saved, and the learner reads nothing back between minibatches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from tests.trainers.algorithms.ppo_cases import Settings, make_batch, make_policy, seeded
from tests.trainers.together import Unwritten
from warpworld.config import RunConfig, config_from_dict, load_config
from warpworld.errors import TrainingError
from warpworld.trainers.algorithms.a2c import A2C
from warpworld.trainers.algorithms.algorithm import Progress
from warpworld.trainers.algorithms.ppo import PPO
from warpworld.trainers.measurements import Measurements
from warpworld.trainers.trainer import Trainer


def cartpole(iterations: int, log_every: int, checkpoint_every: int) -> RunConfig:
    sizes = {"num_envs": 4, "num_steps": 8, "total_env_steps": 32 * iterations}
    words = ["policy.agent.model.hidden_sizes=[8, 8]", *(f"trainer.{name}={value}" for name, value in sizes.items())]
    config = load_config("cartpole", words)
    saving = {"log_every": log_every, "checkpoint_every": checkpoint_every}
    return config_from_dict({**config.to_dict(), "saving": saving})


def test_metrics_are_read_where_they_are_logged_or_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    trainer, run, reads = Trainer(cartpole(iterations=11, log_every=4, checkpoint_every=6)), Unwritten(), []
    read = Measurements.read

    def spy(measurements: Measurements) -> dict[str, Any]:
        reads.append(trainer.iteration)
        return read(measurements)

    monkeypatch.setattr(Measurements, "read", spy)
    seen: list[dict[str, Any]] = []
    trainer.train(run, on_iteration=seen.append)  # type: ignore[arg-type]
    assert reads == [4, 6, 8, 11]  # once each, also where an iteration is both
    assert [line["iteration"] for line in run.lines] == [4, 8, 11]
    assert list(run.states) == [0, 6, 11]
    known = {"iteration", "env_steps", "agent_steps", "time"}
    for metrics in seen:
        assert bool(metrics.keys() - known) == (metrics["iteration"] in reads)


def test_only_what_is_waited_for_is_timed() -> None:
    trainer, timed = Trainer(cartpole(iterations=9, log_every=4, checkpoint_every=6)), []
    speed = {
        f"perf/{name}" for name in ("rollout_s", "update_s", "agent/update_s", "env_steps_per_s", "agent_steps_per_s")
    }

    def note(metrics: dict[str, Any]) -> None:
        found = {name for name in metrics if name.startswith("perf/")}
        assert ("perf/cpu_s" in found) == (metrics["iteration"] in (4, 8, 9))  # of each line, and waits for nothing
        assert found - {"perf/cpu_s"} in (set(), speed)
        timed.append(bool(found))

    trainer.train(None, on_iteration=note)
    assert [iteration for iteration, was in enumerate(timed, start=1) if was] == [4, 6, 8, 9]


def test_the_trajectory_does_not_depend_on_what_is_read() -> None:
    often, seldom = Unwritten(), Unwritten()
    Trainer(cartpole(iterations=6, log_every=1, checkpoint_every=1)).train(often)  # type: ignore[arg-type]
    Trainer(cartpole(iterations=6, log_every=6, checkpoint_every=6)).train(seldom)  # type: ignore[arg-type]
    other = ("time", "perf/", "charts/episod", "charts/agent/episod")  # of the machine, or of more episodes
    lines = often.lines[-1], *seldom.lines
    expected, found = ({name: line[name] for name in line if not name.startswith(other)} for line in lines)
    assert repr(found) == repr(expected)
    assert list(seldom.lines[0]) == list(often.lines[-1])


@pytest.mark.long
def test_a_line_is_of_all_episodes_since_the_line_before() -> None:
    """Also where a checkpoint lies between two lines, and where the run continues from it."""
    often, seldom, resumed = Unwritten(), Unwritten(), Unwritten()
    Trainer(cartpole(iterations=12, log_every=1, checkpoint_every=12)).train(often)  # type: ignore[arg-type]
    config = cartpole(iterations=12, log_every=6, checkpoint_every=4)
    Trainer(config).train(seldom)  # type: ignore[arg-type]
    for line, of_line in zip(seldom.lines, (often.lines[:6], often.lines[6:]), strict=True):
        count = sum(each["charts/episodes"] for each in of_line)
        assert line["charts/episodes"] == count > 0
        for name in ("charts/episodic_length", "charts/agent/episodic_return"):
            total = sum(each["charts/episodes"] * each[name] for each in of_line if each["charts/episodes"])
            assert line[name] == pytest.approx(total / count, rel=1e-12)
    continued, stopped, kept = Trainer(config), Trainer(config), Unwritten()
    stopped.train(kept, stop=lambda: stopped.iteration == 4)  # type: ignore[arg-type]
    continued.load_state_dict(kept.states[4])
    continued.train(resumed)  # type: ignore[arg-type]
    names = [name for name in seldom.lines[0] if not name.startswith(("time", "perf/"))]
    assert [[line[name] for name in names] for line in resumed.lines] == [
        [line[name] for name in names] for line in seldom.lines
    ]


@pytest.mark.parametrize("stop_after", [3, None])
def test_weights_that_are_lost_are_never_saved(stop_after: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer, run = Trainer(cartpole(iterations=5, log_every=50, checkpoint_every=50)), Unwritten()
    learn = trainer.algorithms["agent"].learn

    def diverge(progress: Progress) -> Mapping[str, torch.Tensor]:
        if trainer.iteration == 1:
            trainer.policies["agent"].model.critic_layers[0].weight[0, 0].data.fill_(float("nan"))
        return learn(progress)

    monkeypatch.setattr(trainer.algorithms["agent"], "learn", diverge)
    with pytest.raises(TrainingError, match=r"policy 'agent': (policy|value)_loss is nan after this update"):
        trainer.train(run, stop=lambda: trainer.iteration == stop_after)  # type: ignore[arg-type]
    assert trainer.iteration == (stop_after or 5)
    assert list(run.states) == [0]
    assert run.lines == []


class Waits(TorchDispatchMode):
    """Counts operations that wait for a device, because their result is a number or a size on the host.

    Those on tensors that lie elsewhere keep no device waiting: a GPU's order of rows has its seed from the host.
    """

    def __init__(self, device: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.device = device

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function in (torch.ops.aten._local_scalar_dense.default, torch.ops.aten.nonzero.default):
            self.note(args[0], str(function))
        return function(*args, **(kwargs or {}))

    def note(self, tensor: torch.Tensor, name: str) -> None:
        if tensor.device.type == self.device:
            self.names.append(name)


@contextmanager
def waits(monkeypatch: pytest.MonkeyPatch, device: str = "cpu") -> Iterator[list[str]]:
    counted, tolist = Waits(device), torch.Tensor.tolist
    with monkeypatch.context() as patch, counted:
        patch.setattr(torch.Tensor, "tolist", lambda tensor: counted.note(tensor, "tolist") or tolist(tensor))
        yield counted.names


@pytest.mark.parametrize("algorithm", [PPO, A2C])
@pytest.mark.parametrize(
    ("settings", "masked", "allowed"),
    [
        ({}, False, []),
        ({}, True, ["aten.nonzero.default"]),
        ({"target_kl": 1e9}, False, ["aten._local_scalar_dense.default"] * 2),  # between two epochs
    ],
)
def test_the_host_waits_for_no_minibatch(
    monkeypatch: pytest.MonkeyPatch, algorithm: Any, settings: dict[str, Any], masked: bool, allowed: list[str]
) -> None:
    learner = algorithm(make_policy(), Settings(num_minibatches=8, update_epochs=3, **settings))
    batch = make_batch(learner.policy, masked=masked)
    with waits(monkeypatch) as names:
        learner.update(batch, seeded())
    assert names == ([] if algorithm is A2C and not masked else allowed)


@pytest.mark.long
def test_an_iteration_that_is_not_read_waits_once(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = {"both": {"groups": ["left", "right"], "target_kl": None}}
    sizes = {"device": "cpu", "num_envs": 4, "num_steps": 8, "total_env_steps": 128, "fused": False}
    saving = {"log_every": 4, "checkpoint_every": 4}
    config = config_from_dict(
        {"name": "tests.trainers.scattered:Scattered", "trainer": sizes, "policy": policy, "saving": saving}
    )
    trainer, run, seen = Trainer(config), Unwritten(), []
    with waits(monkeypatch, trainer.world.device.type) as names:

        def note(metrics: dict[str, Any]) -> None:
            seen.append(list(names))
            names.clear()

        trainer.train(run, on_iteration=note)  # type: ignore[arg-type]
    assert seen[1:3] == [["tolist"]] * 2  # whether the rollout is fit to be learnt from
    assert len(seen[3]) > 1
    assert trainer.world["rollout_truncated"].any()  # whose final observations were looked up


def test_waits_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    with waits(monkeypatch) as names:
        bool(torch.ones(()))
        torch.ones(3).sum().item()
        torch.ones(3).tolist()
        torch.ones(3).nonzero()
    scalar = "aten._local_scalar_dense.default"
    assert names == [scalar, scalar, "tolist", "aten.nonzero.default"]
    with waits(monkeypatch, "cuda") as names:
        torch.ones(3).sum().item()
        torch.ones(3).tolist()
    assert names == []
