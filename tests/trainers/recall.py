"""Small environments that only an agent with a memory plays well, or whose lives end in the middle of an episode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from gymnasium.spaces import Discrete
from torch import Tensor

from tests.trainers.small_worlds import space
from warpworld.environment import Array, Environment, Group


class Recall(Environment):
    """In PyTorch alone: a cue, one of two, is shown in an episode's first step only; to choose it in the last pays 1.

    Agents see the cue as (1, 0, 0) or (0, 1, 0), then nothing, and (0, 0, 1) in the step whose choice counts.
    """

    @dataclass(frozen=True)
    class Params:
        agents: int = 1
        episode_length: int = 4

    params: Params

    def groups(self) -> Sequence[Group]:
        return [Group("agent", self.params.agents, space(3), Discrete(2))]

    def arrays(self) -> Sequence[Array]:
        return [Array("cue", "int64", initial=0, on_reset="keep")]

    def phases(self) -> Sequence[Any]:
        return [self._step]

    def resets(self) -> Sequence[Any]:
        return [self._reset]

    def _step(self, arrays: Any, active: Tensor) -> None:
        timestep, length = arrays["timestep"][:, None], self.params.episode_length
        right = arrays["actions"][..., 0] == arrays["cue"]
        arrays["rewards"] = (right & (timestep == length)).float()
        arrays["terminated"] = timestep[:, 0] == length
        arrays["observations"].zero_()
        arrays["observations"][..., 2] = (timestep == length - 1).float()

    def _reset(self, arrays: Any, active: Tensor) -> None:
        cue = arrays.random.below(2)[..., 0]
        shown = (cue.unsqueeze(-1) == torch.arange(3, device=cue.device)).float()
        arrays["cue"] = torch.where(active[:, None], cue, arrays["cue"])
        arrays["observations"] = torch.where(active[:, None, None], shown, arrays["observations"])


class Lives(Environment):
    """In PyTorch alone: what agents see is random, and lives, episodes and rows end and count at random.

    Envs terminate with probability ``ending``, are truncated after ``episode_length`` steps; each agent's life ends
    with probability ``dying`` and is cut with ``cutting`` while its episode continues, and a row counts with
    probability ``counted``.
    """

    @dataclass(frozen=True)
    class Params:
        ending: float = 0.1
        dying: float = 0.0
        cutting: float = 0.0
        counted: float = 1.0
        episode_length: int = 7

    params: Params

    def groups(self) -> Sequence[Group]:
        return [Group("left", 2, space(3), Discrete(3)), Group("right", 1, space(3), Discrete(3))]

    def arrays(self) -> Sequence[Array]:
        found = []
        if self.params.dying > 0:
            found.append(Array("agent_terminated", "bool", initial=False, on_reset="keep"))
        if self.params.cutting > 0:
            found.append(Array("agent_truncated", "bool", initial=False, on_reset="keep"))
        if self.params.counted < 1:
            found.append(Array("agent_mask", "bool", initial=True, on_reset="keep"))
        return found

    def phases(self) -> Sequence[Any]:
        return [self._step]

    def resets(self) -> Sequence[Any]:
        return [self._reset]

    def _step(self, arrays: Any, active: Tensor) -> None:
        drawn = arrays.random.uniform(7 if self.params.cutting > 0 else 6)
        arrays["observations"] = 2 * drawn[..., :3] - 1
        arrays["rewards"] = drawn[..., 3] * (arrays["actions"][..., 0] == 1)
        if self.params.dying > 0:
            arrays["agent_terminated"] = drawn[..., 4] < self.params.dying
        if self.params.cutting > 0:
            arrays["agent_truncated"] = drawn[..., 6] < self.params.cutting
        if self.params.counted < 1:
            arrays["agent_mask"] = drawn[..., 5] < self.params.counted
        ends = arrays.random.env_uniform(1)[:, 0] < self.params.ending
        arrays["terminated"] = ends
        arrays["truncated"] = (arrays["timestep"] >= self.params.episode_length) & ~ends

    def _reset(self, arrays: Any, active: Tensor) -> None:
        seen = 2 * arrays.random.uniform(3) - 1
        arrays["observations"] = torch.where(active[:, None, None], seen, arrays["observations"])


class Departed(Lives):
    """Agent 0 leaves in timestep 2 of each episode; until its env's end its rows do not count, and it soon sees NaN."""

    def arrays(self) -> Sequence[Array]:
        gone = [Array("agent_terminated", "bool", initial=False, on_reset="keep")]
        return [*gone, Array("agent_mask", "bool", initial=True, on_reset="keep")]

    def _step(self, arrays: Any, active: Tensor) -> None:
        super()._step(arrays, active)
        first = torch.arange(3, device=active.device) == 0
        arrays["agent_terminated"] = (arrays["timestep"] == 2)[:, None] & first
        out = (arrays["timestep"] > 2)[:, None] & first
        arrays["agent_mask"] = ~out
        arrays["observations"] = arrays["observations"].masked_fill(out.unsqueeze(-1), float("nan"))
