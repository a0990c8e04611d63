"""Memory of a group's agents: the state of their recurrent policy, in the store."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

from warpworld.environment import MAX_THREADS_PER_ENV, Array, Group, Kernel
from warpworld.managers import RunKernel
from warpworld.policies import RememberingPolicy
from warpworld.world import World

SOURCE = Path(__file__).resolve().parent / "memory.cu"
WARP = 32  # lanes of a GPU that run side by side
CUT, CUT_BEFORE = "agent_cut", "agent_cut_before"  # arrays of worlds in which agents are cut and remember
ENDS = ("terminated", "truncated", "agent_terminated", CUT_BEFORE, CUT)  # fields of the kernels' struct Ends


class Memory:
    """The recurrent state of one group.

    It is kept as state in the store, so that it is saved with the world, and is zeroed for an agent whose episode
    ended before it acts again. That of an agent that was cut while its env continues is zeroed a step later: what it
    observed last is valued with what it remembers.

    Attributes:
        state: (num_envs, size, state size) float32, after the latest step.
        state_name: of that array.
        values: (num_envs, size) float32, of what the latest actions were chosen on; 0 where there is no critic.
        values_name: of that array.

    Args:
        world: an unsealed world.
        group: the agents.
        state_size: numbers in one agent's state.
    """

    state: Tensor
    values: Tensor

    def __init__(self, world: World, group: Group, state_size: int) -> None:
        self._world, self._group, self.state_size = world, group, state_size
        self.state_name, self.values_name = state_array(group.name), f"recurrent_values_{group.name}"
        doc = "what agents remember"
        world.add(Array(self.state_name, "float32", (group.size, state_size), per="env", initial=0.0, doc=doc))
        world.add(Array(self.values_name, "float32", (group.size,), per="env", initial=0.0), kept="derived")
        if "agent_truncated" in world.data and CUT not in world.data:
            _record_cuts(world)
        self._build()
        world.when_sealed(self._bind)

    def _build(self) -> None:
        """Compile the kernel that forgets."""
        world, group = self._world, self._group
        leaving = "agent_terminated" in world.data
        aliases = {"state": self.state_name}
        if not leaving:
            aliases["agent_terminated"] = "terminated"  # a placeholder, never read
        self._functions = world.kernels(
            SOURCE, {"NUM_AGENTS": 1}, state_sizes(world, group, self.state_size), aliases=aliases
        )
        self._kernel = "forget_cut" if CUT in world.data else "forget"
        lanes = min(-(-group.size * self.state_size // WARP) * WARP, MAX_THREADS_PER_ENV)
        self._functions.build([Kernel(self._kernel, (1, lanes))])

    def _bind(self) -> None:
        """Find the arrays in the sealed store."""
        self.state, self.values = self._world[self.state_name], self._world[self.values_name]
        self._forget = self._world.program([self.forget_step()])

    def forget_step(self) -> RunKernel:
        """``forget`` as a step of a world's program."""
        return self._functions.step(self._kernel, index=0)

    def forget(self) -> None:
        """Zero the state of agents whose episode ended in the latest step; again, it does nothing more."""
        self._forget()

    @property
    def cut(self) -> Tensor | None:
        """Agents whose state is zeroed a step from now, as they were cut: (num_envs, size) bool; None if none is."""
        return self._world[CUT][:, self._group.slice] if CUT in self._world.data else None

    def next_state(self) -> Tensor:
        """The state that what follows the latest step is valued with: (num_envs, size, state size) float32."""
        if CUT not in self._world.data:
            return self.state
        return self.state.masked_fill(self._world[CUT_BEFORE][:, self._group.slice].unsqueeze(-1), 0.0)

    def outputs(self, policy: RememberingPolicy, observations: Tensor, envs: slice = slice(None)) -> Tensor:
        """Outputs of a policy for the present observations; the state advances by a step. Call ``forget`` before.

        Args:
            policy: its states have this memory's size.
            observations: (envs, size, entries), rows.
            envs: the range of envs that these are of.

        Returns:
            (envs, size, num_outputs) float32.
        """
        outputs, values, state = policy.step(observations, self.state[envs])
        self.values[envs].copy_(values)
        self.state[envs].copy_(state)
        return outputs


def state_array(group: str) -> str:
    """Name of the array with a group's recurrent state; it exists where the group has a memory."""
    return f"recurrent_state_{group}"


def state_sizes(world: World, group: Group, state_size: int) -> dict[str, int]:
    """Numbers by which kernels find the states of a group's agents, see ``states.cuh``."""
    return {
        **{"group_size": group.size, "group_first": group.first, "group_stride": group.stride},
        **{"world_agents": world.num_agents, "state_size": state_size},
        "leaving": "agent_terminated" in world.data,
    }


def _record_cuts(world: World) -> None:
    """Keep which agents were cut in the latest step and in the one before."""
    for name, doc in ((CUT, "cut in the latest step"), (CUT_BEFORE, "cut in the step before the latest")):
        world.add(Array(name, "bool", initial=False, doc=doc))
    world.record(CUT, CUT_BEFORE)
    world.record("agent_truncated", CUT)


def begun(
    terminated: Tensor,
    truncated: Tensor,
    agent_terminated: Tensor | None,
    agents: int,
    agent_truncated: Tensor | None = None,
    first_cut: Tensor | None = None,
) -> Tensor:
    """Starts of a rollout's trajectories: whether an agent's state was zeroed just before a step.

    Args:
        terminated: (T, num_envs) bool.
        truncated: (T, num_envs) bool.
        agent_terminated: (T, num_envs, agents) bool, or None.
        agents: of the group.
        agent_truncated: (T, num_envs, agents) bool, or None.
        first_cut: (num_envs, agents) bool, ``cut`` before the first step; None where none was.

    Returns:
        (T + 1, num_envs, agents) bool, False in the first row; the last is that of the step behind the rollout.
    """
    ended = (terminated | truncated).unsqueeze(-1).expand(-1, -1, agents)
    if agent_terminated is not None:
        ended = ended | agent_terminated
    starts = torch.cat((torch.zeros_like(ended[:1]), ended))
    if agent_truncated is not None:
        starts[2:] |= (agent_truncated & ~ended)[:-1]
        if first_cut is not None:
            starts[1] |= first_cut
    return starts
