"""Drawings of an env while it is played; of one that does not draw itself, its arrays as strips."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from warpworld.drawing import ArrayDrawer, Drawing, check_colours, colour_table
from warpworld.report import checked_drawing
from warpworld.report.stepping import FrameArrays
from warpworld.world import World


class LiveDrawing:
    """Draws steps one by one, as they come.

    Args:
        world: whose env is drawn.
        agent: for whom.
    """

    def __init__(self, world: World, agent: int) -> None:
        self._world, self._agent = world, agent
        self._lowest: dict[str, np.ndarray] = {}
        self._highest: dict[str, np.ndarray] = {}

    def begin(self) -> None:
        """Forget the ranges of values of an episode before."""
        self._lowest, self._highest = {}, {}

    def of(self, arrays: FrameArrays) -> Drawing:
        """The drawing of a step.

        Raises:
            DeclarationError: ``draw`` returns no drawing, or one with an unknown colour.
        """
        drawing = checked_drawing(self._world, arrays, self._agent)
        if drawing is not None:
            return drawing
        self._widen(arrays)
        return ArrayDrawer([self._lowest, self._highest]).draw(arrays)

    def sight(self, arrays: FrameArrays) -> Drawing | None:
        """The drawing of what the agent sees; None where the environment draws none.

        Raises:
            DeclarationError: it has an unknown colour.
        """
        drawing = self._world.environment.draw_sight(arrays, self._agent)
        if drawing is not None:
            check_colours(drawing, colour_table(self._world.groups))
        return drawing

    def _widen(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Take in the values of a step: strips are coloured from the lowest to the highest of an episode so far."""
        for name, values in arrays.items():
            numbers = values.astype(np.float64)
            self._lowest[name] = np.fmin(numbers, self._lowest.get(name, numbers))
            self._highest[name] = np.fmax(numbers, self._highest.get(name, numbers))
