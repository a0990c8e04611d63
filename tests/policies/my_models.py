"""Models as a user writes them, right ones and wrong ones."""

from __future__ import annotations

import builtins
import math
from pathlib import Path

import torch
from gymnasium.spaces import Box
from torch import Tensor, nn


class Shared(nn.Module):
    """One hidden layer for both."""

    def __init__(self, observation: Box, num_outputs: int, *, width: int = 8, slope: float = 0.1) -> None:
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(observation.shape[0], width), nn.LeakyReLU(slope))
        self.action, self.worth = nn.Linear(width, num_outputs), nn.Linear(width, 1)

    def actor(self, observations: Tensor) -> Tensor:
        return self.action(self.trunk(observations))

    def critic(self, observations: Tensor) -> Tensor:
        return self.worth(self.trunk(observations)).squeeze(-1)


class Indifferent(Shared):
    """Its values depend on no parameter."""

    def critic(self, observations: Tensor) -> Tensor:
        return torch.zeros(observations.shape[:-1], device=observations.device)


class NoCritic(nn.Module):
    def actor(self, observations: Tensor) -> Tensor:
        return observations


class Column(Shared):
    """Its values have a dimension too many."""

    def critic(self, observations: Tensor) -> Tensor:
        return self.worth(self.trunk(observations))


class Narrow(Shared):
    """Made for observations of 2 numbers."""

    def actor(self, observations: Tensor) -> Tensor:
        return observations @ torch.ones(2, 5)


class Demanding(Shared):
    """Has a setting without a default."""

    def __init__(self, observation: Box, num_outputs: int, *, depth: int) -> None:
        super().__init__(observation, num_outputs)


class Typed(Shared):
    """One of its settings has the name of the key that names the model."""

    def __init__(self, observation: Box, num_outputs: int, *, type: str = "small") -> None:
        super().__init__(observation, num_outputs)


class Normalised(Shared):
    def __init__(self, observation: Box, num_outputs: int, *, width: int = 8, normalise_observations: bool) -> None:
        super().__init__(observation, num_outputs)


class Settled(Shared):
    def __init__(self, observation: Box, num_outputs: int, *, settings: int = 3) -> None:
        super().__init__(observation, num_outputs)


class Activated(Shared):
    """A default that no config can hold."""

    def __init__(self, observation: Box, num_outputs: int, *, activation: type = nn.Tanh) -> None:
        super().__init__(observation, num_outputs)


class Stored(Shared):
    """A value that no config can hold."""

    def __init__(self, observation: Box, num_outputs: int, *, file: Path | None = None) -> None:
        super().__init__(observation, num_outputs)


class Endless(Shared):
    def __init__(self, observation: Box, num_outputs: int, *, limits: tuple[float, ...] = (1.0, math.nan)) -> None:
        super().__init__(observation, num_outputs)


class Misannotated(Shared):
    def __init__(self, observation: Box, num_outputs: int, *, width: 1 / 0 = 3) -> None:
        super().__init__(observation, num_outputs)


class Positional(nn.Module):
    """Takes no output size."""

    def __init__(self, observation: Box) -> None:
        super().__init__()

    actor = critic = Shared.actor


class Raising(Shared):
    """Its constructor raises what it is told to."""

    def __init__(self, observation: Box, num_outputs: int, *, error: str) -> None:
        raise getattr(builtins, error)("first line\nsecond line")


class Huge(Shared):
    def __init__(self, observation: Box, num_outputs: int) -> None:
        super().__init__(observation, num_outputs, width=10**14)


class Lookup(Shared):
    def critic(self, observations: Tensor) -> Tensor:
        return {}["value"]


class Precise(Shared):
    """One of its parameters is float64."""

    def __init__(self, observation: Box, num_outputs: int) -> None:
        super().__init__(observation, num_outputs)
        self.scale = nn.Parameter(torch.ones((), dtype=torch.float64))


class Counting(Shared):
    """One of its parameters is a whole number."""

    def __init__(self, observation: Box, num_outputs: int) -> None:
        super().__init__(observation, num_outputs)
        self.steps = nn.Parameter(torch.zeros((), dtype=torch.int64), requires_grad=False)


class Doubling(Shared):
    """Its values are float64."""

    def critic(self, observations: Tensor) -> Tensor:
        return super().critic(observations).double()


class Constant(nn.Module):
    """It has no parameters."""

    def __init__(self, observation: Box, num_outputs: int) -> None:
        super().__init__()
        self.num_outputs = num_outputs

    def actor(self, observations: Tensor) -> Tensor:
        return observations[..., :1].expand(*observations.shape[:-1], self.num_outputs)

    def critic(self, observations: Tensor) -> Tensor:
        return observations[..., 0]


class Frozen(Shared):
    """Nothing of it is learnt."""

    def __init__(self, observation: Box, num_outputs: int) -> None:
        super().__init__(observation, num_outputs)
        self.requires_grad_(False)


class HalfFrozen(Shared):
    """Its trunk stays as it is; it has buffers of several dtypes."""

    def __init__(self, observation: Box, num_outputs: int) -> None:
        super().__init__(observation, num_outputs)
        self.trunk.requires_grad_(False)
        self.register_buffer("exact", torch.ones(3, dtype=torch.float64))
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))


class Lazy(Shared):
    """Its first layer learns its size from what it sees first."""

    def __init__(self, observation: Box, num_outputs: int) -> None:
        super().__init__(observation, num_outputs)
        self.trunk = nn.LazyLinear(8)


class Dropping(Shared):
    """Has layers that do something else while they are in training mode."""

    def __init__(self, observation: Box, num_outputs: int) -> None:
        super().__init__(observation, num_outputs)
        self.trunk.append(nn.Dropout(0.5))


not_a_model = 5


class Encoding(Shared):
    """One that can be made recurrent."""

    @staticmethod
    def encoder(observation: Box, *, width: int, slope: float = 0.1) -> torch.nn.Module:
        return torch.nn.Sequential(torch.nn.Linear(observation.shape[0], width), torch.nn.LeakyReLU(slope))


class LoosePieces(Encoding):
    """Its encoder gives a dimension too many."""

    @staticmethod
    def encoder(observation: Box, *, width: int, slope: float = 0.1) -> torch.nn.Module:
        return torch.nn.Sequential(torch.nn.Linear(observation.shape[0], 8), torch.nn.Unflatten(-1, (2, 4)))
