"""What a group's agents remember: the state of their recurrent policy, in the store."""

from __future__ import annotations

import torch
from torch import Tensor

from warpworld.environment import Array, Group
from warpworld.policies import RememberingPolicy
from warpworld.world import World


class Memory:
    """The recurrent state of one group.

    It is kept as state in the store, so that it is saved with the world, and is zeroed for an agent whose episode
    ended before it acts again.

    Attributes:
        state: (num_envs, size, state size) float32, after the latest step.
        state_name: of that array.
        values_name: of the array (num_envs, size) float32 with the values of what the latest actions were chosen on.

    Args:
        world: an unsealed world.
        group: the agents.
        state_size: numbers in one agent's state.
    """

    state: Tensor

    def __init__(self, world: World, group: Group, state_size: int) -> None:
        self._world, self._group, self.state_size = world, group, state_size
        self.state_name, self.values_name = state_array(group.name), f"recurrent_values_{group.name}"
        doc = "what agents remember"
        world.add(Array(self.state_name, "float32", (group.size, state_size), per="env", initial=0.0, doc=doc))
        world.add(Array(self.values_name, "float32", (group.size,), per="env", initial=0.0), kept="derived")
        world.when_sealed(self._bind)

    def _bind(self) -> None:
        """Find the arrays in the sealed store."""
        self.state, self._values = self._world[self.state_name], self._world[self.values_name]

    def forget(self) -> None:
        """Zero the state of agents whose episode ended in the latest step; again, it does nothing more."""
        world = self._world
        ended = (world["terminated"] | world["truncated"]).unsqueeze(-1)
        if "agent_terminated" in world.data:
            ended = ended | world["agent_terminated"][:, self._group.slice]
        self.state.masked_fill_(ended.unsqueeze(-1), 0.0)

    def outputs(self, policy: RememberingPolicy, observations: Tensor, envs: slice = slice(None)) -> Tensor:
        """What a policy makes of the present observations; the state advances by a step. Call ``forget`` before.

        Args:
            policy: its states have this memory's size.
            observations: (envs, size, entries), rows.
            envs: the range of envs that these are of.

        Returns:
            (envs, size, num_outputs) float32.
        """
        outputs, values, state = policy.step(observations, self.state[envs])
        self._values[envs].copy_(values)
        self.state[envs].copy_(state)
        return outputs


def state_array(group: str) -> str:
    """Name of the array with a group's recurrent state; it exists where the group has a memory."""
    return f"recurrent_state_{group}"


def begun(terminated: Tensor, truncated: Tensor, agent_terminated: Tensor | None, agents: int) -> Tensor:
    """Before which steps of a rollout an agent's state was zeroed, the first step's zeroing lying before the rollout.

    Args:
        terminated: (T, num_envs) bool.
        truncated: (T, num_envs) bool.
        agent_terminated: (T, num_envs, agents) bool, or None.
        agents: of the group.

    Returns:
        (T, num_envs, agents) bool, False in the first row.
    """
    ended = (terminated | truncated).unsqueeze(-1).expand(-1, -1, agents)
    if agent_terminated is not None:
        ended = ended | agent_terminated
    return torch.cat((torch.zeros_like(ended[:1]), ended[:-1]))
