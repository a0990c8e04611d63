"""Foraging by hand: what is refused, and what lbforaging has no word for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.packaged import packaged
from warpworld import World
from warpworld.errors import DeclarationError

NOTHING, NORTH, SOUTH, WEST, EAST, LOAD = range(6)


def placed(players: list[tuple[int, int, int]], food: tuple[int, int, int], **params: Any) -> World:
    """One env with players at (row, column, level), and one piece of food."""
    sizes = dict(rows=5, cols=5, sight=5, players=len(players), max_num_food=1, max_player_level=5, max_food_level=9)
    world = packaged("foraging", 1, device="cpu", **{**sizes, **params})
    world.reset()
    for name, values in zip(("row", "col", "level"), zip(*players, strict=True), strict=True):
        world[name][:] = torch.tensor(values, dtype=world[name].dtype)
    row, col, level = food
    world["field"] = 0
    world["field"][0, row, col] = level
    world["food_row"], world["food_col"], world["food_level"], world["food_spawned"] = row, col, level, level
    return world


def step(world: World, *actions: int) -> list[float]:
    world["actions"] = [[[action] for action in actions]]
    world.step()
    return [round(reward, 6) for reward in world["rewards"][0].tolist()]


def test_loaders_share_by_their_levels() -> None:
    world = placed([(2, 1, 1), (1, 2, 3), (3, 2, 2)], food=(2, 2, 4), penalty=0.25)
    assert step(world, LOAD, NOTHING, LOAD) == [-0.25, 0.0, -0.25]
    assert not world["terminated"].item()
    assert step(world, LOAD, LOAD, NOTHING) == [0.25, 0.75, 0.0]
    assert world["terminated"].item() and not world["truncated"].item()


def test_who_wants_a_cell_that_another_wants_stays() -> None:
    world = placed([(0, 0, 1), (0, 2, 1), (4, 4, 1)], food=(2, 2, 4))
    step(world, EAST, WEST, NORTH)
    assert world["row"].tolist() == [[0, 0, 3]] and world["col"].tolist() == [[0, 2, 4]]


def test_two_change_places() -> None:
    world = placed([(0, 0, 1), (0, 1, 2)], food=(2, 2, 4))
    step(world, EAST, WEST)
    assert world["col"].tolist() == [[1, 0]]
    assert world["observations"][0, 0].tolist() == [2, 2, 4, 0, 1, 1, 0, 0, 2]


def test_the_mask_names_what_is_possible() -> None:
    world = placed([(2, 1, 1), (0, 4, 1)], food=(2, 2, 4))
    step(world, NOTHING, NOTHING)
    mask = [[choice for choice in range(6) if flags[choice]] for flags in world["action_mask"][0].tolist()]
    assert mask == [[NOTHING, NORTH, SOUTH, WEST, LOAD], [NOTHING, SOUTH, WEST]]


def test_spawns_follow_the_rules() -> None:
    params = dict(rows=7, cols=9, players=4, max_num_food=3, min_player_level=2, max_player_level=4)
    world = packaged("foraging", 500, device="cpu", seed=2, force_coop=[True, False] * 250, **params)
    world.reset()
    field, level = world.data.numpy("field").astype(int), world.data.numpy("level").astype(int)
    cells = world.data.numpy("row") * 9 + world.data.numpy("col")
    assert all(len(set(own)) == 4 for own in cells.tolist())
    assert set(level.ravel()) == {2, 3, 4}
    assert not field[:, [0, -1]].any() and not field[:, :, [0, -1]].any()
    np.testing.assert_array_equal(world.data.numpy("food_spawned"), field.sum((1, 2)))
    assert not np.take_along_axis(field.reshape(500, -1), cells.astype(int), 1).any()
    highest = np.sort(level, 1)[:, :3].sum(1)
    for env, food in enumerate(field):
        rows, cols = np.nonzero(food)
        assert len(rows) == 3
        assert (food[rows, cols] == highest[env]).all() if env % 2 == 0 else (food[rows, cols] <= highest[env]).all()
        away = np.abs(rows[:, None] - rows), np.abs(cols[:, None] - cols)
        others = ~np.eye(3, dtype=bool)
        assert (np.maximum(*away)[others] > 1).all()
        assert not (((away[0] == 0) | (away[1] == 0)) & (away[0] + away[1] <= 2) & others).any()


def test_envs_may_have_fewer_players_and_less_food() -> None:
    params = dict(players=3, max_num_food=2, episode_length=4)
    world = packaged("foraging", 3, device="cpu", present_players=[1, 2, 0], present_food=[2, 1, 0], **params)
    world.reset()
    assert (world["level"] > 0).sum(1).tolist() == [1, 2, 3]
    assert (world["food_level"] > 0).sum(1).tolist() == [2, 1, 2]
    world.step()
    assert world["agent_mask"].tolist() == [[True, False, False], [True, True, False], [True, True, True]]
    assert world["observations"][0, 1:].abs().sum().item() == 0.0
    assert world["action_mask"][0, 1].tolist() == [True] + [False] * 5
    assert world["observations"][0, 0, -6:].tolist() == [-1, -1, 0, -1, -1, 0]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (dict(rows=2), "rows=2: expected 3 to 100"),
        (dict(cols=101), "cols=101: expected 3 to 100"),
        (dict(rows=3, cols=3, players=9, max_num_food=1), "players=9: expected 1 to 8"),
        (dict(min_player_level=3), "max_player_level=2: expected 3 to 85"),
        (dict(rows=4, cols=4, max_num_food=5), "max_num_food=5: expected 1 to 4"),
        (dict(sight=0), "sight=0: expected 1 to 100"),
        (dict(present_players=3), "present_players=3: expected 0 to 2"),
        (
            dict(min_food_level=3, max_food_level=2),
            "max_food_level=2: expected 3 to 255, or 0",
        ),
        (dict(penalty=-1.0), "penalty=-1.0: expected a finite number of at least 0"),
    ],
)
def test_impossible_parameters_are_refused(params: dict[str, Any], message: str) -> None:
    with pytest.raises(DeclarationError) as error:
        packaged("foraging", 1, device="cpu", **params)
    assert str(error.value).endswith(message)
