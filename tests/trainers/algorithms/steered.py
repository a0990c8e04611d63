"""A small world for policies that act in a Box: what agents see comes in parts, and they belong to two groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Box, Dict
from torch import Tensor

from warpworld.environment import Array, Environment, Group


class Steered(Environment):
    """In PyTorch alone: every agent is at a place, moves by its action, and is paid for being near 0.

    It sees its place and a picture of 4 x 4 bytes that is as bright as it is near; with ``pictures`` the picture alone.
    An episode ends by time; with ``rests`` an agent sits every third step out, and sees 1e9 there.
    """

    @dataclass(frozen=True)
    class Params:
        episode_length: int = 7
        rests: bool = False
        pictures: bool = False

    params: Params

    def groups(self) -> Sequence[Group]:
        eye = Box(0, 255, (1, 4, 4), np.uint8)
        seen = eye if self.params.pictures else Dict({"eye": eye, "place": Box(-np.inf, np.inf, (2,))})
        acts = Box(np.array([-1.0, 0.0], np.float32), np.array([3.0, 2.0], np.float32))
        return [Group("car", 2, seen, acts), Group("ship", 1, seen, acts)]

    def arrays(self) -> Sequence[Array]:
        mask = Array("agent_mask", "bool", initial=True, on_reset="keep")
        return [Array("place", "float32", (2,)), *([mask] if self.params.rests else [])]

    def phases(self) -> Sequence[Any]:
        return [self._step]

    def resets(self) -> Sequence[Any]:
        return [self._reset]

    def scripts(self) -> Mapping[str, Any]:
        return {"home": self._home}

    @staticmethod
    def _home(arrays: Any, group: Group) -> Tensor:
        """Straight to 0: an action of 1 in the Box stands still, -1 to 1 are its ends."""
        return torch.stack((-arrays["place"][:, group.slice, 0], -arrays["place"][:, group.slice, 1]), -1)

    def _step(self, arrays: Any, active: Tensor) -> None:
        arrays["place"] = (arrays["place"] + 0.1 * (arrays["actions"] - 1.0)).clamp(-2, 2)
        arrays["rewards"] = -(arrays["place"] ** 2).sum(-1)
        arrays["truncated"] = arrays["timestep"] >= self.params.episode_length
        if self.params.rests:
            arrays["agent_mask"] = (arrays["timestep"] % 3 != 0).unsqueeze(1).expand_as(arrays["agent_mask"])
        self._see(arrays)

    def _reset(self, arrays: Any, active: Tensor) -> None:
        agents = arrays["place"].shape[1]
        first = (
            torch.arange(agents, device=active.device).view(1, -1, 1) / agents
            + arrays["clock"].view(torch.int64).view(-1, 1, 1) % 3
            - 1.0
        )
        arrays["place"] = torch.where(active.view(-1, 1, 1), first.float().expand_as(arrays["place"]), arrays["place"])
        self._see(arrays)

    def _see(self, arrays: Any) -> None:
        place = arrays["place"]
        near = (255 * (-(place**2).sum(-1)).exp()).to(torch.uint8)
        shown = near.view(*near.shape, 1, 1, 1).expand(*near.shape, 1, 4, 4)
        if self.params.pictures:
            arrays["observations"] = shown
            return
        seen = place
        if self.params.rests:  # in the next step
            seen = torch.where((arrays["timestep"] % 3 != 2).view(-1, 1, 1), place, 1e9)
        arrays["observations_eye"] = shown
        arrays["observations_place"] = seen
