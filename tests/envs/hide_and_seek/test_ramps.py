"""Ramps in hide and seek: what agents on level 1 do, see and observe, and what episodes log."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.envs.hide_and_seek.worlds import HOLD, LOCK, STILL, UNLOCK, act, make, random_actions
from warpworld import World

EAST = (2, 1, 0, 0)
# Hiders in the room, a seeker to the west of a ramp at the room's west wall, another seeker, a box, and the ramp
PLACES = [[4.5, 2.5], [5.5, 2.5], [1.7, 2.5], [1.0, 5.5], [5.5, 0.5], [2.5, 2.5]]


def at_the_wall(**params: Any) -> World:
    world = make(ramps=1, preparation=1, episode_length=40, **params)
    for _ in range(50):  # the door is in the lower two thirds
        if world["door"][0, 0, 1].item() < 1.9:
            break
        world.reset()
    world["position"][0] = torch.tensor(PLACES)
    world["uphill"][0] = torch.tensor([0, 0, 0, 0, 0, 2])
    act(world)
    return world


def test_a_seeker_looks_and_gets_over_a_wall_from_a_ramp() -> None:
    world = at_the_wall()
    assert world["in_sight"][0, 2, :2].sum() == 0 and world["ramp_used"].item() == 0
    seen, levels = [], []
    for _ in range(14):
        act(world, STILL, STILL, EAST)
        seen.append(bool(world["in_sight"][0, 2, 0]))
        levels.append(world["level"][0, 2].item())
    first = levels.index(1)
    assert not any(seen[:first]) and any(seen[first:])
    assert world["position"][0, 2, 0].item() > 3.2 and levels[-1] == 0 and world["ramp_used"].item() == 1
    assert (world["in_sight"][0, 2, 0] == world["in_sight"][0, 0, 2]).item()


def test_from_a_ramp_one_sees_over_the_wall_beside_it_and_over_no_other() -> None:
    world = at_the_wall(lidar_rays=4)
    place = torch.tensor(PLACES)
    # the wall is 0.15 m from the agent, or more than reach; on level 0 that does not matter
    for x, level, sees in ((2.65, 1, True), (2.55, 1, False), (1.5, 1, False), (2.65, 0, False)):
        place[2, 0], place[5, 0] = x, min(x, 2.5) if level else 0.5
        world["position"][0], world["level"][0, 2], world["velocity"][:] = place, level, 0.0
        act(world)
        assert world["in_sight"][0, 2, 0].item() == world["in_sight"][0, 0, 2].item() == sees
        assert world["in_sight"][0, 2, 4].item() == sees  # the box in the room
        ahead = world["observations"][0, 2, -16].item()  # of the ray to the east
        assert ahead == pytest.approx(1 - ((4.35 if sees else 2.95) - x) / 6, abs=1e-4)


def test_ramps_are_held_and_locked_by_teams_as_boxes_are() -> None:
    world = at_the_wall()
    world["position"][0, 0] = torch.tensor([2.5, 1.9])
    act(world, HOLD)
    assert world["held"][0, 0].item() == 5
    act(world, LOCK)
    assert world["locked"][0, 5].item() == 1 and (world["ramps_locked"].item(), world["num_locked"].item()) == (1, 0)
    world["position"][0, 2] = torch.tensor([1.9, 2.5])
    act(world, STILL, STILL, UNLOCK)
    assert world["locked"][0, 5].item() == 1
    act(world, STILL, STILL, EAST)
    act(world, STILL, STILL, EAST)
    assert world["level"][0, 2].item() == 1  # a locked ramp is climbed as well


def test_agents_observe_who_is_on_level_1() -> None:
    world = at_the_wall()
    world["level"][0, 2] = 1
    world["position"][0, 2] = torch.tensor([2.7, 2.5])
    act(world)
    assert world["observations"][0, 2, 8].item() == 1 and world["observations"][0, 0, 8].item() == 0
    assert world["observations"][0, 0, 9:27].view(3, 6)[:, -1].tolist() == [0, 1, 0]


def test_an_agent_above_does_not_count_as_sheltered() -> None:
    for level in (0, 1):
        world = make(rooms=0, boxes=2, ramps=1)
        places = [[0.4, 0.4], [0.7, 0.2], [5.0, 5.0], [5.0, 4.0], [1.2, 0.45], [0.45, 1.2], [3.0, 3.0]]
        for _ in range(4):
            world["position"][0], world["velocity"][:] = torch.tensor(places), 0.0
            if level:
                world["position"][0, 0] = torch.tensor([0.45, 1.2])
            world["level"][0, 0] = level
            act(world)
        assert world["sheltered"].item() == (0.5 if level else 1.0)


def test_levels_are_kept_by_episodes_and_reset() -> None:
    world, random = make(200, rooms=0, ramps=6, hiders=4, seekers=4, episode_length=40), np.random.default_rng(0)
    raised = 0
    for step in range(1, 41):
        world["actions"] = random_actions(world, random)
        world.step()
        raised = max(raised, int(world["level"].sum()))
        if step == 39:
            assert 0.02 < world["ramp_used"].mean() < 0.98
    assert raised > 20 and world["level"].sum() == 0
