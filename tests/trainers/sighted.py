"""A small environment whose agents see several named parts, one of them with pixels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from gymnasium.spaces import Box, Dict, Discrete
from torch import Tensor

from tests.trainers.small_worlds import space
from warpworld.environment import Array, Environment, Group

PIXELS = 12
STRIP = Box(0.0, 1.0, (2, PIXELS))


class Sighted(Environment):
    """In PyTorch alone: left (2 agents) and right (1) see ``strip`` (2, 12), ``motion`` (3,) and ``health`` (1,).

    Of the strip a single pixel is bright, in one of two colours, both drawn anew in each step; to choose the colour is
    worth 1. The motion is random, the health the timestep. With ``apart`` right sees no motion, so that each group has
    arrays of its own.
    """

    @dataclass(frozen=True)
    class Params:
        episode_length: int = 5
        apart: bool = False

    params: Params

    def groups(self) -> Sequence[Group]:
        seen = {"strip": STRIP, "motion": space(3), "health": space(1)}
        less = {"strip": STRIP, "health": space(1)} if self.params.apart else seen
        return [Group("left", 2, Dict(seen), Discrete(2)), Group("right", 1, Dict(less), Discrete(2))]

    def arrays(self) -> Sequence[Array]:
        return [Array("colour", "int64", initial=0, on_reset="keep")]

    def phases(self) -> Sequence[Any]:
        return [self._step]

    def resets(self) -> Sequence[Any]:
        return [self._show]

    def _step(self, arrays: Any, active: Tensor) -> None:
        arrays["rewards"] = (arrays["actions"][..., 0] == arrays["colour"]).float()
        arrays["truncated"] = arrays["timestep"] >= self.params.episode_length
        self._show(arrays, torch.ones_like(active))

    def _show(self, arrays: Any, active: Tensor) -> None:
        place = arrays.random.below(2 * PIXELS)[..., 0]
        pixels = torch.arange(2 * PIXELS, device=place.device)
        arrays["colour"] = torch.where(active[:, None], place // PIXELS, arrays["colour"])
        parts = {
            "strip": (place.unsqueeze(-1) == pixels).unflatten(-1, (2, PIXELS)).float(),
            "motion": arrays.random.uniform(3),
            "health": arrays["timestep"][:, None, None].expand(-1, 3, 1).float(),
        }
        for array, part, agents in self._shown():
            now = parts[part][:, agents]
            chosen = active.view(-1, *[1] * (now.dim() - 1))
            arrays[array] = torch.where(chosen, now, arrays[array])

    def _shown(self) -> list[tuple[str, str, slice]]:
        """Array, part and agents of all that is seen."""
        if not self.params.apart:
            return [(f"observations_{part}", part, slice(None)) for part in ("strip", "motion", "health")]
        left = [(f"observations_left_{part}", part, slice(2)) for part in ("strip", "motion", "health")]
        return [*left, *((f"observations_right_{part}", part, slice(2, 3)) for part in ("strip", "health"))]
