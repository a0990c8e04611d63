"""Games of more agents than a block has threads: trajectories are an env's own, and checks follow their threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.envs.trajectories import Driver, assert_equal, ended, per_env, values
from warpworld import World
from warpworld.checking import check
from warpworld.environment import get_environment

# A game with a bit more than a thousand agents, whose episodes end within a few steps.
CROWDS: list[tuple[str, dict[str, Any]]] = [
    ("battle", dict(army_size=515, map_size=74, view_radius=3, damage=6.0, episode_length=4)),
    (
        "tag_continuous",
        dict(num_taggers=515, num_runners=515, grid_length=64.0, use_full_observation=False, episode_length=4),
    ),
]
each_crowd = pytest.mark.parametrize(("name", "params"), CROWDS, ids=[name for name, _ in CROWDS])


def trajectory(name: str, params: dict[str, Any], num_envs: int, num_workers: int) -> list[dict[str, np.ndarray]]:
    """What the first env is after each of some steps."""
    world = World(get_environment(name)(**params), num_envs, "cpu", num_workers=num_workers, seed=11)
    world.reset()
    driver, found, ends = Driver(world), [], 0
    for _ in range(9):
        driver.step()
        ends += int(ended(world)[0])
        found.append({array: values(world)[array][:1] for array in per_env(world)})
    assert ends >= 2
    return found


@pytest.mark.long
@each_crowd
def test_trajectories_do_not_depend_on_the_number_of_envs_or_workers(name: str, params: dict[str, Any]) -> None:
    alone = trajectory(name, params, 1, 1)
    for num_envs, num_workers in ((3, 1), (3, 2)):
        for one, other in zip(alone, trajectory(name, params, num_envs, num_workers), strict=True):
            assert_equal(one, other)


@pytest.mark.heavy
@pytest.mark.cpu_backend
@each_crowd
def test_a_check_finds_nothing(name: str, params: dict[str, Any]) -> None:
    report = check(name, num_envs=2, steps=6, seed=1, **params)
    assert not report.findings and not report.stopped, str(report)
