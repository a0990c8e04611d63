"""Conditions that a world must meet for searches in it."""

from __future__ import annotations

from collections.abc import Sequence

from warpworld.errors import ConfigError
from warpworld.world import World

_LEAVING_OUT = {"agent_mask", "agent_terminated", "agent_truncated"}  # arrays by which agents leave steps out


def check_searchable(world: World, groups: Sequence[str], processes: int) -> None:
    """Refuse a world that cannot be searched by one policy.

    Args:
        world: in which it is trained.
        groups: that the policy plays.
        processes: that train the run.

    Raises:
        ConfigError: names what stands against it.
    """
    name, what = world.environment.name, "algorithm is gumbel_zero, but"
    # the device and the processes
    if world.captures:
        raise ConfigError(f"{what} trainer.device is cuda, expected cpu: a search waits for each of its steps")
    if processes > 1:
        raise ConfigError(f"{what} {processes} processes train the run, expected one")
    # copies of envs
    if not world.environment.resumable:
        raise ConfigError(f"{what} envs of '{name}' keep their state outside of the store, and cannot be copied")
    if world.environment.draws_outside:
        raise ConfigError(
            f"{what} envs of '{name}' draw random numbers outside of the store, which a search would foresee"
        )
    # who moves
    others = ", ".join(group for group in world.groups if group not in groups)
    if others:
        raise ConfigError(f"{what} it does not play {others} of '{name}'; expected one policy with all groups")
    left_out = _LEAVING_OUT & set(world.data.names("state"))
    if left_out:
        raise ConfigError(f"{what} agents of '{name}' leave steps out ({min(left_out)}); ppo learns there")
    agents = world.num_agents
    if agents > 2 or (agents == 2 and "action_mask" not in world.data):
        text = f"{agents} agents of '{name}' act at once; expected one agent, or two who take turns by an action_mask"
        raise ConfigError(f"{what} {text}")
