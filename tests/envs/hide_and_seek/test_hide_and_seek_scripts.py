"""The seeker that searches and the hider that flees."""

from __future__ import annotations

import pytest
import torch

from tests.packaged import packaged
from tests.scripts import script_outputs
from warpworld import World

SIZES = (3, 3, 2, 3)
BESIDE = [
    [1.0, 5.0],
    [2.0, 5.0],
    [1.0, 1.0],
    [2.0, 1.0],
    [5.5, 2.5],
]  # hiders above, seekers beside the room, a box in it


def make(num_envs: int, places: list[list[float]] | None = None, **params: int) -> World:
    world = packaged("hide_and_seek", num_envs, device="cpu", seed=1, **params)
    world.reset()
    if places is not None:
        world["position"][:] = torch.tensor(places)
        world["actions"] = 1  # no push along x and y
        world["actions"][..., 2:] = 0
        world.step()
    return world


def chosen(world: World, script: str, group: str) -> torch.Tensor:
    """(envs, group size, heads): the likeliest choices."""
    heads = script_outputs(world, script, group).split(SIZES, -1)
    return torch.stack([logits.argmax(-1) for logits in heads], -1)


def share_hidden(seekers: str, hiders: str = "", **params: int) -> float:
    """Mean share of steps in which no hider is seen, of hiders that do nothing or flee, by default in the room."""
    world = make(64, **params)
    if not params:
        world["position"][:, 4] = torch.tensor([5.5, 2.5])  # a corner
    for _ in range(79):
        world["actions"] = 1
        world["actions"][..., 2:] = 0
        if hiders:
            world["actions"][:, :2] = chosen(world, hiders, "hider").int()
        if seekers:
            world["actions"][:, 2:] = chosen(world, seekers, "seeker").int()
        world.step()
    return float(world["hidden"].mean())


def test_search_runs_to_a_hider_in_sight() -> None:
    world = make(2, BESIDE)
    assert world["in_sight"][:, 2:4, :2].all()
    assert chosen(world, "search", "seeker")[0].tolist() == [[1, 2, 0, 0], [1, 2, 0, 0]]


def test_search_finds_hiders_in_an_open_room() -> None:
    still, searched = share_hidden(""), share_hidden("search")
    assert searched < still - 0.15


@pytest.mark.parametrize("rooms", [0, 2, 4])
def test_search_finds_hiders_in_the_open_and_in_drawn_rooms(rooms: int) -> None:
    params = dict(rooms=rooms, boxes=9)
    still, searched = share_hidden("", **params), share_hidden("search", **params)
    assert searched < still - 0.05


def test_flee_runs_away_from_a_seeker_in_sight_but_not_into_walls() -> None:
    places = [[3.2, 2.5], [5.85, 0.15], [4.2, 2.5], [4.5, 0.3], [5.5, 2.5]]
    world = make(1, places)
    first, second = chosen(world, "flee", "hider")[0].tolist()
    assert first[0] == 1 and first[1] != 1  # along the wall to its west
    assert second == [1, 1, 0, 0]  # in the corner there is no place further away


def test_flee_keeps_out_of_sight_longer_than_hiders_that_stand_still() -> None:
    assert share_hidden("search", "flee") > share_hidden("search")


@pytest.mark.parametrize(("script", "group"), [("search", "seeker"), ("flee", "hider")])
def test_scripts_do_not_touch_boxes(script: str, group: str) -> None:
    assert (chosen(make(20), script, group)[..., 2:] == 0).all()
