"""Settings that change in the trajectory of a run."""

from __future__ import annotations

from typing import Any

import pytest

from tests.trainers.algorithms.ppo_cases import Settings, make_batch, make_policy, seeded
from warpworld.config import config_from_dict, load_config
from warpworld.config.schedules import value_at
from warpworld.errors import ConfigError
from warpworld.trainers.algorithms.ppo import PPO


def test_a_number_stays() -> None:
    assert [value_at(0.3, steps) for steps in (0, 10**9)] == [0.3, 0.3]
    assert value_at(0, 5) == 0.0


def test_points_are_joined_by_straight_lines() -> None:
    points = ((100, 1.0), (200, 3.0), (400, 2.0))
    steps = [0, 100, 125, 200, 300, 400, 10**6]
    assert [value_at(points, at) for at in steps] == [1.0, 1.0, 1.5, 3.0, 2.5, 2.0, 2.0]


def test_two_points_at_one_step_make_a_jump() -> None:
    points = ((0, 1.0), (100, 1.0), (100, 5.0), (200, 6.0))
    assert [value_at(points, at) for at in (0, 99, 100, 150, 200)] == [1.0, 1.0, 5.0, 5.5, 6.0]


@pytest.mark.long
def test_a_learner_follows_them() -> None:
    coefficients = {"ent_coef": ((0, 0.1), (100, 0.0)), "vf_coef": ((0, 0.0), (200, 2.0)), "clip_coef": 0.3}
    schedules = {"learning_rate": ((0, 1e-3), (100, 3e-3)), **coefficients}
    learner = PPO(make_policy(), Settings(**schedules, anneal_lr=False))
    learner.set_progress(0.9, 50)
    assert learner.parameters.learning_rate == pytest.approx(2e-3)
    assert learner.now.ent_coef == pytest.approx(0.05)
    assert learner.now.vf_coef == pytest.approx(0.5)
    assert learner.now.clip_coef == 0.3
    learner.update(make_batch(learner.policy), seeded())
    annealed = PPO(make_policy(), Settings(**schedules))
    annealed.set_progress(0.5, 50)
    assert annealed.parameters.learning_rate == pytest.approx(1e-3)


def configured(**settings: Any) -> Any:
    data = load_config("cartpole").to_dict()
    data["policy"]["agent"] |= settings
    return config_from_dict(data).policy["agent"]


def test_in_the_config() -> None:
    entry = configured(learning_rate=[[0, 1e-3], [500, 1]], ent_coef=0)
    assert entry.learning_rate == ((0, 1e-3), (500, 1.0))
    assert entry.ent_coef == 0.0


@pytest.mark.parametrize(
    "schedule",
    [[], [[0]], [[0, 1e-3, 2]], [[-1, 1e-3]], [[0.5, 1e-3]], [[0, -1e-3]], [[0, "x"]], "fast", None, True, 0],
)
def test_wrong_schedules_are_refused(schedule: Any) -> None:
    with pytest.raises(
        ConfigError, match=r"learning_rate is .*, expected a finite number above 0, or points such as \[\[0, "
    ):
        configured(learning_rate=schedule)


def test_points_out_of_order_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"ent_coef is .*, expected points in ascending order of env steps"):
        configured(ent_coef=[[100, 0.1], [0, 0.2]])
