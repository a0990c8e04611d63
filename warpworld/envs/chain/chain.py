"""Walk to the far end of a row of states: rewards that seldom come by chance, and values that are known exactly.

An agent that always goes right earns 1. One that acts at random has to go right ``length - 1`` times in a row before
the time limit. A learner that ignores the future, or stops trying too early, stays at 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from gymnasium.spaces import Box, Discrete

from warpworld.drawing import Discs, Drawing, Segments
from warpworld.environment import Array, Environment, Group, Range, register


@register("chain")
class Chain(Environment):
    """Walk right along a row of states, of which only the last pays 1; a step left leads back to the first."""

    source = "chain.cu"

    @dataclass(frozen=True)
    class Params:
        """Parameters of chain."""

        length: Annotated[int, Range(2, 1024)] = 8  # states
        episode_length: Annotated[int, Range(1, 2**31 - 1)] = 16  # steps until the time limit

    def groups(self) -> Sequence[Group]:
        """One agent, which sees its place as a one among zeros."""
        names: Any = {"action_names": ("back to the first", "right"), "action_keys": ("left", "right")}
        return [Group("agent", 1, observation=Box(0.0, 1.0, (self.params.length,)), action=Discrete(2), **names)]

    def arrays(self) -> Sequence[Array]:
        """Place of the agent."""
        return [Array("place", "int32", per="env", bounds=(0, self.params.length - 1), doc="state, from 0")]

    def draw(self, arrays: Mapping[str, np.ndarray]) -> Drawing:
        """The states in a row, the one that pays ringed, and the agent in its own."""
        length = self.params.length
        marks = [
            Segments(0.0, 0.0, length - 1.0, 0.0, outline="grid", line_width=0.05),
            Discs(np.arange(length), 0.0, 0.3, fill="ground", outline="grid", line_width=0.05),
            Discs(length - 1.0, 0.0, 0.4, fill=None, outline="ink", line_width=0.05),
            Discs(float(arrays["place"]), 0.0, 0.25, fill="agent"),
        ]
        return Drawing((-0.7, -0.7, length - 0.3, 0.7), marks, seconds=0.2)
