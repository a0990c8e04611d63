"""A copy of a policy whose weights are a running average."""

from __future__ import annotations

import copy
import reprlib
from typing import Any

import torch
from torch import Tensor

from warpworld.errors import RunError
from warpworld.policies import Policy
from warpworld.trainers.algorithms.parameters.flat_parameters import flattened


class AveragedPolicy:
    """Exponential moving average of a policy's weights (Polyak and Juditsky 1992, with weights that fall with age).

    average <- decay * average + (1 - decay) * weights, after each update. Buffers, such as those of a normaliser, are
    those of the latest update.

    Attributes:
        policy: the copy; it has no gradients, and nothing learns it.

    Args:
        policy: that learns.
        vector: its parameters as one vector, see ``FlatParameters``.
        decay: share of the average that an update keeps, in [0, 1).
    """

    def __init__(self, policy: Policy, vector: Tensor, decay: float) -> None:
        self._learner, self._vector, self._decay = policy, vector, decay
        self.policy = copy.deepcopy(policy).eval()
        self._average = flattened(self.policy).detach()
        self.policy.requires_grad_(False)
        for parameter in self.policy.parameters():
            parameter.grad = None

    def follow(self) -> None:
        """Take the weights after an update into the average."""
        with torch.no_grad():
            self._average.lerp_(self._vector.detach(), 1.0 - self._decay)
            self._take_buffers()

    def begin(self) -> None:
        """Begin anew, with the present weights."""
        with torch.no_grad():
            self._average.copy_(self._vector.detach())
            self._take_buffers()

    def _take_buffers(self) -> None:
        for own, given in zip(self.policy.buffers(), self._learner.buffers(), strict=True):
            own.copy_(given)

    def tensors(self) -> list[Tensor]:
        """Tensors that ``follow`` writes."""
        return [self._average, *self.policy.buffers()]

    # ---- saving ------------------------------------------------------------------------------------------------------
    def state_dict(self) -> dict[str, Tensor]:
        """Weights that learn, as a reference: a checkpoint holds the averaged ones as the policy's."""
        return {"weights": self._vector.detach()}

    def check_state(self, saved: Any) -> None:
        """Check what ``state_dict`` returned.

        Raises:
            RunError: it is no vector of this length.
        """
        weights = saved.get("weights")
        if not isinstance(weights, Tensor) or weights.shape != self._vector.shape:
            shown = tuple(weights.shape) if isinstance(weights, Tensor) else reprlib.repr(weights)
            raise RunError(
                f"the saved weights beside their average are {shown}, expected a vector {tuple(self._vector.shape)}"
            )

    def load_state_dict(self, saved: Any) -> None:
        """Continue from what ``state_dict`` returned, where the policy that learns holds the averaged weights."""
        self.begin()
        self._vector.detach().copy_(saved["weights"])
