"""Rounds of episodes: every env of a world plays as many, whichever actors play."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from warpworld.config import RunConfig
from warpworld.errors import RunError
from warpworld.trainers.building import build_world
from warpworld.trainers.readings import PlayedMetrics, Rewards
from warpworld.trainers.splitting import EpisodeValues
from warpworld.world import World

MAX_ENVS = 1024
PATIENCE = 100_000  # steps in which no episode ends, before it is reported that none will


class Acting(Protocol):
    """A player of a group in a world."""

    def act(self) -> None:
        """Write the group's actions for what it sees now into the store."""


def whole_rounds(episodes: int) -> int:
    """Number of episodes played if ``episodes`` are asked for: every env plays as many."""
    num_envs = min(episodes, MAX_ENVS)
    return math.ceil(episodes / num_envs) * num_envs


def played_world(config: RunConfig, episodes: int, seed: int) -> tuple[World, int]:
    """An unsealed world to play episodes in, and how many each of its envs plays."""
    num_envs = min(episodes, MAX_ENVS)
    return build_world(config, num_envs, seed), whole_rounds(episodes) // num_envs


def play_rounds(
    world: World,
    actors: Sequence[Acting],
    rounds: int,
    name: str,
    rewards: Rewards,
    metrics: PlayedMetrics | None = None,
    steps: int | None = None,
    seed: int | None = None,
    values: EpisodeValues | None = None,
) -> tuple[Tensor, Tensor, int]:
    """Play all rounds, or for some steps, from the start of the world's seed or of another one.

    Returns:
        Each agent's return in each episode, (num_envs, rounds, num_agents) float64; lengths (num_envs, rounds), 0 of
        episodes that were not begun; and how many of the episodes ended.
    """
    world.reset(seed=seed)
    # what comes after an env's last round falls into a spare column
    totals = torch.zeros(world.num_envs, rounds + 1, world.num_agents, dtype=torch.float64)
    lengths = torch.zeros(world.num_envs, rounds + 1, dtype=torch.int64)
    finished = torch.zeros(world.num_envs, dtype=torch.int64)
    envs = torch.arange(world.num_envs)
    steps_without_end = taken = 0
    while int(finished.min()) < rounds and taken != steps:
        if values is not None:
            values.take(finished.clamp(max=rounds))
        for actor in actors:
            actor.act()
        world.step()
        taken += 1
        episode = finished.clamp(max=rounds)
        totals[envs, episode] += rewards.of_step().cpu()
        lengths[envs, episode] += 1
        if metrics is not None:
            metrics.take(episode, rewards.mask())
        ended = (world["terminated"] | world["truncated"]).cpu()
        finished += ended
        steps_without_end = 0 if bool(ended.any()) else steps_without_end + 1
        if steps_without_end == PATIENCE and steps is None:
            raise RunError(
                f"no episode of {name} ended in {PATIENCE:,} steps; give it a time limit, or stop after some steps: "
                "warpworld eval RUN --steps 1000"
            )
    return totals[:, :rounds], lengths[:, :rounds], int(finished.clamp(max=rounds).sum())
