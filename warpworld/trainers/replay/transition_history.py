"""What checkpoints hold of a ring of transitions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from torch import Tensor

from warpworld.trainers.collecting.history import History, Rows
from warpworld.trainers.replay.crew import Crew
from warpworld.trainers.replay.priorities import Priorities

if TYPE_CHECKING:
    from warpworld.trainers.replay.transition_replay import ReplaySizes

_ROWS = ("takes_part", "finals_before")  # besides those called ring_...


class TransitionHistory(History):
    """The ring, its final observations and its leaves; sums follow from these.

    Args:
        crew: the agents.
        sizes: of the ring.
        priorities: what draws from it.
        aliases: names of the arrays in the store by those that kernels use. Some stand for arrays that this ring has
            not.
    """

    def __init__(self, crew: Crew, sizes: ReplaySizes, priorities: Priorities, aliases: Mapping[str, str]) -> None:
        self._world, self._crew, self._sizes = crew.world, crew, sizes
        self._priorities, self._aliases = priorities, aliases
        self._finals = ["finals", *(["finals_mask"] if "action_mask" in crew.world.data else [])]

    def rows(self) -> list[Rows]:
        """Those of the ring; where it stands is read back from the device."""
        finals = self._sizes.final_observations
        return [
            Rows(
                name=self._crew.name,
                arrays=self._views([name for name in self._aliases if name.startswith("ring_") or name in _ROWS]),
                written=int(self._array("written")),
                unsettled=self._sizes.n_step,
                slots=self._views(self._finals) if finals else {},
                filled=self._array("finals_kept") if finals else None,
            )
        ]

    def whole(self) -> Mapping[str, Tensor]:
        """Leaves in their order: rows, envs, agents."""
        rows, envs, agents = self._sizes.rows, self._world.num_envs, self._crew.size
        leaves = self._array("leaves")[: rows * envs * agents]
        return {self._aliases["leaves"]: leaves.view(rows, envs, agents)}

    def own(self) -> Mapping[str, Tensor]:
        """How often each row was written, and the largest leaf of this process."""
        return self._views(["generation", "largest_leaf"])

    def restored(self) -> None:
        """Add the leaves up."""
        self._priorities.add_up_all()

    def empty(self) -> None:
        """Nothing can be drawn, and the next row is the first."""
        finals = ["finals_kept", "finals_before"] if self._sizes.final_observations else []
        for name in ("row", "written", "generation", "leaves", *finals):
            self._array(name).zero_()
        self.restored()

    def end_episodes(self) -> None:
        """Mark the newest row as truncated.

        What was seen last is not among the final observations. Where these are kept, the transitions that would need
        it are not drawn; they are not complete yet, so they have no leaf.
        """
        rows, written = self._sizes.rows, int(self._array("written"))
        if written == 0:
            return
        newest = (written - 1) % rows
        truncated, terminated = self._array("ring_truncated"), self._array("ring_terminated")
        if self._sizes.final_observations:
            broken = ~(truncated[newest] | terminated[newest])
            for back in range(min(self._sizes.n_step, written)):
                self._array("takes_part")[(newest - back) % rows, broken] = 0
        truncated[newest] = True

    def _array(self, what: str) -> Tensor:
        return self._world[self._aliases[what]]

    def _views(self, names: list[str]) -> dict[str, Tensor]:
        """Arrays by their names in the store, each once: some aliases stand for another's array."""
        kept = self._world.data.names("history", "state")
        found = {self._aliases[name] for name in names}
        return {name: self._world[name] for name in sorted(found.intersection(kept))}
