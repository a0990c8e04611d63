"""Exploration of actions chosen by values: shares of random actions, one for each env."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from warpworld.config.schedules import value_at
from warpworld.environment import Array, action_heads
from warpworld.policies import Explorer, Policy, SamplerContext
from warpworld.trainers.collecting import Collector
from warpworld.trainers.replay import Replay

BASE, EXPONENT = 0.4, 7.0  # Horgan et al. 2018


def epsilons(num_envs: int) -> torch.Tensor:
    """The share of random actions of each of Ape-X's actors, here of each env: (num_envs,) float32.

    epsilon_i = 0.4^(1 + 7 i / (N - 1)) (Horgan et al. 2018, arXiv 1803.00933, section 4.1); 0.4 where there is one env.
    """
    place = torch.arange(num_envs, dtype=torch.float64) / max(num_envs - 1, 1)
    return (BASE ** (1 + EXPONENT * place)).float()


class Epsilon:
    """Arrays with each env's share of random actions, one for each group of a policy.

    Opponents that play a group in its policy's place take what they value most.

    Args:
        collector: of an unsealed world.
        groups: names of the policy's groups.
        exploration: "per_env", or a schedule for all.
    """

    def __init__(self, collector: Collector, groups: Sequence[str], exploration: Any) -> None:
        self._collector, self._exploration = collector, exploration
        self._arrays = {group: f"epsilon_{group}" for group in groups}
        for array in self._arrays.values():
            collector.world.add(Array(array, "float32", per="env", initial=0.0, doc="share of random actions"))
        collector.world.when_sealed(lambda: self.set(0))

    def act(self, replay: Replay, group: str, policy: Policy) -> None:
        """Let a policy explore for a group, whose steps a replay records."""
        policy_agents = replay.policy_agents
        place = policy_agents.size, policy_agents.first(group)

        def sampler(context: SamplerContext, kernel: str) -> Explorer:
            return Explorer(context, action_heads(context.group.action), self._arrays[group], place)

        replay.act(group, policy, "explore", sampler=sampler, recorded=replay.value_arrays)

    def set(self, env_steps: int) -> None:
        """Settle the shares after so many env steps."""
        world = self._collector.world
        if self._exploration == "per_env":
            shares = epsilons(self._collector.total_envs)[world.first_env : world.first_env + world.num_envs]
        else:
            shares = torch.full((world.num_envs,), value_at(self._exploration, env_steps))
        for group, array in self._arrays.items():
            world[array].copy_(shares)
            for slot in self._collector.slots:
                if group in slot.groups:
                    world[array][slot.envs] = 0.0
