"""NaN and infinities stop a run with its last good checkpoint."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from gymnasium.spaces import Box, Discrete
from torch import Tensor

from tests.trainers.recorded import Recorded
from tests.trainers.small_worlds import Relay, space
from warpworld.config import RunConfig, config_from_dict
from warpworld.environment import Environment, Group
from warpworld.errors import TrainingError
from warpworld.runs import Run
from warpworld.trainers.algorithms.algorithm import Progress
from warpworld.trainers.trainer import Trainer
from warpworld.world import World


class Breaking(Environment):
    """In PyTorch alone: after ``clock`` steps one number of one agent of one env is not finite."""

    @dataclass(frozen=True)
    class Params:
        array: str = "observations"
        negative: bool = False
        clock: int = 7
        env: int = 3
        agent: int = 2
        continuous: bool = False
        truncates: bool = False  # whether that env's episode ends then, so that only its final observation is wrong

    params: Params

    def groups(self) -> Sequence[Group]:
        action = Box(-1.0, 1.0, (2,)) if self.params.continuous else Discrete(3)
        return [Group("left", 2, space(3), action), Group("right", 1, space(3), action)]

    def phases(self) -> Sequence[Any]:
        return [self._step]

    def resets(self) -> Sequence[Any]:
        return [self._reset]

    def _reset(self, arrays: Any, active: Tensor) -> None:
        arrays["observations"] = torch.where(active[:, None, None], 0.5, arrays["observations"])

    def _step(self, arrays: Any, active: Tensor) -> None:
        p = self.params
        arrays["observations"] = torch.ones_like(arrays["observations"])
        arrays["rewards"] = torch.ones_like(arrays["rewards"])
        now = arrays["clock"].view(torch.int64)[p.env] == p.clock
        broken = arrays[p.array][p.env, p.agent]
        broken = broken[1:2] if broken.dim() else broken
        broken.copy_(torch.where(now, float("-inf" if p.negative else "inf"), broken))
        arrays["truncated"][p.env] = now & p.truncates


def configured(iterations: int = 5, **env: Any) -> RunConfig:
    settings = {"num_envs": 8, "num_steps": 4, "total_env_steps": 32 * iterations}
    policies = {"left": {"num_minibatches": 1}, "right": {"num_minibatches": 1}}
    return config_from_dict(
        {"name": f"{__name__}:Breaking", "env": env, "trainer": settings, "policy": policies,
         "saving": {"checkpoint_every": 1}}
    )  # fmt: skip


@pytest.mark.parametrize("continuous", [False, True])
@pytest.mark.parametrize("negative", [False, True])
def test_an_observation(tmp_path: Path, negative: bool, continuous: bool) -> None:
    config = configured(negative=negative, continuous=continuous)
    run = Run.create(config, tmp_path)
    # the clock is 1 after the reset, so it is made by step 1 of the second rollout, and seen in the one after
    message = f"observations of env 3, agent 2 (right 0), number 1 in step 2 of the rollout is {'-' * negative}inf"
    with pytest.raises(TrainingError, match=re.escape(message)):
        Trainer(config).train(run)
    assert run.checkpoints() == [0, 1]
    assert all(torch.isfinite(x).all() for x in run.load_checkpoint()["policies"]["right"].values())


def test_a_final_observation(tmp_path: Path) -> None:
    config = configured(truncates=True)
    run = Run.create(config, tmp_path)
    message = "final observations of env 3, agent 2 (right 0), number 1 in step 1 of the rollout is inf"
    with pytest.raises(TrainingError, match=re.escape(message)):
        Trainer(config).train(run)
    assert run.checkpoints() == [0, 1]


def test_the_observation_after_the_last_step(tmp_path: Path) -> None:
    config = configured(clock=9)
    run = Run.create(config, tmp_path)
    message = "observations of env 3, agent 2 (right 0), number 1 in step 4 of the rollout is inf"
    with pytest.raises(TrainingError, match=re.escape(message)):
        Trainer(config).train(run)
    assert run.checkpoints() == [0, 1]


def test_a_reward(tmp_path: Path) -> None:
    config = configured(array="rewards", agent=1)
    run = Run.create(config, tmp_path)
    message = "rewards of env 3, agent 1 (left 1) in step 1 of the rollout is inf, expected a finite number"
    with pytest.raises(TrainingError, match=re.escape(message)):
        Trainer(config).train(run)
    assert run.checkpoints() == [0, 1]


def test_rows_that_do_not_count_may_hold_anything() -> None:
    world = World(Relay(left=3, leave_at=2), 4)
    rollout = Recorded(world, dict.fromkeys(world.groups), 6, graph_steps=0)  # what it finds is changed afterwards
    world.reset()
    rollout.collect()
    world["not_finite"] = torch.ones(4, dtype=torch.bool)
    world["rollout_rewards"][3, :, 0] = float("nan")  # agent 0 has left after timestep 2
    world["rollout_observations_left"][4, 1, 0, 2] = float("inf")
    rollout.check_finite()
    world["rollout_rewards"][1, 2, 0] = float("nan")
    with pytest.raises(TrainingError, match=r"rewards of env 2, agent 0 \(left 0\) in step 1 of the rollout is nan"):
        rollout.check_finite()


def test_envs_of_another_process_are_counted_along() -> None:
    world = World(Relay(), 4, first_env=100)
    rollout = Recorded(world, dict.fromkeys(world.groups), 6, graph_steps=0)  # what it finds is changed afterwards
    world.reset()
    rollout.collect()
    world["rollout_rewards"][1, 2, 0] = float("nan")
    with pytest.raises(TrainingError, match=r"rewards of env 102, agent 0 \(left 0\) in step 1 of the rollout is nan"):
        rollout.check_finite()


def test_a_loss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = configured(clock=10**6)
    trainer, run = Trainer(config), Run.create(config, tmp_path)
    learn = trainer.algorithms["right"].learn

    def diverge(progress: Progress) -> Mapping[str, torch.Tensor]:
        if progress.env_steps == 2 * trainer.env_steps_per_iteration:
            trainer.policies["right"].model.critic_layers[0].weight[0, 0].data.fill_(float("nan"))
        return learn(progress)

    monkeypatch.setattr(trainer.algorithms["right"], "learn", diverge)
    with pytest.raises(TrainingError, match=r"policy 'right': (policy|value)_loss is nan after this update"):
        trainer.train(run)
    assert run.checkpoints() == [0, 1, 2]
    assert all(torch.isfinite(x).all() for x in run.load_checkpoint()["policies"]["right"].values())
