"""Readings of single steps of a world on the host: rewards, and the environment's own metrics."""

from __future__ import annotations

import torch
from torch import Tensor

from warpworld.trainers.collecting import OwnMetric, own_metrics
from warpworld.world import World


class Rewards:
    """The rewards of a step that count.

    Args:
        world: an unsealed world. Its mask is recorded, as in a rollout: a reset may write it for the next episode.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._mask = world.recorded("agent_mask") if "agent_mask" in world.data else None

    def of_step(self) -> Tensor:
        """(num_envs, num_agents) float32, 0 where the agent's row does not count."""
        rewards = self._world["rewards"]
        return rewards if self._mask is None else rewards.masked_fill(~self._world[self._mask], 0.0)

    def mask(self) -> Tensor:
        """(num_envs, num_agents) bool on the host: whose rows count."""
        world = self._world
        if self._mask is None:
            return torch.ones(world.num_envs, world.num_agents, dtype=torch.bool)
        return world[self._mask].cpu()


class PlayedMetrics:
    """The environment's own metrics over whole episodes.

    Args:
        world: an unsealed world.
        rounds: episodes of each env that count.
    """

    def __init__(self, world: World, rounds: int) -> None:
        self._world, self._rounds = world, rounds
        self.metrics = own_metrics(world.environment, world.groups)
        self._of_steps: dict[str, str] = {}  # array -> the world's copy of it as a step left it
        self._values: dict[str, Tensor] = {}  # array -> (num_envs, rounds + 1, entries) float64, a sum or the last
        self._rows: dict[str, Tensor] = {}  # how many steps count
        self._arrays = list({metric.array.name: metric.array for metric in self.metrics}.values())
        for array in self._arrays:
            self._of_steps[array.name] = world.recorded(array.name)
            entries = world.num_agents if array.per == "agent" else 1
            self._values[array.name] = torch.zeros(world.num_envs, rounds + 1, entries, dtype=torch.float64)
            self._rows[array.name] = torch.zeros(world.num_envs, rounds + 1, entries, dtype=torch.int64)

    def take(self, episode: Tensor, mask: Tensor) -> None:
        """Take in a step.

        Args:
            episode: (num_envs,) int64, which episode of its env the step is of.
            mask: (num_envs, num_agents) bool, the agents whose rows count.
        """
        envs = torch.arange(self._world.num_envs)
        for array in self._arrays:
            name = array.name
            step = self._world[self._of_steps[name]].cpu().double().view(self._world.num_envs, -1)
            counts = mask if array.per == "agent" else torch.ones_like(step, dtype=torch.bool)
            before = self._values[name][envs, episode]
            taken = step if array.metric == "last" else before + step
            self._values[name][envs, episode] = torch.where(counts, taken, before)
            self._rows[name][envs, episode] += counts

    def means(self, episodes: Tensor | None = None) -> dict[str, float]:
        """Mean of each metric over the episodes and the agents that took part; NaN if none did.

        Args:
            episodes: (num_envs, rounds) bool, which of them; None for all.
        """
        return {metric.name: self._mean(metric, episodes) for metric in self.metrics}

    def take_out(self, envs: Tensor) -> dict[str, list[float]]:
        """Return and clear each metric's value in some envs' first episode, mean over agents that took part.

        Args:
            envs: (n,) int64, whose first episode has ended; the next one then counts as the first.

        Returns:
            By metric up to n values: envs in which no agent took part have none.
        """
        found = {metric.name: self._of_envs(metric, envs) for metric in self.metrics}
        for name in self._values:
            self._values[name][envs, 0] = 0.0
            self._rows[name][envs, 0] = 0
        return found

    def _of_envs(self, metric: OwnMetric, envs: Tensor) -> list[float]:
        agents = slice(None) if metric.group is None else metric.group.slice
        values, rows = (of_all[metric.array.name][envs, 0, agents] for of_all in (self._values, self._rows))
        of_episodes = values / rows if metric.array.metric == "mean" else values
        took_part = (rows > 0).any(1)
        means = of_episodes.where(rows > 0, torch.nan).nanmean(1)
        return [float(mean) for mean in means[took_part]]

    def _mean(self, metric: OwnMetric, episodes: Tensor | None) -> float:
        agents = slice(None) if metric.group is None else metric.group.slice
        values = self._values[metric.array.name][:, : self._rounds, agents]
        rows = self._rows[metric.array.name][:, : self._rounds, agents]
        of_episodes = values / rows if metric.array.metric == "mean" else values
        counts = rows > 0 if episodes is None else (rows > 0) & episodes[:, :, None]
        return float(of_episodes[counts].mean())
