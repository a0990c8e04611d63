"""The infos of a batch: dictionaries of arrays, as Gymnasium's vector environments have them."""

from __future__ import annotations

from typing import Any

import numpy as np

from warpworld.adapters.batch import Batch
from warpworld.world import World


class Infos:
    """The arrays that an environment names in its ``infos``, and its "action_mask" if it has one; false if none.

    Args:
        batch: whose entries they are of.
        world: its world; one that resets in the same step keeps the last infos of episodes.
    """

    def __init__(self, batch: Batch, world: World) -> None:
        names = [*world.infos, *(["action_mask"] if "action_mask" in world else [])]
        self._names, self._size = names, batch.size
        self._now = batch.arrays(dict.fromkeys(names))
        self._last = batch.arrays(world.infos, "final_") if world.infos and world.autoreset == "same_step" else None

    def __bool__(self) -> bool:
        return bool(self._names)

    def now(self) -> dict[str, Any]:
        """Those of all entries: each array, and under its name with a "_" that every entry has it."""
        return _with_masks(self._now(), np.ones(self._size, np.bool_))

    def of_ended(self, ended: np.ndarray) -> dict[str, Any]:
        """The last infos, as "final_info", of entries (size,) bool whose episodes ended in this step."""
        if self._last is None:
            return {}
        return {"final_info": _with_masks(self._last(), ended), "_final_info": ended.copy()}


def _with_masks(arrays: dict[str, np.ndarray], mask: np.ndarray) -> dict[str, Any]:
    return {**arrays, **{f"_{name}": mask.copy() for name in arrays}}
