"""Models that no file can hold, as users may write them."""

from __future__ import annotations

import torch
from gymnasium.spaces import Space
from torch import Tensor, nn

from tests.policies.my_models import Shared


class Stubborn(Shared):
    """Fails where torch follows it."""

    def actor(self, observations: Tensor) -> Tensor:
        if torch.compiler.is_compiling():
            raise RuntimeError("no graphs here,\nnever")
        return super().actor(observations)


class Branching(Shared):
    """Computes something else where torch follows it."""

    def actor(self, observations: Tensor) -> Tensor:
        return torch.full_like(super().actor(observations), 2.0 if torch.compiler.is_compiling() else 1.5)


class Choosy(Shared):
    """Its graph refuses what it reads."""

    def actor(self, observations: Tensor) -> Tensor:
        if torch.compiler.is_compiling():
            torch._assert_async((observations > 1e9).any(), "too small")
        return super().actor(observations)


class StubbornEncoder(Shared):
    """Fails there behind a recurrent cell."""

    @staticmethod
    def encoder(observation: Space, *, width: int, slope: float) -> nn.Module:
        return Followed()


class Followed(nn.Module):
    def forward(self, rows: Tensor) -> Tensor:
        if torch.compiler.is_compiling():
            raise RuntimeError
        return rows


class Unknown(Shared):
    """Uses an operation that ONNX does not have."""

    def actor(self, observations: Tensor) -> Tensor:
        return torch.fmax(super().actor(observations), observations[..., :1])
