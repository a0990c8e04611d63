"""The infos of a batch: dictionaries of arrays, as Gymnasium's vector environments have them."""

from __future__ import annotations

from typing import Any

import numpy as np

from warpworld.adapters.views.world_batch import Batch
from warpworld.world import World

_OF_LIVES = ("agent_mask", "agent_terminated", "agent_truncated")


def names_of_lives(world: World) -> list[str]:
    """The arrays of a world that show which agents took part in a step, and whose part of the episode ended in it."""
    return [name for name in _OF_LIVES if name in world]


class Infos:
    """The arrays that an environment names in its ``infos``, its "action_mask", and those of agents' lives; or none.

    Args:
        batch: whose entries they are of.
        world: its world; one that resets in the same step keeps the last infos of episodes.
        names: instead of all of them.
    """

    def __init__(self, batch: Batch, world: World, names: list[str] | None = None) -> None:
        self._lives = names_of_lives(world)
        masks = [*(["action_mask"] if "action_mask" in world else []), *self._lives]
        self._names, self._size = [*world.infos, *masks] if names is None else names, batch.size
        self._now = batch.arrays(dict.fromkeys(self._names))
        self._timestep = batch.arrays(["timestep"])
        self._last = batch.arrays(world.infos, "final_") if world.infos and world.autoreset == "same_step" else None
        self._shows_first_steps = bool(self._lives) and world.autoreset == "next_step"
        groups = np.array(batch.row_groups)
        self._group = {"group": groups} if batch.per_env == world.num_agents > 1 else {}

    def __bool__(self) -> bool:
        return bool(self._names)

    def arrays(self, is_reset: bool = False) -> dict[str, np.ndarray]:
        """Arrays of all entries, by name.

        Args:
            is_reset: whether they are of a call of ``reset``: then also the "group" of each agent that is a row.
        """
        found = self._now()
        if self._lives and (is_reset or self._shows_first_steps):
            begun = self._timestep()["timestep"] == 0
            for name in self._lives:  # which are of a step, and none was made
                found[name][begun] = name == "agent_mask"
        return {**found, **{name: each.copy() for name, each in self._group.items()}} if is_reset else found

    def now(self, is_reset: bool = False) -> dict[str, Any]:
        """Infos of all entries: each array, and under its name with a "_" that every entry has it; see ``arrays``."""
        return _with_masks(self.arrays(is_reset), np.ones(self._size, np.bool_))

    def of_ended(self, ended: np.ndarray) -> dict[str, Any]:
        """The last infos, as "final_info", of entries (size,) bool whose episodes ended in this step."""
        if self._last is None:
            return {}
        return {"final_info": _with_masks(self._last(), ended), "_final_info": ended.copy()}


def _with_masks(arrays: dict[str, np.ndarray], mask: np.ndarray) -> dict[str, Any]:
    return {**arrays, **{f"_{name}": mask.copy() for name in arrays}}
