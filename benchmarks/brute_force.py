"""Cameras by brute force, as megastep draws what they see: every ray against every wall, on the same plans and rays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from warpworld import Array, Kernel, World
from warpworld.environment import Phase
from warpworld.envs.deathmatch.deathmatch import Deathmatch
from warpworld.envs.explorer.explorer import Explorer
from warpworld.envs.point_goal.point_goal import PointGoal
from warpworld.eyes.indoor import camera_kernel

from .rows import Row
from .worlds import measured

AGENT_FRAMES = 256  # of a world's step


class BruteExplorer(Explorer):
    """Explorer with the reference's way of seeing and counting."""

    source = Path(__file__).parent / "brute_explorer.cu"

    @property
    def includes(self) -> tuple[str, ...]:  # type: ignore[override]
        """Headers of Explorer, and its own kernels."""
        return (*super().includes, str(Path(Explorer.source_path() or "").resolve()))

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


class BrutePointGoal(PointGoal):
    """PointGoal with the reference's way of seeing."""

    source = Path(__file__).parent / "brute_waypoint.cu"

    @property
    def includes(self) -> tuple[str, ...]:  # type: ignore[override]
        """Headers of PointGoal, and its own kernels."""
        return (*super().includes, str(Path(PointGoal.source_path() or "").resolve()))

    def phases(self) -> Sequence[Phase | Kernel]:
        """Move, then look."""
        return ["move", camera_kernel("see_by_force")]

    def resets(self) -> Sequence[Phase | Kernel]:
        """Wake up somewhere, and look."""
        return ["wake", camera_kernel("see_by_force")]


class BruteDeathmatch(Deathmatch):
    """Deathmatch with the reference's way of seeing."""

    source = Path(__file__).parent / "brute_deathmatch.cu"

    @property
    def includes(self) -> tuple[str, ...]:  # type: ignore[override]
        """Headers of Deathmatch, and its own kernels."""
        return (*super().includes, str(Path(Deathmatch.source_path() or "").resolve()))

    def phases(self) -> Sequence[Phase | Kernel]:
        """The same, then look."""
        return [*super().phases()[:-1], camera_kernel("see_by_force")]

    def resets(self) -> Sequence[Phase | Kernel]:
        """The same, and look."""
        return [*super().resets()[:-1], camera_kernel("see_by_force")]


# What is measured: its label, our own and the reference's way, and its parameters.
CASES = {
    "explorer": ("explorer, 256 rays", (Explorer, BruteExplorer), {}),
    "deathmatch": ("deathmatch, 512 rays", (Deathmatch, BruteDeathmatch), {"players": 2, "rivals": 2}),
}


def rows(seconds: float, only: str | None = None) -> Iterator[Row]:
    """Explorer and Deathmatch, or those whose name contains ``only``, with one worker: our own way, then by force."""
    for name, (label, kinds, params) in CASES.items():
        if only is not None and only not in name:
            continue
        for system, kind in zip(("warpworld", "brute force, as megastep"), kinds, strict=True):
            environment = kind(**params)
            agents = sum(group.size for group in environment.groups())
            world = World(environment, AGENT_FRAMES // agents, device="cpu", num_workers=1)
            timing = measured(world, seconds)
            yield Row(label, system, world.num_envs, agents, 1, timing.median, timing.spread)
