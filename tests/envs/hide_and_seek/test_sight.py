"""The test of lines of sight without divisions finds what the exact one finds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from warpworld import Array, Kernel, World
from warpworld.environment import Phase, Script
from warpworld.envs.hide_and_seek.hide_and_seek import HideAndSeek


class Grazing(HideAndSeek):
    """Agents on lines past the corners of walls and boxes."""

    source = str(Path(__file__).parent / "sight.cu")

    def arrays(self) -> Sequence[Array]:
        """Those of the game, and counts."""
        counts = [Array(name, "int32", per="env", initial=0) for name in ("different", "blocked", "lines")]
        return [*super().arrays(), *counts]

    def phases(self) -> Sequence[Phase | Kernel]:
        """Lines, and what is found of them."""
        return [Kernel("graze", threads_per_env=(1, 1))]

    def resets(self) -> Sequence[Phase | Kernel]:
        """Walls and boxes where an episode has them."""
        return [Kernel("scatter", threads_per_env=(1, 1))]

    def scripts(self) -> Mapping[str, Script]:
        """None."""
        return {}


@pytest.mark.parametrize(
    "params", [dict(boxes=3, doors=2), dict(rooms=4, long_boxes=2, side=20.0, door_width=1.0)], ids=str
)
def test_lines_that_graze_corners_are_judged_as_by_the_exact_test(params: dict[str, Any]) -> None:
    world = World(Grazing(**params), 40, device="cpu", seed=1)
    world.reset()
    world.step()
    assert world["different"].sum() == 0
    assert 0.1 < world["blocked"].sum() / world["lines"].sum() < 0.9
