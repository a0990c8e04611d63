"""Estimates of policies while they play: the value of what each agent sees, or of the action that it takes."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from warpworld.config import RunConfig
from warpworld.policies import (
    FLOAT32,
    Categorical,
    Policy,
    QNetwork,
    RecurrentQNetwork,
    StackingPolicy,
    of_choices,
    products,
    scaling_to,
)
from warpworld.trainers.algorithms.value_rescale import unscaled
from warpworld.trainers.collecting import Actor
from warpworld.world import World


def unknown_values(world: World) -> np.ndarray:
    """(num_agents,) float64, NaN for every agent."""
    return np.full(world.num_agents, np.nan)


def states_before(actors: Sequence[Actor]) -> list[Tensor | None]:
    """States of the first env's agents, (group size, state size) for each actor; call it before they act."""
    for actor in actors:
        if actor.memory is not None:
            actor.memory.forget()
    return [None if actor.memory is None else actor.memory.state[0].clone() for actor in actors]


def values_of(world: World, actors: Sequence[Actor], config: RunConfig, before: Sequence[Tensor | None]) -> np.ndarray:
    """Expected discounted returns of the first env's agents, in units of reward.

    A critic of states values what an agent sees; Q-networks and critics of actions value the action that it takes.

    Args:
        world: before the step that the actors have just decided on.
        actors: of its groups.
        config: knows which policies learn values on a scale of their own.
        before: the ``states_before`` of this step.

    Returns:
        (num_agents,) float64; NaN where nothing is expected, as of random actions.
    """
    values, rescaled = unknown_values(world), _rescaled(config)
    for actor, state in zip(actors, before, strict=True):
        found = _values(world, actor, state)
        if found is not None:
            found = unscaled(found) if actor.group.name in rescaled else found
            values[actor.group.slice] = found.cpu().numpy()
    return values


def _rescaled(config: RunConfig) -> set[str]:
    """Groups whose policies learn with ``value_rescale``."""
    learning = (entry for entry in config.policy.values() if getattr(entry, "value_rescale", False))
    return {group for entry in learning for group in entry.groups}


def _values(world: World, actor: Actor, state: Tensor | None) -> Tensor | None:
    """(group size,) float32, or None where nothing is expected."""
    policy = actor.policy
    if not isinstance(policy, Policy):
        return None
    # values of the chosen actions, by a Q-network
    if isinstance(policy.model, (QNetwork, RecurrentQNetwork)):
        assert isinstance(policy.distribution, Categorical)
        choices = world[f"policy_outputs_{actor.group.name}"][0]
        return of_choices(choices, _actions(world, actor), policy.distribution.head_sizes)
    if not policy.has_critic:
        return None
    # values by a critic, of states or of actions
    of_states = _reads_states(policy)
    with torch.no_grad(), products(FLOAT32, world.device):
        if isinstance(policy, StackingPolicy):
            assert state is not None
            seen = policy.stack(actor.observations()[0], state)
            return policy.model.critic(seen, _in_units(world, actor))  # type: ignore[operator]
        if policy.central is not None:
            return policy.value(_central(world, actor, policy))
        if actor.memory is not None:
            return world[actor.memory.values_name][0] if of_states else None
        seen = _read(world, actor)
        return policy.value(seen) if of_states else policy.value(seen, _in_units(world, actor))


def _actions(world: World, actor: Actor) -> Tensor:
    """Actions of one part, chosen for the next step by the group's agents: (group size, heads or dimensions)."""
    return world.actions(actor.group.name)[""][0]


def _in_units(world: World, actor: Actor) -> Tensor:
    """Actions in a Box, in units in which -1 and 1 are its ends: (group size, dimensions) float32."""
    centre, scale = torch.from_numpy(scaling_to(actor.group.action)[:2]).to(world.device)  # type: ignore[arg-type]
    return (_actions(world, actor) - centre) / scale


def _reads_states(policy: Policy) -> bool:
    """Whether the critic takes what agents see alone, and no actions."""
    return len(inspect.signature(policy.model.critic).parameters) == 1  # type: ignore[arg-type]


def _read(world: World, actor: Actor) -> Tensor:
    """Input of the critic, (group size, numbers)."""
    name, group = actor.group.critic_input, actor.group
    if name is None:
        return actor.observations()[0]
    own = world[name][0]
    if world.data.array(name).per == "agent":
        return own[group.slice].flatten(1)
    return own.reshape(1, -1).expand(group.size, -1)


def _central(world: World, actor: Actor, policy: Policy) -> Tensor:
    """Input of a central critic, (group size, numbers)."""
    assert policy.central is not None
    mask = world["agent_mask"][0, actor.group.slice] if "agent_mask" in world.data else None
    declared = None if actor.group.critic_input is None else _read(world, actor)
    return policy.central(policy.features(actor.observations()[0]), declared, mask)
