"""A world whose agents act by choices and by numbers in a Box at once, see hybrid.cu."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary

from warpworld import Array, Environment, Group, masked_phase

REACH = Box(np.array([-2.0, 0.0], np.float32), np.array([2.0, 1.0], np.float32))
ACTION = Dict({"move": Discrete(3, start=1), "arm": Dict({"grip": MultiBinary(2), "reach": REACH})})
HEADS = (2, 2, 3)  # of grip and move; Gymnasium sorts the keys of a Dict
NAMES = ["actions_arm_grip", "actions_arm_reach", "actions_move"]


class Hybrid(Environment):
    """Agents that move, grip and reach."""

    source = Path(__file__).with_suffix(".cu")

    @dataclass(frozen=True)
    class Params:
        """How many agents there are."""

        arms: int = 2

    def groups(self) -> Sequence[Group]:
        """All agents, in one group."""
        return [Group("arm", self.params.arms, Box(-1.0, 1.0, (4,)), ACTION)]

    def arrays(self) -> Sequence[Array]:
        """What was gripped last."""
        return [Array("gripped", "int32", initial=0, on_reset="initial", doc="bits of the two grips")]


class MaskedHybrid(Hybrid):
    """Agents that may not move to side 1 and may not open the first grip."""

    requested = ("action_mask",)

    def phases(self) -> Sequence[object]:
        """Steps with masks behind them."""
        return ["step", self.forbid]

    def resets(self) -> Sequence[object]:
        """Resets with masks behind them."""
        return ["reset", self.forbid]

    @masked_phase
    def forbid(self, arrays: object, active: object) -> None:
        """Forbid the same choices everywhere."""
        mask = arrays["action_mask"]  # type: ignore[index]
        mask.fill_(True)
        mask[..., 0] = False
        mask[..., 5] = False


class HybridPair(Hybrid):
    """Two groups, of which the first acts by choices alone, so that each has arrays of its own."""

    source = None

    def groups(self) -> Sequence[Group]:
        """One agent that goes, and others that act as in ``Hybrid``."""
        seen = Box(-1.0, 1.0, (4,))
        return [Group("goer", 1, seen, Discrete(4)), Group("arm", self.params.arms, seen, ACTION)]

    def arrays(self) -> Sequence[Array]:
        """None."""
        return []

    def phases(self) -> Sequence[object]:
        """One in Python that ends no episode."""
        return [self.nothing]

    def resets(self) -> Sequence[object]:
        """The same."""
        return [self.nothing]

    @masked_phase
    def nothing(self, arrays: object, active: object) -> None:
        """Do nothing."""
