"""What critics expect while a policy plays: the value of what each agent sees as it acts."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from warpworld.policies import Policy
from warpworld.trainers.collecting.actor import Actor
from warpworld.world import World


def unknown_values(world: World) -> np.ndarray:
    """(num_agents,) float64, NaN for every agent."""
    return np.full(world.num_agents, np.nan)


def values_of(world: World, actors: Sequence[Actor]) -> np.ndarray:
    """Expected discounted returns of the first env's agents, in units of reward.

    Args:
        world: before the step that the actors have just decided on.
        actors: of its groups.

    Returns:
        (num_agents,) float64; NaN where no critic of states acts: random actions, critics of actions, Q-networks.
    """
    values = unknown_values(world)
    for actor in actors:
        found = _values(world, actor)
        if found is not None:
            values[actor.group.slice] = found.cpu().numpy()
    return values


def _values(world: World, actor: Actor) -> Tensor | None:
    """(group size,) float32, or None without a critic of states."""
    policy = actor.policy
    if not isinstance(policy, Policy) or not policy.has_critic or not _reads_states(policy):
        return None
    if actor.memory is not None:
        return world[actor.memory.values_name][0]
    with torch.no_grad():
        return policy.value(_read(world, actor))


def _reads_states(policy: Policy) -> bool:
    """Whether the critic takes what agents see alone, and no actions."""
    return len(inspect.signature(policy.model.critic).parameters) == 1  # type: ignore[arg-type]


def _read(world: World, actor: Actor) -> Tensor:
    """What the critic reads, (group size, numbers)."""
    name, group = actor.group.critic_input, actor.group
    if name is None:
        return actor.observations()[0]
    own = world[name][0]
    if world.data.array(name).per == "agent":
        return own[group.slice].flatten(1)
    return own.reshape(1, -1).expand(group.size, -1)
