"""Games of two sides whose every number is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from gymnasium.spaces import Discrete
from torch import Tensor

from tests.trainers.small_worlds import space
from warpworld.environment import Environment, Group, Script

ROCK, PAPER, SCISSORS = range(3)


class Duel(Environment):
    """In PyTorch alone: player and rival, one agent each, who see the same. What one wins in a step the other loses."""

    features, choices = 1, 3

    def groups(self) -> Sequence[Group]:
        return [Group(name, 1, space(self.features), Discrete(self.choices)) for name in ("player", "rival")]

    def rounds(self) -> int:
        """Steps of an episode."""
        raise NotImplementedError

    def ahead(self, arrays: Any) -> Tensor:
        """What the player wins in a step, (num_envs,)."""
        raise NotImplementedError

    def shown(self, arrays: Any) -> Tensor:
        """What both see after a step or a reset, (num_envs, features)."""
        raise NotImplementedError

    def phases(self) -> Sequence[Any]:
        return [self._step]

    def resets(self) -> Sequence[Any]:
        return [self._show]

    def truncations(self, num_steps: int) -> int:
        return num_steps

    def _step(self, arrays: Any, active: Tensor) -> None:
        ahead = self.ahead(arrays).float()
        arrays["rewards"] = torch.stack([ahead, -ahead], 1)
        arrays["terminated"] = arrays["timestep"] >= self.rounds()
        self._show(arrays, torch.ones_like(active))

    def _show(self, arrays: Any, active: Tensor) -> None:
        seen = self.shown(arrays)[:, None].expand(-1, 2, -1)
        arrays["observations"] = torch.where(active[:, None, None], seen, arrays["observations"])


class Throws(Duel):
    """The winner of a throw gets 1 from the loser. Both see (timestep, 1). ``rock`` always throws rock."""

    features = 2

    @dataclass(frozen=True)
    class Params:
        rounds: int = 3

    params: Params

    def rounds(self) -> int:
        return self.params.rounds

    def scripts(self) -> Mapping[str, Script]:
        return {"rock": always_rock}

    def ahead(self, arrays: Any) -> Tensor:
        player, rival = arrays["actions"][:, 0, 0], arrays["actions"][:, 1, 0]
        return torch.remainder(player - rival + 1, 3) - 1  # paper is one ahead of rock, scissors of paper

    def shown(self, arrays: Any) -> Tensor:
        timestep = arrays["timestep"].float()
        return torch.stack([timestep, torch.ones_like(timestep)], -1)


def always_rock(arrays: Any, group: Group) -> Tensor:
    logits = torch.zeros(arrays["timestep"].shape[0], group.size, 3, device=arrays["timestep"].device)
    logits[..., ROCK] = 50.0
    return logits


class Echo(Duel):
    """Both see the same one of three signs and choose one each, four times.

    Who alone repeats the sign gets 1 from the other: the better one wins.
    """

    features = 3

    def rounds(self) -> int:
        return 4

    def ahead(self, arrays: Any) -> Tensor:
        repeated = (arrays["actions"][..., 0] == arrays["observations"].argmax(-1)).float()
        return repeated[:, 0] - repeated[:, 1]

    def shown(self, arrays: Any) -> Tensor:
        clock = arrays["clock"].view(torch.int64)
        sign = torch.remainder(clock + torch.arange(len(clock), device=clock.device), 3)
        return (sign[:, None] == torch.arange(3, device=clock.device)).float()
