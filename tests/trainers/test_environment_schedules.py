"""Arrays of the environment that change in the trajectory of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from gymnasium.spaces import Discrete
from torch import Tensor

from tests.trainers.small_worlds import space
from warpworld.config import RunConfig, config_from_dict
from warpworld.environment import Array, Environment, Group
from warpworld.errors import ConfigError
from warpworld.runs import Run
from warpworld.trainers.play import play
from warpworld.trainers.trainer import Trainer

NAME = f"{__name__}:Paid"
STEPS = 8  # of an iteration: 2 envs, 4 steps


class Paid(Environment):
    """In PyTorch alone: every step pays what ``wage`` holds; an episode's start keeps it in ``first_wage``."""

    def groups(self) -> Sequence[Group]:
        return [Group("worker", 1, space(1), Discrete(2))]

    def arrays(self) -> Sequence[Array]:
        return [
            Array("wage", "float32", per="world", initial=0.5, bounds=(-1.0, 5.0)),
            Array("wages", "float32", (2,), per="world", initial=0.0),
            Array("first_wage", "float32", per="env", initial=0.0, on_reset="keep"),
            Array("own", "float32", per="env", initial=0.0),
            Array("count", "int32", per="world", initial=0),
            Array("fixed", "float32", per="world", initial=0.0, read_only=True),
        ]

    def phases(self) -> Sequence[Any]:
        return [self._step]

    def resets(self) -> Sequence[Any]:
        return [self._reset]

    def _step(self, arrays: Any, active: Tensor) -> None:
        arrays["rewards"] = arrays["wage"].expand_as(arrays["rewards"])
        arrays["observations"].zero_()
        arrays["truncated"] = arrays["timestep"] == 6

    def _reset(self, arrays: Any, active: Tensor) -> None:
        arrays["first_wage"] = torch.where(active, arrays["wage"], arrays["first_wage"])
        arrays["observations"].zero_()


def config(schedules: Mapping[str, Any], iterations: int = 4) -> RunConfig:
    trainer = {"num_envs": 2, "num_steps": 4, "total_env_steps": iterations * STEPS, "device": "cpu", "graph_steps": 0}
    model = {"type": "mlp", "hidden_sizes": [4]}
    policy = {"worker": {"model": model, "num_minibatches": 1, "update_epochs": 1}}
    return config_from_dict({"name": NAME, "trainer": trainer, "schedules": schedules, "policy": policy})


def wages(trainer: Trainer) -> list[float]:
    """What each iteration's rollout paid, in its first and last step of all envs alike."""
    seen: list[float] = []

    def follow(metrics: dict[str, Any]) -> None:
        rewards = trainer.world["rollout_rewards"]
        assert bool((rewards == rewards[0, 0, 0]).all())
        seen.append(float(rewards[0, 0, 0]))

    trainer.train(None, follow)
    return seen


def test_an_array_holds_in_each_rollout_what_its_schedule_says() -> None:
    assert wages(Trainer(config({"wage": [[STEPS, 1.0], [3 * STEPS, -1.0]]}))) == [1.0, 1.0, 0.0, -1.0]
    assert wages(Trainer(config({"wage": 2.0}))) == [2.0] * 4
    assert wages(Trainer(config({}))) == [0.5] * 4


def test_every_entry_of_the_array_is_set() -> None:
    assert Trainer(config({"wages": 3.0})).world["wages"].tolist() == [3.0, 3.0]


def test_the_first_episodes_begin_with_it() -> None:
    assert Trainer(config({"wage": [[0, 1.0], [100, 2.0]]})).world["first_wage"].tolist() == [1.0, 1.0]


def test_what_was_learnt_is_played_with_the_initial_value() -> None:
    trainer = Trainer(config({"wage": 2.0}))
    assert play(trainer.config, trainer.policies, episodes=4).returns["worker"].tolist() == [6 * 0.5] * 4


def test_a_resumed_run_goes_on_with_them(tmp_path: Path) -> None:
    whole = Trainer(config({"wage": [[0, 0.0], [3 * STEPS, 3.0]]}))
    expected = wages(whole)
    assert expected == [0.0, 1.0, 2.0, 3.0]
    first = Trainer(whole.config)
    run = first.create_run(tmp_path)
    assert run is not None
    first.train(run, stop=lambda: first.iteration == 2)
    run.close()
    second = Trainer(Run.open(run.path).config)
    second.resume(Run.open(run.path))
    assert wages(second) == expected[2:]
    assert torch.equal(second.world["first_wage"], whole.world["first_wage"])


@pytest.mark.parametrize(
    ("schedules", "message"),
    [
        (
            {"wagf": 1.0},
            "schedules.wagf: is not a floating-point array of tests.trainers.test_environment_schedules:Paid that "
            "all envs share. Did you mean 'wage'\\? Known: wage, wages",
        ),
        ({"own": 1.0}, "schedules.own: is not a floating-point array of .* that all envs share"),
        ({"count": 1.0}, "schedules.count: is not a floating-point array of"),
        ({"fixed": 1.0}, "schedules.fixed: is not a floating-point array of"),
        ({"wage": [[0, 1.0], [9, 6.0]]}, "schedules.wage gives 6, expected -1 to 5, the array's bounds"),
        ({"wage": "much"}, r"schedules.wage is 'much', expected a finite number, or points such as \[\[0, 1e-3\]"),
        ({"wage": [[9, 1.0], [0, 2.0]]}, "schedules.wage is .*, expected points in ascending order of env steps"),
        ({"wage": float("inf")}, "schedules.wage is inf, expected a finite number, or points"),
    ],
)
def test_what_no_schedule_can_set(schedules: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        config(schedules)
