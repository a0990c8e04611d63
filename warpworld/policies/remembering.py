"""Base class of policies with memory: their outputs depend on a state, which they carry on."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import torch
from torch import Tensor

from warpworld.errors import StoreError
from warpworld.policies.inputs import Observed
from warpworld.policies.policy import Policy


class RememberingPolicy(Policy):
    """A policy with a state for each agent: numbers that are zero where an episode begins.

    Attributes:
        state_size: numbers in one agent's state.
    """

    @abstractmethod
    def step(self, observations: Tensor, state: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Advance each agent by one step.

        Args:
            observations: rows, raw.
            state: (..., state_size) float32, before the step.

        Returns:
            Outputs (..., num_outputs), values (...), 0 where there is no critic, and the state after the step,
            (..., state_size).
        """

    def outputs_and_state(self, observed: Observed, state: Any) -> tuple[Tensor, Tensor]:
        """Outputs that the action distribution is made from, and the state after them."""
        expected = (*observed.lead, self.state_size)
        before = torch.zeros(expected) if state is None else torch.as_tensor(state)
        if before.dtype != torch.float32 or tuple(before.shape) != expected:
            given = f"{str(before.dtype).removeprefix('torch.')} of shape {tuple(before.shape)}"
            raise StoreError(f"state: {given}, expected float32 of shape {expected}: what the last act() returned")
        rows = before.reshape(observed.rows.shape[0], self.state_size).to(self._device)
        outputs, _, after = self.step(observed.rows, rows)
        return outputs, after
