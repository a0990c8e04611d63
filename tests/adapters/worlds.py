"""Worlds that adapters are tried on."""

from __future__ import annotations

from typing import Any

from warpworld import World
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
