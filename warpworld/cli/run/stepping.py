"""Steps a world with random actions, and counts what happens."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch

from warpworld.checking import Trace
from warpworld.trainers import PlayedMetrics, Rewards
from warpworld.world import RandomActions, World


@dataclass
class Episodes:
    """The episodes that ended, and what the others have earned so far.

    Attributes:
        terminated: how many ended by themselves.
        truncated: how many were cut by a limit.
        lengths: of each, in steps.
        returns: by group, the sum of rewards in each episode, mean over the group's agents.
        unfinished: likewise, of each env since its last reset.
        metrics: by name, the environment's own metrics in each episode, mean over the agents that took part.
    """

    terminated: int = 0
    truncated: int = 0
    lengths: list[int] = field(default_factory=list)
    returns: dict[str, list[float]] = field(default_factory=dict)
    unfinished: dict[str, list[float]] = field(default_factory=dict)
    metrics: dict[str, list[float]] = field(default_factory=dict)


def step_at_random(world: World, steps: int, seed: int, trace: Trace | None = None) -> Episodes:
    """Reset a world and step it.

    Args:
        world: any.
        steps: how many.
        seed: of the actions; with the same one and as many envs, those of ``warpworld.check``.
        trace: is written, if there is one.

    Raises:
        KernelError: a kernel faulted.
    """
    # actions and counters
    actions, everyone = RandomActions(world, seed), slice(0, world.num_envs)
    episodes = Episodes(returns={name: [] for name in world.groups})
    own = None if world.data.sealed else _OwnMetrics(world, episodes)
    lengths, rewards = np.zeros(world.num_envs, np.int64), np.zeros((world.num_envs, world.num_agents))
    # steps from a reset
    world.reset()
    if trace is not None:
        trace.reset()
    for _ in range(steps):
        actions.draw()
        actions.put(world, everyone)
        world.step()
        if trace is not None:
            trace.step()
        lengths += 1
        rewards += world.data.numpy("rewards")
        if own is not None:
            own.step()
        _count(world, episodes, lengths, rewards)
    # episodes that have not ended
    episodes.unfinished = {name: rewards[:, group.slice].mean(axis=1).tolist() for name, group in world.groups.items()}
    return episodes


class _OwnMetrics:
    """Adds to ``Episodes.metrics`` what the environment's own metrics came to.

    Args:
        world: an unsealed world.
        episodes: takes them.
    """

    def __init__(self, world: World, episodes: Episodes) -> None:
        self._world, self._episodes = world, episodes
        self._played = PlayedMetrics(world, 1)
        self._rewards = Rewards(world) if self._played.metrics else None
        episodes.metrics = {metric.name: [] for metric in self._played.metrics}

    def step(self) -> None:
        """Take in a step."""
        if self._rewards is None:
            return
        world = self._world
        self._played.take(torch.zeros(world.num_envs, dtype=torch.int64), self._rewards.mask())
        ended = (world["terminated"] | world["truncated"]).cpu().nonzero().flatten()
        for name, values in self._played.take_out(ended).items():
            self._episodes.metrics[name] += values


def _count(world: World, episodes: Episodes, lengths: np.ndarray, rewards: np.ndarray) -> None:
    """Count the envs that ended in this step; their sums begin anew."""
    terminated = world.data.numpy("terminated")
    ended = np.flatnonzero(terminated | world.data.numpy("truncated"))
    if not len(ended):
        return
    episodes.terminated += int(terminated.sum())
    episodes.truncated += len(ended) - int(terminated.sum())
    episodes.lengths += lengths[ended].tolist()
    for name, group in world.groups.items():
        episodes.returns[name] += rewards[ended, group.slice].mean(axis=1).tolist()
    lengths[ended] = 0
    rewards[ended] = 0.0
