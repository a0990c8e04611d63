"""Inputs of a critic that sees a whole team."""

from __future__ import annotations

import torch
from torch import Tensor


class CentralInputs:
    """Inputs of an agent's critic: the team's state or observations, and if wanted its own, and who it is.

    What an agent that takes no part sees, and its part of a state, are replaced by zeros (Yu et al. 2022, section 5.5,
    "death masking").

    Attributes:
        numbers: that an agent's critic reads.

    Args:
        agents: in the team, n.
        features: that an agent's policy reads.
        state: numbers in the declared state: an array per env, or all agents' parts of an array per agent; None takes
            the features of all agents.
        own: whether the agent's own features are added.
        ids: whether the agent's number is added, one-hot.
    """

    def __init__(self, agents: int, features: int, state: int | None, own: bool, ids: bool) -> None:
        self._agents, self._state, self._own, self._ids = agents, state, own, ids
        team = agents * features if state is None else state
        self.numbers = team + own * features + ids * agents

    def __call__(self, features: Tensor, declared: Tensor | None, takes_part: Tensor | None) -> Tensor:
        """The inputs of each agent.

        Args:
            features: (..., n, features) float32.
            declared: (..., n, numbers) float32, for each agent its part of the declared array, which of an array per
                env is the whole; None where there is none.
            takes_part: (..., n) bool; None where all do.

        Returns:
            (..., n, numbers) float32.
        """
        seen = features if takes_part is None else torch.where(takes_part.unsqueeze(-1), features, 0.0)
        lead = seen.shape[:-1]
        parts = [self._team(seen, declared, takes_part).unsqueeze(-2).expand(*lead, -1)]
        if self._own:
            parts.append(seen)
        if self._ids:
            parts.append(torch.eye(self._agents, device=seen.device).expand(*lead, -1))
        return torch.cat(parts, -1)

    def _team(self, features: Tensor, declared: Tensor | None, takes_part: Tensor | None) -> Tensor:
        """Inputs that all agents' critics have in common: (..., numbers)."""
        if self._state is None:
            return features.flatten(-2)
        assert declared is not None
        if declared.shape[-1] == self._state:  # of an env
            return declared[..., 0, :]
        return (declared if takes_part is None else torch.where(takes_part.unsqueeze(-1), declared, 0.0)).flatten(-2)
