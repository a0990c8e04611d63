"""History of a replay, for checkpoints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from warpworld.trainers.collecting import History, Rows
from warpworld.trainers.replay.ring import CUT_OFF, PLAYED

if TYPE_CHECKING:
    from warpworld.trainers.replay.replay_base import Replay

_OF_ROWS = ("takes_part", "finals_before", "team_rewards", "team_takes_part")  # besides those called ring_...
_OF_BLOCKS = ("window_states", "window_cuts")  # written where a block of several rows begins
_SLOTS = ("finals", "finals_mask", "finals_state")


class RingHistory(History):
    """A replay's ring, what lies beside it, and its leaves; sums follow from these.

    Args:
        replay: whose they are.
        n_step: steps of its transitions.
    """

    def __init__(self, replay: Replay, n_step: int) -> None:
        self._replay, self._n_step = replay, n_step

    @property
    def _aliases(self) -> Mapping[str, str]:
        return self._replay.aliases

    @property
    def _blocks(self) -> int:
        """Blocks of items: of a row each, or of the rows of a window."""
        return len(self._replay.array("generation"))

    @property
    def _keeps_finals(self) -> bool:
        return bool(self._views(["finals"]))

    def rows(self) -> list[Rows]:
        """Rows of the ring and those of its blocks; their positions are read back from the device."""
        name, written = self._replay.policy_agents.name, int(self._replay.array("written"))
        of_rows = [each for each in self._aliases if each.startswith("ring_") or each in _OF_ROWS]
        slots = self._views(_SLOTS)
        filled = self._replay.array("finals_kept") if slots else None
        found = [Rows(name, self._views(of_rows), written, self._n_step, slots, filled)]
        of_blocks = self._views(_OF_BLOCKS)
        if of_blocks:
            begun = -(-written * self._blocks // self._replay.ring.rows)
            found.append(Rows(f"{name}.blocks", of_blocks, begun))
        return found

    def whole(self) -> Mapping[str, Tensor]:
        """Leaves in their order: blocks, envs, an env's items."""
        shape = (self._blocks, self._replay.world.num_envs, self._replay.items_per_env)
        leaves = self._replay.array("leaves")[: torch.Size(shape).numel()]
        return {self._aliases["leaves"]: leaves.view(shape)}

    def own(self) -> Mapping[str, Tensor]:
        """Counts of each block's writes, and the largest leaf of this process."""
        return self._views(["generation", "largest_leaf"])

    def restored(self) -> None:
        """Add the leaves up."""
        self._replay.priorities.add_up_all()

    def empty(self) -> None:
        """Empty the ring: nothing can be drawn, and the next row is the first."""
        finals = ["finals_kept", "finals_before"] if self._keeps_finals else []
        for name in ("row", "written", "generation", "leaves", *finals):
            self._replay.array(name).zero_()
        self.restored()

    def end_episodes(self) -> None:
        """Mark the newest row as truncated.

        What was seen last is not among the final observations. Where these are kept, the transitions that would need
        it are not drawn; they are not complete yet, so they have no leaf.
        """
        array, rows = self._replay.array, self._replay.ring.rows
        written = int(array("written"))
        if written == 0:
            return
        newest, truncated = (written - 1) % rows, array("ring_truncated")
        terminated = array("ring_terminated")[newest]
        if self._keeps_finals:
            goes_on = ~(truncated[newest] | terminated)
            for back in range(min(self._n_step, written)):
                array("takes_part")[(newest - back) % rows, goes_on] &= ~PLAYED & 0xFF
        truncated[newest] = True
        array("takes_part")[newest] |= CUT_OFF * ~terminated[:, None]

    def _views(self, names: Sequence[str]) -> dict[str, Tensor]:
        """Views of those arrays that this replay has, by name in the store; other aliases stand for another's array."""
        arrays = [self._replay.policy_agents.array(name) for name in names if name in self._aliases]
        return {array: self._replay.world[array] for array in arrays if array in self._replay.world.data}
