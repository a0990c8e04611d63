"""Texels of walls that agents can see from where they may be, found when a world is declared."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from warpworld.environment import Array
from warpworld.eyes.plans.once import OfPlans, run_once
from warpworld.eyes.plans.plan_set import PlanSet

READ = ("plan_walls", "plan_first_wall", "wall_first_texel", "plan_first_room", "room_first_cell", "plan_cells")


class FindSights(OfPlans):
    """Writes ``in_sight``, a flag for each texel of all plans."""

    source = "sights.cu"
    kernels = ("look_at_texels",)

    @dataclass(frozen=True)
    class Params:
        """No parameters."""

    def arrays(self) -> Sequence[Array]:
        """Arrays that the kernel reads, and the flags."""
        return [*super().arrays(), Array("in_sight", "uint8", self._texels(), per="world", initial=0)]

    def _texels(self) -> tuple[int]:
        return (int(self.inputs["wall_first_texel"][-1]),)


def seen_words(plans: PlanSet) -> int:
    """Words of 32 bits that have one for each texel of any plan, rounded up, so that few values need a build."""
    return -(-plans.most_texels // 512) * 16


@functools.lru_cache(maxsize=4)
def find_sights(plans: PlanSet, device: str = "cpu") -> np.ndarray:
    """Find the texels of walls that can be seen from where agents may be.

    Args:
        plans: of the world.
        device: of the world that finds them, as a World's.

    Returns:
        (plans, words) uint32, a bit for each texel of a plan, the first texel's the lowest of the first word: whether
        no wall stands between the texel's middle and the middle of some cell of the plan's rooms, in which agents
        start.
    """
    found = run_once(FindSights({name: plans[name] for name in READ}), len(plans), "in_sight", device)
    flags = np.zeros((len(plans), 32 * seen_words(plans)), np.uint8)
    firsts = plans["wall_first_texel"][plans["plan_first_wall"]]
    for plan, (first, end) in enumerate(itertools.pairwise(firsts)):
        flags[plan, : end - first] = found[first:end]
    return np.packbits(flags, axis=1, bitorder="little").view("<u4").astype(np.uint32)
