"""Tests of template_world: its rules against numbers worked out by hand, and its kernels under `warpworld check`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from template_world import TemplateWorld

from warpworld import World

STAY, RIGHT, LEFT, UP, DOWN = range(5)


def new_world(num_envs: int, **params: Any) -> World:
    """A world at the start of its first episodes."""
    world = World(TemplateWorld(**params), num_envs, "cpu")
    world.reset()
    return world


def test_episodes_start_on_cells_of_the_grid_at_random() -> None:
    world = new_world(200, side=3)
    for name in ("x", "y", "gem"):
        assert world[name].unique().tolist() == [0, 1, 2]
    assert world["observations"].abs().max() <= 1.0


def test_a_thief_that_reaches_the_gem_is_rewarded() -> None:
    world = new_world(1, thieves=1, guards=1, side=5)
    world["x"], world["y"] = [[1, 4]], [[2, 0]]  # the thief at (1, 2), the guard at (4, 0)
    world["gem"] = [[2, 2]]
    world["actions"] = [[[RIGHT], [UP]]]
    world.step()
    assert world["x"].tolist() == [[2, 4]]
    assert world["y"].tolist() == [[2, 1]]
    assert world["rewards"].tolist() == [[1.0, 0.0]]
    gem_x, gem_y = world["gem"][0].tolist()
    to_gem, to_itself, to_guard = [(gem_x - 2) / 4, (gem_y - 2) / 4], [0.0, 0.0], [0.5, -0.25]
    assert world["observations"][0, 0].tolist() == to_gem + to_itself + to_guard


def test_a_thief_pays_the_guard_that_catches_it_and_walls_stop_both() -> None:
    world = new_world(1, thieves=1, guards=1, side=5)
    world["x"], world["y"] = [[0, 0]], [[3, 4]]
    world["gem"] = [[4, 0]]
    for actions, y, rewards in (([LEFT, DOWN], [3, 3], [-1.0, 1.0]), ([STAY, RIGHT], [3, 3], [0.0, 0.0])):
        world["actions"] = [[[action] for action in actions]]
        world.step()
        assert world["y"].tolist() == [y]
        assert world["rewards"].tolist() == [rewards]
    assert world["x"].tolist() == [[0, 1]]
    assert world["gem"].tolist() == [[4, 0]]


def test_an_episode_ends_at_its_time_limit_and_another_begins() -> None:
    world = new_world(3, episode_length=2)
    world["actions"] = STAY
    for truncated, timestep in ((False, 1), (True, 0), (False, 1)):
        world.step()
        assert world["truncated"].tolist() == [truncated] * 3
        assert world["timestep"].tolist() == [timestep] * 3


def test_the_kernels_are_clean(check_environment: Callable[..., Any]) -> None:
    check_environment(TemplateWorld)
