"""Final observations of truncated episodes, which a ring of steps does not hold."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from warpworld.environment import Array
from warpworld.errors import DeclarationError
from warpworld.managers import Copy, Kept
from warpworld.trainers.replay.priorities import add_arrays
from warpworld.trainers.replay.ring import Ring
from warpworld.world import World


class Finals:
    """A ring of final observations beside a ring of steps: in each env a slot for every truncation that can be in it.

    Attributes:
        slots: of an env.
        aliases: the arrays' names by those of the kernels' parameters.
        joins: whether Python puts the parts of what agents saw last together, by ``join``.

    Args:
        world: an unsealed world.
        ring: of the steps.
    """

    def __init__(self, world: World, ring: Ring) -> None:
        self._world, self._ring = world, ring
        self.slots = world.environment.truncations(ring.rows)
        self.aliases = add_arrays(world, ring.policy_agents.name, self._arrays())
        world.request("final_observations")
        self.joins = not ring.policy_agents.sees_rows
        if ring.choices:  # what was allowed is to be known from before the reset
            for copy in self._copies("action_mask", "last_mask"):
                world.record_copy(copy)

    def _arrays(self) -> list[tuple[Array, Kept]]:
        policy_agents, choices, num_envs = self._ring.policy_agents, self._ring.choices, self._world.num_envs
        last = (1, num_envs, policy_agents.size)
        kept, before = (self.slots, policy_agents.size), "how many were kept before the row"
        arrays: list[tuple[Array, Kept]] = [
            (Array("last", policy_agents.rows.dtype, (*last, policy_agents.rows.size), "world", initial=0), "derived"),
            (Array("only_row", "int32", (), "world", initial=0), "derived"),
            (Array("finals", policy_agents.rows.dtype, (*kept, policy_agents.rows.size), "env"), "history"),
            (Array("finals_kept", "int32", (), "env", initial=0, doc="how many were ever kept"), "state"),
            (Array("finals_before", "int32", (self._ring.rows, num_envs), "world", initial=0, doc=before), "history"),
        ]
        if choices:
            arrays.append((Array("last_mask", "bool", (*last, choices), "world", initial=True), "derived"))
            arrays.append((Array("finals_mask", "bool", (*kept, choices), "env"), "history"))
        return arrays

    def _copies(self, source: str, target: str) -> list[Copy]:
        return self._ring.policy_agents.copies(source, self.aliases[target], self.aliases["only_row"])

    def copies(self) -> list[Copy]:
        """Copies of the final observations to where the keeping kernel reads them; none if they are joined."""
        if self.joins:
            return []
        row = self.aliases["only_row"]
        return self._ring.policy_agents.copies_of_last(self.aliases["last"], row)

    def join(self) -> None:
        """Put what the agents saw last into rows there."""
        self._ring.policy_agents.join_last(self._world[self.aliases["last"]][0])

    def most_kept(self) -> Tensor:
        """The largest number of final observations that the ring's steps of an env need: () int32."""
        row = self._world[self._ring.aliases["row"]]  # written next, so that it is the oldest
        before = self._world[self.aliases["finals_before"]].index_select(0, row.long().view(1))
        return (self._world[self.aliases["finals_kept"]] - before).max()

    def check(self, most_kept: Sequence[int]) -> None:
        """Refuse to learn from final observations that others were written over.

        Raises:
            DeclarationError: an env was truncated more often than its ``truncations()`` returns.
        """
        if any(count > self.slots for count in most_kept):
            raise DeclarationError(
                f"{self._world.environment.name}: an env was truncated more often in {self._ring.rows} steps than the "
                f"{self.slots} times that its truncations() gives; let it return the most that are possible"
            )
