"""Games of two sides whose every number is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from gymnasium.spaces import Discrete
from small_worlds import space
from torch import Tensor

from warpworld.environment import Environment, Group, Script

ROCK, PAPER, SCISSORS = range(3)


class Throws(Environment):
    """In PyTorch alone: groups player and rival of one agent each, ``rounds`` throws an episode.

    The winner of a throw gets 1 from the loser. Both see (timestep, 1). ``rock`` always throws rock.
    """

    @dataclass(frozen=True)
    class Params:
        rounds: int = 3

    params: Params

    def groups(self) -> Sequence[Group]:
        return [Group("player", 1, space(2), Discrete(3)), Group("rival", 1, space(2), Discrete(3))]

    def phases(self) -> Sequence[Any]:
        return [self._step]

    def resets(self) -> Sequence[Any]:
        return [self._reset]

    def truncations(self, num_steps: int) -> int:
        return num_steps

    def scripts(self) -> Mapping[str, Script]:
        return {"rock": always_rock}

    def _step(self, arrays: Any, active: Tensor) -> None:
        player, rival = arrays["actions"][:, 0, 0], arrays["actions"][:, 1, 0]
        ahead = torch.remainder(player - rival + 1, 3) - 1  # paper is one ahead of rock, scissors of paper
        arrays["rewards"] = torch.stack([ahead, -ahead], 1).float()
        arrays["terminated"] = arrays["timestep"] >= self.params.rounds
        self._show(arrays, torch.ones_like(active))

    def _reset(self, arrays: Any, active: Tensor) -> None:
        self._show(arrays, active)

    def _show(self, arrays: Any, active: Tensor) -> None:
        timestep = arrays["timestep"].float()
        seen = torch.stack([timestep, torch.ones_like(timestep)], -1)[:, None].expand(-1, 2, -1)
        arrays["observations"] = torch.where(active[:, None, None], seen, arrays["observations"])


def always_rock(arrays: Any, group: Group) -> Tensor:
    logits = torch.zeros(arrays["timestep"].shape[0], group.size, 3, device=arrays["timestep"].device)
    logits[..., ROCK] = 50.0
    return logits


class Echo(Environment):
    """In PyTorch alone: player and rival, who see the same one of three signs and choose one each, four times.

    Who alone repeats the sign gets 1 from the other: the better one wins.
    """

    def groups(self) -> Sequence[Group]:
        return [Group("player", 1, space(3), Discrete(3)), Group("rival", 1, space(3), Discrete(3))]

    def phases(self) -> Sequence[Any]:
        return [self._step]

    def resets(self) -> Sequence[Any]:
        return [self._reset]

    def truncations(self, num_steps: int) -> int:
        return num_steps

    def _step(self, arrays: Any, active: Tensor) -> None:
        repeated = (arrays["actions"][..., 0] == arrays["observations"].argmax(-1)).float()
        ahead = repeated[:, 0] - repeated[:, 1]
        arrays["rewards"] = torch.stack([ahead, -ahead], 1)
        arrays["terminated"] = arrays["timestep"] >= 4
        self._show(arrays, torch.ones_like(active))

    def _reset(self, arrays: Any, active: Tensor) -> None:
        self._show(arrays, active)

    def _show(self, arrays: Any, active: Tensor) -> None:
        clock = arrays["clock"].view(torch.int64)
        sign = torch.remainder(clock + torch.arange(len(clock), device=clock.device), 3)
        seen = (sign[:, None] == torch.arange(3, device=clock.device)).float()[:, None].expand(-1, 2, -1)
        arrays["observations"] = torch.where(active[:, None, None], seen, arrays["observations"])
