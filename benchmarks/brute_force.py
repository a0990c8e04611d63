"""Cameras by brute force, as megastep draws what they see: every ray against every wall, on the same plans and rays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from warpworld import Array, Kernel, World
from warpworld.environment import Phase
from warpworld.envs.explorer.explorer import Explorer
from warpworld.indoor import camera_kernel

from .rows import Row
from .worlds import measured

NAME = "explorer"
NUM_ENVS = 256


class BruteExplorer(Explorer):
    """Explorer with the reference's way of seeing and counting."""

    source = Path(__file__).parent / "brute_explorer.cu"
    includes = (str(Path(Explorer.source_path() or "").resolve()),)

    def arrays(self) -> Sequence[Array]:
        """A byte for each texel, all of which are counted in every step."""
        texels = 32 * self.params.seen_words
        return [*super().arrays(), Array("seen_texels", "uint8", (texels,), per="env", doc="1 for what has been seen")]

    def phases(self) -> Sequence[Phase | Kernel]:
        """Move, then look."""
        return ["move", camera_kernel("see_by_force")]

    def resets(self) -> Sequence[Phase | Kernel]:
        """Wake up somewhere, and look."""
        return ["wake", camera_kernel("see_first_by_force")]


def rows(seconds: float) -> Iterator[Row]:
    """Explorer with 256 rays, one worker: warpworld's own, then by brute force."""
    for system, kind in (("warpworld", Explorer), ("brute force, as megastep", BruteExplorer)):
        world = World(kind(), NUM_ENVS, device="cpu", num_workers=1)
        timing = measured(world, seconds)
        yield Row("explorer, 256 rays", system, NUM_ENVS, 1, 1, timing.median, timing.spread)
