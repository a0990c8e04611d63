"""Worlds that adapters are tried on."""

from __future__ import annotations

from typing import Any

from gymnasium.spaces import Box, Discrete

from tests.toys import environment
from warpworld import Array, Group, World, masked_phase
from warpworld.environment import get_environment

PARAMS: dict[str, dict[str, Any]] = {
    "cartpole": dict(episode_length=25),
    "tag_gridworld": dict(num_taggers=2, grid_length=4, episode_length=9),
    "tag_continuous": dict(num_taggers=2, num_runners=3, episode_length=9, tagging_distance=0.2),
    "deathmatch": dict(
        **dict(plans="box", res=32, subsample=4, episode_length=19, fire_cone=45.0, cooldown=1, kills_to_win=2),
        **dict(players=2, rivals=2),
    ),
}


def world(name: str = "cartpole", num_envs: int = 6, **options: Any) -> World:
    """A world of short episodes that checks its actions."""
    made = {"seed": 3, "num_workers": 1, "check_actions": True, **options}
    return World(get_environment(name)(**PARAMS[name]), num_envs, "cpu", **made)


def ends_in_both_ways(**options: Any) -> tuple[World, int]:
    """A world of one cart that, pushed right, falls in the step of its time limit; and how many steps that is."""
    made = {"seed": 3, "num_workers": 1, **options}
    plain, steps = World(get_environment("cartpole")(), 1, "cpu", **made), 0
    plain.reset()
    plain["actions"] = 1
    while not plain["terminated"].any():
        plain.step()
        steps += 1
    return World(get_environment("cartpole")(episode_length=steps), 1, "cpu", **made), steps


def absences(num_envs: int = 1, **options: Any) -> World:
    """Two unlike groups; the sheep is there in even steps only, and may not take its second action."""

    @masked_phase
    def act(arrays: Any, active: Any) -> None:
        arrays["agent_mask"][:, 1] = arrays["timestep"] % 2 == 0
        arrays["rewards"][:] = arrays["timestep"][:, None]

    def start(arrays: Any, active: Any) -> None:
        arrays["action_mask"][:, 1, 1] = False

    groups = [Group("wolf", 1, Box(-9, 9, (2,)), Discrete(3)), Group("sheep", 1, Box(-9, 9, (4,)), Discrete(2))]
    made = World(
        environment(None, [Array("unused", "float32")], groups=groups, phases=[act], resets=[start]),
        *(num_envs, "cpu"),
        **{"num_workers": 1, "check_actions": True, "autoreset": "disabled", **options},
    )
    made.request("agent_mask")
    made.request("action_mask")
    return made
