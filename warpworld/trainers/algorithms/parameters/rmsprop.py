"""RMSprop whose learning rate may change on the device, so that a CUDA graph can hold its steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn

from warpworld.trainers.algorithms.parameters.optimizers import UncompiledOptimizer

ALPHA = 0.99  # share of the mean square that a step keeps; torch's default


class RMSprop(UncompiledOptimizer):
    """RMSprop without momentum (Tieleman and Hinton 2012), the numbers of ``torch.optim.RMSprop``.

    Torch's own reads a learning rate that is a tensor back to the host, unless all lies on a GPU.

    Args:
        parameters: one vector.
        lr: learning rate, a number or a tensor.
        eps: what is added to the root of the mean square.
    """

    def __init__(self, parameters: nn.Parameter, lr: float, eps: float) -> None:
        super().__init__([parameters], {"lr": lr, "eps": eps})

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> None:  # type: ignore[override]
        """Take one step along the present gradient."""
        for group in self.param_groups:
            for vector in group["params"]:
                state = self.state[vector]
                if not state:
                    state["square_avg"] = torch.zeros_like(vector)
                square = state["square_avg"].mul_(ALPHA).addcmul_(vector.grad, vector.grad, value=1 - ALPHA)
                vector.sub_(vector.grad / square.sqrt().add_(group["eps"]) * group["lr"])


def rmsprop(vector: nn.Parameter, learning_rate: float, matrices: Sequence[Any], eps: float) -> RMSprop:
    """RMSprop of a vector, whatever matrices lie in it."""
    return RMSprop(vector, learning_rate, eps)
