"""An environment whose groups act in all ways, and collectors whose policies are perceptrons with large outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Box, Discrete, MultiDiscrete
from torch import Tensor

from tests.trainers.recorded import Recorded
from tests.trainers.small_worlds import space
from warpworld.environment import Array, Environment, Group
from warpworld.policies import Policy, action_distribution
from warpworld.policies.distributions.distribution import Gaussian
from warpworld.policies.inputs.normaliser import ObservationNormaliser
from warpworld.policies.networks.mlp import MLP
from warpworld.trainers.collecting.players import Slot
from warpworld.world import World

NUM_ENVS, NUM_STEPS = 6, 4


class Kinds(Environment):
    """In PyTorch alone: groups of all kinds of actions, one of every second agent; what they see and may do changes."""

    def groups(self) -> Sequence[Group]:
        wide = Box(np.array([-2.0, -np.inf], np.float32), np.array([3.0, np.inf], np.float32))
        return [
            Group("even", 3, space(7), MultiDiscrete([3, 2]), agents=range(0, 6, 2)),
            Group("odd", 3, space(4), wide, agents=range(1, 6, 2)),
            Group("last", 1, space(9), Discrete(5)),
        ]

    def arrays(self) -> Sequence[Array]:
        return [Array("action_mask", "bool", (5,), initial=True, on_reset="keep")]

    def phases(self) -> Sequence[Any]:
        return [self._step]

    def resets(self) -> Sequence[Any]:
        return [lambda arrays, active: None]

    def _step(self, arrays: Any, active: Tensor) -> None:
        clock = arrays["clock"].view(torch.int64)
        for name, sine in (("even", 0.3), ("odd", 1.7), ("last", 0.9)):
            seen = arrays[f"observations_{name}"]
            places = torch.arange(seen[0].numel(), device=clock.device).view(seen.shape[1:])
            arrays[f"observations_{name}"] = 3 * torch.sin(sine * places + 0.37 * clock[:, None, None])
        envs = torch.arange(len(clock), device=clock.device)[:, None, None]
        choices = torch.arange(5, device=clock.device)
        arrays["action_mask"] = ((clock[:, None, None] + envs + choices) % 3 != 0).expand(-1, 7, -1)


def policy_of(environment: Environment, name: str, seed: int, hidden: Sequence[int], **kinds: Any) -> Policy:
    """A policy whose outputs are far from 0."""
    group = next(group for group in environment.groups() if group.name == name)
    distribution = action_distribution(group)
    torch.manual_seed(seed)
    activation = kinds.get("activation", "tanh")
    model = MLP(group.observation, distribution.num_outputs, hidden_sizes=tuple(hidden), activation=activation)
    for parameter in model.actor_layers.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    normaliser = None
    if kinds.get("normalises"):
        assert isinstance(group.observation, Box)
        features = group.observation.shape[0]
        normaliser = ObservationNormaliser(features)
        normaliser.update(torch.randn(50, features) * torch.linspace(0.01, 2, features) + 1)  # beyond 10 at times
    if isinstance(distribution, Gaussian):
        torch.nn.init.normal_(distribution.log_std)
    return Policy(model, distribution, normaliser)


def recorded(environment: Environment, fuse: bool, slots: Sequence[Slot] = (), **kinds: Any) -> Recorded:
    """A collector in a reset world, whose groups all have a policy of their own."""
    made = declared(World(environment, NUM_ENVS, seed=3), fuse, slots, **kinds)
    made.world.reset()
    return made


def declared(world: World, fuse: bool, slots: Sequence[Slot] = (), **kinds: Any) -> Recorded:
    """The same in a world that is not sealed."""
    environment, hidden = world.environment, kinds.pop("hidden", (8, 5))
    policies = {
        group: policy_of(environment, group, i, hidden, **kinds).to(world.device)
        for i, group in enumerate(world.groups)
    }
    made = Recorded(world, policies, NUM_STEPS, slots=slots)
    if fuse:
        made.fuse()
        assert len(made.kernels) == 1 and made.kernels[0].counts_rows
    return made
