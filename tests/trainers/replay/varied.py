"""A small environment in which everything happens that a replay must know of, at random."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete, Space
from torch import Tensor

from warpworld.environment import Array, Environment, Group

SEEN: dict[str, Space] = {
    "floats": Box(-np.inf, np.inf, (3,)),
    "bytes": Box(0, 255, (2, 4), np.uint8),
    "many bytes": Box(0, 255, (4, 8), np.uint8),
    "pixels": Box(-np.inf, np.inf, (2, 4)),
    "mixed": Dict(eye=Box(0, 255, (5,), np.uint8), place=Box(-np.inf, np.inf, (2,))),
}
ACTIONS: dict[str, Space] = {
    "one": Discrete(3),
    "several": MultiDiscrete([3, 2]),
    "box": Box(-1.0, 2.0, (2,)),
}


class Varied(Environment):
    """In PyTorch alone: groups left (2 agents), middle (1) and right (1); all that agents see and get is random.

    Envs terminate, are truncated, or both; lives end, are cut and begin in the midst of an episode; rows do not count,
    and actions are forbidden, each with a probability of its own. With ``apart`` the middle sees something else, so
    that every group has arrays of its own. ``mask_then`` is the action mask before resets.
    """

    @dataclass(frozen=True)
    class Params:
        seen: str = "floats"
        actions: str = "one"
        apart: bool = False
        terminating: float = 0.1
        truncating: float = 0.1
        dying: float = 0.0
        resting: float = 0.0
        cutting: float = 0.0
        forbidding: float = 0.0
        most_truncations: int = 0  # what truncations() says; 0: the truth
        greedy: bool = False

    params: Params

    def groups(self) -> Sequence[Group]:
        seen, done = SEEN[self.params.seen], ACTIONS[self.params.actions]
        other = Box(-np.inf, np.inf, (4,)) if self.params.apart else seen
        greedy = "greedy_actions" if self.params.greedy else None
        return [
            Group("left", 2, seen, done, greedy_actions=greedy),
            Group("middle", 1, other, done),
            Group("right", 1, seen, done, greedy_actions=greedy),
        ]

    def arrays(self) -> Sequence[Array]:
        found = []
        if self.params.greedy:
            size = {"one": 1, "several": 2}[self.params.actions]
            found.append(Array("greedy_actions", "int32", (size,), initial=-1, on_reset="keep"))
        if self.params.dying > 0:
            found.append(Array("agent_terminated", "bool", initial=False, on_reset="keep"))
        if self.params.cutting > 0:
            found.append(Array("agent_truncated", "bool", initial=False, on_reset="keep"))
        if self.params.resting > 0:
            found.append(Array("agent_mask", "bool", initial=True, on_reset="keep"))
        if self.params.forbidding > 0:
            found.append(Array("action_mask", "bool", (5,), initial=True, on_reset="keep"))
            found.append(Array("mask_then", "bool", (5,), initial=True, on_reset="keep"))
        return found

    def phases(self) -> Sequence[Any]:
        return [self._step]

    def resets(self) -> Sequence[Any]:
        return [self._reset]

    def truncations(self, num_steps: int) -> int:
        return self.params.most_truncations or num_steps

    def _step(self, arrays: Any, active: Tensor) -> None:
        p, drawn, ends = self.params, arrays.random.uniform(4), arrays.random.env_uniform(2)
        arrays["rewards"] = 4 * drawn[..., 0] - 2
        arrays["terminated"] = ends[:, 0] < p.terminating
        arrays["truncated"] = ends[:, 1] < p.truncating
        if p.dying > 0:
            arrays["agent_terminated"] = drawn[..., 1] < p.dying
        if p.cutting > 0:
            arrays["agent_truncated"] = drawn[..., 3] < p.cutting
        if p.resting > 0:
            arrays["agent_mask"] = drawn[..., 2] >= p.resting
        if p.forbidding > 0:
            arrays["action_mask"] = self._mask(arrays)
            arrays["mask_then"] = arrays["action_mask"]
        self._see(arrays, torch.ones_like(active))

    def _reset(self, arrays: Any, active: Tensor) -> None:
        if self.params.forbidding > 0:
            arrays["action_mask"] = torch.where(active[:, None, None], self._mask(arrays), arrays["action_mask"])
        self._see(arrays, active)

    def _mask(self, arrays: Any) -> Tensor:
        return arrays.random.uniform(5) >= self.params.forbidding

    def _see(self, arrays: Any, active: Tensor) -> None:
        """New random numbers in every array of observations, of the active envs."""
        for name in self.seen_arrays():
            now = arrays[name]
            words = arrays.random.bits(now[0, 0].numel())[:, : now.shape[1]].view(now.shape)
            fresh = words % 256 if now.dtype == torch.uint8 else words.double() / 2**31 - 1
            now.copy_(torch.where(active.view(-1, *[1] * (now.dim() - 1)), fresh.to(now.dtype), now))

    def seen_arrays(self) -> list[str]:
        parts = [f"_{key}" for key in ("eye", "place")] if self.params.seen == "mixed" else [""]
        if not self.params.apart:
            return [f"observations{part}" for part in parts]
        own = [f"observations_{group}{part}" for group in ("left", "right") for part in parts]
        return [*own, "observations_middle"]
