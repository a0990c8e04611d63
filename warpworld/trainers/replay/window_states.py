"""States of memory at the beginnings of windows."""

from __future__ import annotations

from warpworld.environment import Group, Kernel
from warpworld.managers import FunctionManager, Step
from warpworld.trainers.collecting import CUT, CUT_BEFORE, Memory, state_sizes
from warpworld.trainers.replay.priorities import KERNELS, lanes_for
from warpworld.trainers.replay.ring import Ring
from warpworld.world import World


class WindowStates:
    """Keeps the states of a policy's agents in rows at which windows begin, as they are before the row's step.

    Args:
        world: unsealed.
        ring: whose rows they are.
        kept: name of the array (slots, num_envs, agents, state size) float32.
        cuts: name of the array (slots, num_envs, agents) bool, which agents were cut in the step before a window.
        stride: rows between two windows.
        state_size: numbers in one agent's state.
    """

    def __init__(self, world: World, ring: Ring, kept: str, cuts: str, stride: int, state_size: int) -> None:
        self._world, self._ring, self._kept, self._cuts = world, ring, kept, cuts
        self._stride, self._state_size = stride, state_size
        self._of_groups: list[FunctionManager] = []

    def keep(self, memory: Memory, group: Group) -> None:
        """Keep the states of a group of the policy."""
        world, policy_agents = self._world, self._ring.policy_agents
        leaving, cutting = "agent_terminated" in world.data, CUT in world.data
        sizes = {
            **state_sizes(world, group, self._state_size),
            "policy_agents": policy_agents.size,
            "first_policy_agent": policy_agents.first(group.name),
            "stride": self._stride,
            "cutting": cutting,
        }
        # arrays
        aliases = {"state": memory.state_name, "row": self._ring.aliases["row"]}
        aliases |= {"window_states": self._kept, "window_cuts": self._cuts}
        unread = [*(() if leaving else ("agent_terminated",)), *(() if cutting else (CUT, CUT_BEFORE))]
        aliases |= dict.fromkeys(unread, "terminated")  # a placeholder, never read
        # the kernel, which shares the states' numbers among lanes
        kernels = world.kernels(KERNELS / "window_states.cu", {"NUM_AGENTS": 1}, sizes, aliases=aliases)
        lanes = lanes_for(world.num_envs * group.size * self._state_size, world.num_envs)
        kernels.build([Kernel("keep_states", lanes)])
        self._of_groups.append(kernels)

    def steps(self) -> list[Step]:
        """The launch that keeps them, in the sealed store."""
        return [kernels.step("keep_states", index=0) for kernels in self._of_groups]
