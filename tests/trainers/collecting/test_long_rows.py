"""Rows so long that an env has more lanes than agents to record them, where lanes run side by side."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete

import warpworld
from tests.toys import environment
from tests.trainers.recorded import Recorded
from warpworld import Group, World
from warpworld.config import ModelConfig
from warpworld.errors import TrainingError
from warpworld.policies import build_policy

STEPS = 4

# bytes in words of sixteen and of four, floats of several agents
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


def noise(world: Any, active: Any) -> None:
    """Show each agent numbers that depend on the time, the agent and the place."""
    seen = world["observations"]
    counted = torch.arange(seen.numel(), device=seen.device).view(seen.shape)
    seen.copy_((counted * 7 + world["timestep"].view(-1, *[1] * (seen.dim() - 1)) * 13) % 251)


def collected(observation: Box, action: Any, broken: int | None = None) -> tuple[Recorded, torch.Tensor]:
    """A rollout of two agents, and what they were shown before its last step."""

    def spoil(world: Any, active: Any) -> None:
        noise(world, active)
        if broken is not None:
            world["observations"][1, 1, broken] = torch.nan

    groups = [Group("agent", 2, observation=observation, action=action)]
    toy = environment(None, groups=groups, phases=[spoil], resets=[spoil])
    world = World(toy, num_envs=3)
    policy = build_policy(ModelConfig(), world.groups["agent"], torch.Generator()).to(world.device)
    recorded = Recorded(world, {"agent": policy}, STEPS)
    recorded.world.reset()
    for _ in range(STEPS - 1):
        recorded.world.step()
    shown = recorded.world["observations"].clone()
    recorded.collect()
    return recorded, shown


@pytest.mark.parametrize("action", [Discrete(3), Box(-1.0, 1.0, (2,))], ids=["choices", "a Box"])
@pytest.mark.parametrize("dtype", [np.float32, np.uint8], ids=["floats", "single bytes"])
def test_rows_of_any_length_by_choices_and_in_a_box(dtype: Any, action: Any) -> None:
    high = 255 if dtype is np.uint8 else np.inf
    recorded, shown = collected(Box(0, high, (301,), dtype), action)
    assert torch.equal(recorded.trajectories("agent").observations[0].float(), shown.float())


def test_a_number_that_is_not_finite_is_found_wherever_it_is() -> None:
    """By a lane that has no agent to act for, too."""
    for place in (0, 70, 300):
        recorded, _ = collected(Box(-np.inf, np.inf, (301,), np.float32), Discrete(3), place)
        with pytest.raises(TrainingError, match="expected a finite number"):
            recorded.check_finite()


@pytest.mark.cuda_backend
def test_long_rows_have_lanes_of_their_own() -> None:
    for name, lanes in (("minatar_breakout", 32), ("cartpole", 128)):  # 128: a block that envs share
        world = warpworld.make(name, num_envs=3)
        recorded = Recorded(world, dict.fromkeys(world.groups), 2)
        assert {actor.sampler.kernel for actor in recorded.actors.values()} == {"sample"}
        world.reset()
        assert {actor.sampler.step().threads for actor in recorded.actors.values()} == {lanes}
