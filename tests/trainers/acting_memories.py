"""Policies with a memory whose outputs are far from 0, and collectors in which they act."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from tests.trainers.algorithms.ppo_cases import seeded
from tests.trainers.recorded import Recorded
from warpworld.config import ModelConfig
from warpworld.environment import Environment
from warpworld.policies import RecurrentPolicy, build_policy
from warpworld.policies.distributions.distribution import Gaussian
from warpworld.trainers.collecting.players import Slot
from warpworld.world import World

NUM_ENVS, NUM_STEPS = 6, 7


def policy_of(world: World, group: str, seed: int, cell: str, **settings: Any) -> RecurrentPolicy:
    """A policy whose outputs and values are far from 0, so that what it remembers shows."""
    model = ModelConfig(
        **{"recurrent": cell, "recurrent_size": 6, "hidden_sizes": [8], "activation": "tanh", **settings}
    )
    policy = build_policy(model, world.groups[group], seeded(seed))
    assert isinstance(policy, RecurrentPolicy)
    with torch.no_grad():
        policy.model.actor_layer.weight.mul_(150)
        policy.model.critic_layer.weight.mul_(5)
        for name, parameter in policy.model.named_parameters():
            if "bias" in name:
                parameter.add_(torch.randn(parameter.shape, generator=seeded(seed)).to(parameter.device) * 0.3)
        if isinstance(policy.distribution, Gaussian):
            nn.init.normal_(policy.distribution.log_std, generator=seeded(seed))
        if policy.normaliser is not None:
            features = len(policy.normaliser.mean)
            policy.normaliser.update(torch.randn(50, features, generator=seeded(seed)) * 0.3 + 1)  # beyond 10 at times
    return policy.to(world.device)


def recorded(
    environment: Environment, fuse: bool, cells: Sequence[str], slots: Sequence[Slot] = (), **settings: Any
) -> Recorded:
    """A collector in a reset world, whose groups have memories of the given cells in turn."""
    made = declared(World(environment, NUM_ENVS, seed=3), fuse, cells, slots, **settings)
    made.world.reset()
    return made


def declared(world: World, fuse: bool, cells: Sequence[str], slots: Sequence[Slot] = (), **settings: Any) -> Recorded:
    """The same in a world that is not sealed."""
    policies = {
        group: policy_of(world, group, i, cells[i % len(cells)], **settings) for i, group in enumerate(world.groups)
    }
    collector = Recorded(world, policies, NUM_STEPS, slots=slots)
    if fuse:
        collector.fuse()
        assert len(collector.kernels) == 1 and collector.kernels[0].counts_rows
    return collector
