"""Rows so long that an env has more lanes than agents to record them, where lanes run side by side."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import warpworld
from tests.trainers.recorded import Recorded
from warpworld import World

STEPS = 4

# bytes in words of sixteen, of four and of one; floats of agents that share lanes; a Box
WORLDS: dict[str, tuple[str, dict[str, Any]]] = {
    "bytes in fours of words": ("minatar_breakout", {}),
    "bytes in words": ("minatar_freeway", {}),
    "floats of several agents": ("tag_continuous", {"num_taggers": 3, "num_runners": 40}),
}


def stepped(name: str, params: dict[str, Any]) -> tuple[Recorded, dict[str, torch.Tensor]]:
    """Rollouts at random, and what a world that takes the same actions shows before each step, (T, envs, ...)."""
    first, second = (warpworld.make(name, num_envs=5, seed=3, **params) for _ in range(2))
    recorded = Recorded(first, dict.fromkeys(first.groups), STEPS)
    first.reset()
    recorded.collect()
    second.reset()
    shown: dict[str, list[torch.Tensor]] = {group: [] for group in second.groups}
    for t in range(STEPS):
        for group in second.groups:
            shown[group].append(_observed(second, group).clone())
            taken = recorded.trajectories(group).actions[t]
            name, place = second.action_array(group)
            second[name][:, place : place + taken.shape[1]].copy_(taken)
        second.step()
    return recorded, {group: torch.stack(rows) for group, rows in shown.items()}


def _observed(world: World, group: str) -> torch.Tensor:
    seen = world.observations(group)
    assert isinstance(seen, torch.Tensor)
    return seen


@pytest.mark.long
@pytest.mark.parametrize("way", WORLDS)
def test_rollouts_hold_what_was_seen_before_each_step(way: str) -> None:
    recorded, shown = stepped(*WORLDS[way])
    for group, rows in shown.items():
        kept = recorded.trajectories(group).observations
        assert torch.equal(kept.view(torch.uint8).flatten(), rows.contiguous().view(torch.uint8).flatten()), group


@pytest.mark.cuda_backend
def test_long_rows_have_lanes_of_their_own() -> None:
    for name, lanes in (("minatar_breakout", 32), ("cartpole", 128)):  # 128: a block that envs share
        world = warpworld.make(name, num_envs=3)
        recorded = Recorded(world, dict.fromkeys(world.groups), 2)
        assert {actor.sampler.kernel for actor in recorded.actors.values()} == {"sample"}
        world.reset()
        assert {actor.sampler.step().threads for actor in recorded.actors.values()} == {lanes}
