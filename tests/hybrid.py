"""A world whose agents act by choices and by numbers in a Box at once, see hybrid.cu."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
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
        """Number of agents."""

        arms: int = 2

    def groups(self) -> Sequence[Group]:
        """All agents, in one group."""
        return [Group("arm", self.params.arms, Box(-1.0, 1.0, (4,)), ACTION)]

    def arrays(self) -> Sequence[Array]:
        """Last choice of the grip."""
        return [Array("gripped", "int32", initial=0, on_reset="initial", doc="bits of the two grips")]


class MaskedHybrid(Hybrid):
    """Agents that may not move to side 1 and may not open the first grip."""

    requested = ("action_mask",)

    def phases(self) -> Sequence[Any]:
        """Steps with masks behind them."""
        return ["step", self.forbid]

    def resets(self) -> Sequence[Any]:
        """Resets with masks behind them."""
        return ["reset", self.forbid]

    @masked_phase
    def forbid(self, arrays: Any, active: Any) -> None:
        """Forbid the same choices everywhere."""
        mask = arrays["action_mask"]
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

    def phases(self) -> Sequence[Any]:
        """One in Python, which pays for numbers near 1 and for the choice 2."""
        return [self.pay]

    def resets(self) -> Sequence[Any]:
        """One that does nothing."""
        return [self.nothing]

    def scripts(self) -> dict[str, Any]:
        """A player of either group that always does the same."""
        return {"still": self.still}

    @masked_phase
    def pay(self, arrays: Any, active: Any) -> None:
        """End an episode after 4 steps."""
        reach = 1.0 - (arrays["actions_arm_arm_reach"][..., 0] - 1.0).abs()
        rewards = torch.cat([(arrays["actions_goer"][..., 0] == 2).float(), reach], 1)
        arrays["rewards"] = torch.where(active[:, None], rewards, arrays["rewards"])
        arrays["terminated"] = torch.where(active, arrays["timestep"] >= 3, arrays["terminated"])

    @masked_phase
    def nothing(self, arrays: Any, active: Any) -> None:
        """Do nothing."""

    def still(self, arrays: Any, group: Group) -> torch.Tensor:
        """Equal logits, and the middle of each number."""
        outputs = 4 if group.name == "goer" else sum(HEADS) + 2
        envs = len(arrays["timestep"])
        return torch.zeros(envs, group.size, outputs, device=arrays["timestep"].device)
