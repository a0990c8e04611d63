"""Blocks that start and end episodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from warpworld.environment import Array
from warpworld.eyes.blocks.block import Block


class RandomSpawns(Block):
    """Start of each episode in a random plan; agents start at random places in its rooms, at rest, apart.

    All places with enough room for a body are equally likely. If a plan is so full that 64 draws find no free place,
    agents may overlap at the start, and move apart in their first step.
    """

    header = "blocks/random_spawns.cuh"
    starts = ("spawn_anywhere",)


class RandomLifespans(Block):
    """An episode's time limit is drawn between half of ``episode_length`` and all of it.

    So envs that start together do not end together. It sets ``truncated``. An env has one limit, and all its agents
    start again together; in megastep each agent has its own.
    """

    header = "blocks/random_lifespans.cuh"
    steps = ("end_lifespan",)
    starts = ("draw_lifespan",)

    def arrays(self, params: Any) -> Sequence[Array]:
        """Array of the time limit."""
        return [Array("lifespan", "int32", per="env", doc="steps until the time limit of this episode")]

    def truncations(self, params: Any, num_steps: int) -> int | None:
        """Most time limits of one env in ``num_steps`` steps, each of at least half of ``episode_length``."""
        return num_steps // (params.episode_length - params.episode_length // 2) + 1
