"""Small environments whose every number is known, and policies for them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Box, Discrete, MultiDiscrete
from torch import Tensor

from warpworld.environment import Array, Environment, Group


def space(features: int) -> Box:
    return Box(-float("inf"), float("inf"), (features,))


class Still(Environment):
    """Nothing happens; tests write the observations themselves. ``right_heads`` empty: one group only."""

    @dataclass(frozen=True)
    class Params:
        left: int = 4
        left_heads: tuple[int, ...] = (5,)
        left_features: int = 10
        right: int = 1
        right_heads: tuple[int, ...] = ()
        right_features: int = 10

    params: Params

    def groups(self) -> Sequence[Group]:
        p = self.params
        found = [Group("left", p.left, space(p.left_features), MultiDiscrete(p.left_heads))]
        if p.right_heads:
            found.append(Group("right", p.right, space(p.right_features), MultiDiscrete(p.right_heads)))
        return found

    def phases(self) -> Sequence[Any]:
        return [lambda arrays, active: None]

    def resets(self) -> Sequence[Any]:
        return [lambda arrays, active: None]


@functools.cache
def constant(numbers: tuple[float, ...], device: torch.device) -> Tensor:
    """Made once: while a graph is captured nothing can be copied from the host."""
    return torch.tensor(numbers, device=device)


class Clockwork(Environment):
    """In PyTorch alone: groups left (2 agents) and right (1), both of which see (timestep, env, agent).

    The reward is ``clock + 10 * agent + 100 * action``. An env terminates in timestep ``ends[env % len(ends)]`` of each
    episode (0: never), and is truncated in timestep ``episode_length``.
    """

    @dataclass(frozen=True)
    class Params:
        episode_length: int = 4
        ends: tuple[int, ...] = (0,)
        most_truncations: int = 0  # what truncations() says; 0: the truth

    params: Params

    def groups(self) -> Sequence[Group]:
        return [Group("left", 2, space(3), Discrete(3)), Group("right", 1, space(3), Discrete(3))]

    def phases(self) -> Sequence[Any]:
        return [self._step]

    def resets(self) -> Sequence[Any]:
        return [self._reset]

    def truncations(self, num_steps: int) -> int:
        return self.params.most_truncations or super().truncations(num_steps)

    def _step(self, arrays: Any, active: Tensor) -> None:
        actions, timestep = arrays["actions"], arrays["timestep"]
        num_envs, num_agents = actions.shape[:2]
        clock = arrays["clock"].view(torch.int64)[:, None]
        env, agent = (torch.arange(count, device=actions.device) for count in (num_envs, num_agents))
        arrays["rewards"] = (clock + 10 * agent + 100 * actions[..., 0]).float()
        ends = constant(self.params.ends, actions.device)[env % len(self.params.ends)]
        arrays["terminated"] = timestep == ends
        arrays["truncated"] = timestep >= self.params.episode_length
        arrays["observations"] = seen_by_all(timestep, num_agents)

    def _reset(self, arrays: Any, active: Tensor) -> None:
        now = arrays["observations"]
        arrays["observations"] = torch.where(active[:, None, None], seen_by_all(arrays["timestep"], now.shape[1]), now)


def seen_by_all(timestep: Tensor, num_agents: int) -> Tensor:
    """What Clockwork shows: (num_envs, num_agents, 3)."""
    num_envs, device = len(timestep), timestep.device
    env, agent = torch.arange(num_envs, device=device), torch.arange(num_agents, device=device)
    columns = timestep[:, None], env[:, None], agent[None]
    return torch.stack([column.expand(num_envs, num_agents).float() for column in columns], -1)


class Relay(Environment):
    """In CUDA: groups with observations and actions of their own layouts; agents of ``left`` leave one after the other.

    Agent a of left leaves in timestep ``leave_at + a`` (0: never). The reward is
    ``timestep + 10 * agent + 100 * first action``, and 1e6 for an agent that has left.
    """

    source = "relay.cu"

    @dataclass(frozen=True)
    class Params:
        left: int = 3
        right: int = 2
        leave_at: int = 2
        episode_length: int = 6

    params: Params

    def groups(self) -> Sequence[Group]:
        p = self.params
        return [Group("left", p.left, space(3), Discrete(4)), Group("right", p.right, space(5), MultiDiscrete([3, 2]))]


class Uneven(Clockwork):
    """Episodes of lengths ``ends``; every step is worth 1, 2 and 4 to its agents."""

    def _step(self, arrays: Any, active: Tensor) -> None:
        super()._step(arrays, active)
        rewards = arrays["rewards"]
        arrays["rewards"] = constant((1.0, 2.0, 4.0), rewards.device).expand_as(rewards)


class Duel(Environment):
    """In PyTorch alone: one step an episode. Agent a gets 1 if both choose 1, agent b gets 1 if it does so itself."""

    def groups(self) -> Sequence[Group]:
        return [Group("a", 1, space(2), Discrete(3)), Group("b", 1, space(2), Discrete(3))]

    def phases(self) -> Sequence[Any]:
        return [self._step]

    def resets(self) -> Sequence[Any]:
        return [lambda arrays, active: arrays["observations"].zero_()]

    def _step(self, arrays: Any, active: Tensor) -> None:
        chosen = arrays["actions"][..., 0] == 1
        arrays["rewards"] = torch.stack([chosen.all(1), chosen[:, 1]], 1).float()
        arrays["terminated"] = torch.ones_like(arrays["terminated"])


class Aim(Environment):
    """In PyTorch alone: one step an episode; the reward is minus the squared distance of the action from ``target``."""

    @dataclass(frozen=True)
    class Params:
        low: tuple[float, ...] = (-1.0, 0.0)
        high: tuple[float, ...] = (3.0, float("inf"))
        target: tuple[float, ...] = (2.0, 0.5)

    params: Params

    def groups(self) -> Sequence[Group]:
        box = Box(np.array(self.params.low, np.float32), np.array(self.params.high, np.float32))
        return [Group("archer", 2, space(2), box)]

    def phases(self) -> Sequence[Any]:
        return [self._step]

    def resets(self) -> Sequence[Any]:
        return [lambda arrays, active: arrays["observations"].zero_()]

    def _step(self, arrays: Any, active: Tensor) -> None:
        actions = arrays["actions"]
        arrays["rewards"] = -((actions - constant(self.params.target, actions.device)) ** 2).sum(-1)
        arrays["terminated"] = torch.ones_like(arrays["terminated"])


class Narrowing(Environment):
    """In PyTorch alone: left (2 agents) has heads of 3 and 2 choices, right (1 agent) of 4.

    Choice ``(timestep + agent) % n`` of every first head is forbidden, and right's last one always; taking a forbidden
    one costs 1000. Choice 0 is worth 1.
    """

    def groups(self) -> Sequence[Group]:
        return [Group("left", 2, space(2), MultiDiscrete([3, 2])), Group("right", 1, space(2), Discrete(4))]

    def arrays(self) -> Sequence[Array]:
        return [Array("action_mask", "bool", (5,), initial=True, on_reset="keep")]

    def phases(self) -> Sequence[Any]:
        return [self._step]

    def resets(self) -> Sequence[Any]:
        return [self._reset]

    def _step(self, arrays: Any, active: Tensor) -> None:
        first = torch.cat([arrays["actions_left"][..., 0], arrays["actions_right"][..., 0]], 1).long()
        taken_allowed = arrays["action_mask"].gather(-1, first.unsqueeze(-1)).squeeze(-1)
        arrays["rewards"] = torch.where(taken_allowed, (first == 0).float(), -1000.0)
        arrays["truncated"] = arrays["timestep"] >= 5
        arrays["action_mask"] = narrowed(arrays["timestep"])
        arrays["observations"].zero_()

    def _reset(self, arrays: Any, active: Tensor) -> None:
        now = arrays["action_mask"]
        arrays["action_mask"] = torch.where(active[:, None, None], narrowed(arrays["timestep"]), now)
        arrays["observations"].zero_()


def narrowed(timestep: Tensor) -> Tensor:
    """Narrowing's mask: (num_envs, 3, 5)."""
    envs = torch.arange(len(timestep), device=timestep.device)
    mask = torch.ones(len(timestep), 3, 5, dtype=torch.bool, device=timestep.device)
    for agent, choices in enumerate((3, 3, 4)):
        forbidden = (timestep.long() + agent) % choices
        mask[envs, agent, forbidden] = False
    mask[:, 2, 3] = False
    return mask


@dataclass
class FixedPolicy:
    """A policy with given functions of the observations in the place of networks."""

    of_logits: Callable[[Tensor], Tensor]
    of_value: Callable[[Tensor], Tensor] = lambda observations: observations.sum(-1)
    model: None = None  # there are no networks

    def outputs(self, observations: Tensor) -> Tensor:
        return self.of_logits(observations)

    def value(self, observations: Tensor) -> Tensor:
        return self.of_value(observations)


def seen_as_logits(count: int) -> FixedPolicy:
    """The first ``count`` numbers of an observation; where it has fewer, from its beginning again."""
    return FixedPolicy(lambda seen: torch.cat([seen] * count, -1)[..., :count])


def same_logits(logits: Sequence[float] | Tensor) -> FixedPolicy:
    """The same logits for every observation."""
    given = tuple(torch.as_tensor(logits, dtype=torch.float32).tolist())
    return FixedPolicy(lambda seen: constant(given, seen.device).expand(*seen.shape[:-1], -1))
