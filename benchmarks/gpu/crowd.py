"""A world of more agents than a block has threads, which take turns, for the comparison of devices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gymnasium.spaces import Box, Discrete

from warpworld import Array, Environment, Group
from warpworld.environment import Phase


class Crowd(Environment):
    """Agents walk between places, and see how full their own is."""

    source = "crowd.cu"

    @dataclass(frozen=True)
    class Params:
        """How many they are, and where."""

        agents: int = 2000
        places: int = 50
        episode_length: int = 20

    def groups(self) -> Sequence[Group]:
        """All of one kind."""
        return [Group("walker", self.params.agents, Box(0.0, 1.0, (1,)), Discrete(3))]

    def arrays(self) -> Sequence[Array]:
        """Where they are, and how many are in each place."""
        return [Array("place", "int32"), Array("counts", "int32", (self.params.places,), per="env", initial=0)]

    def phases(self) -> Sequence[Phase]:
        """The counts are complete before anybody looks."""
        return ["clear", "walk", "look"]

    def resets(self) -> Sequence[Phase]:
        """All places alike."""
        return ["start"]
