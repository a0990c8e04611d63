"""How policies try out actions of a Box: uniform ones until there is something to learn from, then with noise."""

from __future__ import annotations

from warpworld.environment import Array
from warpworld.trainers.collecting.collector import Collector


class AtRandom:
    """The array that says whether actions are drawn uniformly: at first they are.

    Attributes:
        array: its name.

    Args:
        collector: of an unsealed world.
        name: keeps the array apart from other policies'.
    """

    def __init__(self, collector: Collector, name: str) -> None:
        self._world, self.array = collector.world, f"at_random_{name}"
        doc = "whether actions are drawn uniformly"
        self._world.add(Array(self.array, "bool", per="world", initial=True, doc=doc))

    def set(self, at_random: bool) -> None:
        """Settle how the next iteration's actions are drawn."""
        self._world[self.array].fill_(at_random)


class NoiseScale:
    """The array with what noise is multiplied by.

    Attributes:
        array: its name.

    Args:
        collector: of an unsealed world.
        name: keeps the array apart from other policies'.
        scale: at first.
    """

    def __init__(self, collector: Collector, name: str, scale: float) -> None:
        self._world, self.array = collector.world, f"noise_scale_{name}"
        doc = "what noise is multiplied by"
        self._world.add(Array(self.array, "float32", per="world", initial=scale, doc=doc))

    def set(self, scale: float) -> None:
        """Settle the scale of the next iteration."""
        self._world[self.array].fill_(scale)
