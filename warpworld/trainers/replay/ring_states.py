"""The states of teams that an environment declares, in the rows of a ring of steps."""

from __future__ import annotations

import math
from collections.abc import Mapping

from torch import Tensor

from warpworld.environment import Array
from warpworld.managers import Copy, Kept
from warpworld.trainers.collecting import refuse_not_finite
from warpworld.trainers.replay.priorities import add_arrays
from warpworld.trainers.replay.ring import Ring
from warpworld.world import World


class RingStates:
    """Keeps an array of the environment in each row.

    Of an array per env the state is the env's part, of one per agent the parts of all agents of the group.

    Attributes:
        size: numbers in a state.
        aliases: the arrays' names by those of the kernels' parameters.

    Args:
        world: an unsealed world.
        ring: of the steps.
        name: of the array.
    """

    aliases: Mapping[str, str]

    def __init__(self, world: World, ring: Ring, name: str) -> None:
        self._world, self._ring, self._name = world, ring, name
        array = world.data.array(name)
        self._is_per_agent = array.per == "agent"
        self._shape = (ring.policy_agents.size, *array.shape) if self._is_per_agent else array.shape
        self.size = math.prod(self._shape)
        self.aliases = add_arrays(world, ring.policy_agents.name, self._arrays())

    def _arrays(self) -> list[tuple[Array, Kept]]:
        """Arrays that are added to the store."""
        rows = (self._ring.rows, self._world.num_envs, *self._shape)
        return [(Array("ring_state", "float32", rows, "world"), "history")]

    def _copy(self, target: str, row: str) -> Copy:
        """A copy of the array's latest state into a row."""
        if self._is_per_agent:
            return self._ring.policy_agents.copies(self._name, self.aliases[target], row)[0]
        return Copy(self._name, self.aliases[target], row=row)

    def copies(self) -> list[Copy]:
        """Copies of the state into the row."""
        return [self._copy("ring_state", self._ring.aliases["row"])]

    # ---- after an iteration ------------------------------------------------------------------------------------------
    def is_finite(self) -> Tensor:
        """Whether the states of the latest iteration are finite: () bool."""
        return self._latest().isfinite().all()

    def refuse_not_finite(self) -> None:
        """Search the states of the latest iteration.

        Raises:
            TrainingError: names env, agent, step and number; an array per env counts for all agents.
        """
        (group,), seen = self._ring.policy_agents.groups, self._latest()
        of_agents = seen.flatten(3) if self._is_per_agent else seen.flatten(2).unsqueeze(2)
        refuse_not_finite(self._world, "critic inputs", group, of_agents.expand(-1, -1, group.size, -1), None)

    def _latest(self) -> Tensor:
        return self._world[self.aliases["ring_state"]].index_select(0, self._ring.latest())
