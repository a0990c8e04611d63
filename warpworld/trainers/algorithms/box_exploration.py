"""Exploration with actions of a Box: uniform ones until there is something to learn from, then with noise."""

from __future__ import annotations

from warpworld.environment import Array
from warpworld.trainers.collecting import Collector


class DeviceScalar:
    """A device scalar that exploring kernels read; it changes between iterations only.

    Attributes:
        array: name of the array.

    Args:
        collector: of an unsealed world.
        array: (), per world.
    """

    def __init__(self, collector: Collector, array: Array) -> None:
        self._world, self.array = collector.world, array.name
        self._world.add(array)

    def set(self, number: float) -> None:
        """Set it for the next iteration."""
        self._world[self.array].fill_(number)


def at_random(collector: Collector, name: str) -> DeviceScalar:
    """A flag: draw a policy's actions uniformly, as at first."""
    doc = "whether actions are drawn uniformly"
    return DeviceScalar(collector, Array(f"at_random_{name}", "bool", per="world", initial=True, doc=doc))


def noise_scale(collector: Collector, name: str, scale: float) -> DeviceScalar:
    """Scale of the noise of a policy's actions."""
    doc = "what noise is multiplied by"
    return DeviceScalar(collector, Array(f"noise_scale_{name}", "float32", per="world", initial=scale, doc=doc))
