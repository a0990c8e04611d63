"""Returns and lengths of the episodes that end in a rollout."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from warpworld.environment import Array
from warpworld.world import World


@dataclass(frozen=True)
class Finished:
    """Episodes that ended in a rollout.

    Attributes:
        count: how many.
        returns: (num_agents,) float64, each agent's undiscounted return, mean over the episodes; NaN if there are none.
        length: mean length in steps; NaN if there are none.
    """

    count: int
    returns: Tensor
    length: float


class EpisodeStatistics:
    """Adds up rewards over rollouts. What an unfinished episode has so far lies in the store, so that it is saved with it.

    Args:
        world: an unsealed world.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        world.add(Array("episode_return", "float32", initial=0.0, doc="rewards of the running episode"))
        world.add(Array("episode_steps", "int32", per="env", initial=0, doc="steps of the running episode"))

    def add(self, rewards: Tensor, ended: Tensor, mask: Tensor | None) -> Finished:
        """Take in one rollout.

        Args:
            rewards: (T, num_envs, num_agents) float32.
            ended: (T, num_envs) bool, the step was the episode's last.
            mask: (T, num_envs, num_agents) bool, False for rows that do not count; None where all do.
        """
        running, steps = self._world["episode_return"], self._world["episode_steps"]
        returns = torch.zeros(rewards.shape[-1], dtype=torch.float64, device=rewards.device)
        length = torch.zeros((), dtype=torch.float64, device=rewards.device)
        for t in range(len(rewards)):
            running.add_(rewards[t] if mask is None else rewards[t].masked_fill(~mask[t], 0.0))
            steps.add_(1)
            returns += running.masked_fill(~ended[t, :, None], 0.0).sum(0, dtype=torch.float64)
            length += steps.masked_fill(~ended[t], 0).sum()
            running.masked_fill_(ended[t, :, None], 0.0)
            steps.masked_fill_(ended[t], 0)
        count = int(ended.sum())
        divisor = count if count else float("nan")
        return Finished(count, returns / divisor, float(length) / divisor)
