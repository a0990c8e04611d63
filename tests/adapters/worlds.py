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
