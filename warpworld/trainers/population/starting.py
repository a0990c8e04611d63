"""Members that a population begins with."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from warpworld.config import LearnerConfig
from warpworld.trainers.algorithms import get_algorithm
from warpworld.trainers.initial_weights import fresh_policy
from warpworld.trainers.population.exploration import Exploration
from warpworld.trainers.population.members import Member
from warpworld.world import World


def first_members(
    entry: LearnerConfig,
    weights: Mapping[str, Tensor],
    exploration: Exploration,
    world: World,
    generator: torch.Generator,
) -> list[Member]:
    """Members of a population.

    Args:
        entry: the policy's section. With ``initial_weights`` all members begin with those.
        weights: that the first member begins with; the others draw their own.
        exploration: gives the settings.
        world: in which they learn.
        generator: on the CPU, what weights are drawn from.
    """
    assert entry.population is not None
    members = list[Member]()
    for number in range(entry.population.members):
        policy = fresh_policy(entry, world.environment, generator, world.device)
        policy.acting(masked="action_mask" in world.data)
        if number == 0 or entry.initial_weights is not None:
            policy.load_state_dict(weights)
        values = exploration.first_values(number)
        algorithm = get_algorithm(entry.algorithm)(policy, entry.with_values(values))
        members.append(Member(policy, algorithm, values, parent=number, origin=number))
    return members
