"""Two coins: the smallest game whose equilibrium is mixed, known exactly for any pays.

With pays of 1 this is matching pennies: in equilibrium both turn up either side with probability 1/2, and the game is
worth 0. Otherwise both turn up heads with probability (1 + tails) / (2 + heads + tails), and a round is worth
(heads tails - 1) / (2 + heads + tails) to the matcher. Learners that play each other circle around that point; against
a hider with a habit, such as the script ``biased``, there is a best response, whose value is exact, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from gymnasium.spaces import Box, Discrete

from warpworld.drawing import Discs, Drawing, Mark, Segments, Text
from warpworld.environment import Array, Environment, Group, Range, Script, register

PLAYERS = ("matcher", "hider")
HABIT = 0.75  # how often the script turns up heads, as in coins.cu


@register("coins")
class Coins(Environment):
    """Two agents turn up a coin each: the matcher wins where both show the same side, and else the hider."""

    source = "coins.cu"
    per_env = ("heads", "tails")

    @dataclass(frozen=True)
    class Params:
        """Parameters of coins."""

        episode_length: Annotated[int, Range(1, 2**31 - 1)] = 16  # rounds
        heads: Annotated[float, Range(0)] = 1.0  # what the hider pays the matcher for two heads
        tails: Annotated[float, Range(0)] = 1.0  # the same for two tails

    def groups(self) -> Sequence[Group]:
        """The matcher and the hider, who see both coins of the round before."""
        names: Any = {"action_names": ("heads", "tails"), "action_keys": ("h", "t")}
        return [Group(player, 1, observation=Box(0.0, 1.0, (4,)), action=Discrete(2), **names) for player in PLAYERS]

    def arrays(self) -> Sequence[Array]:
        """Arrays of the game: none, as players see all that there is."""
        return []

    def scripts(self) -> Mapping[str, Script]:
        """biased: heads in three rounds of four, whatever the other does."""
        return {"biased": "biased"}

    def draw(self, arrays: Mapping[str, np.ndarray]) -> Drawing:
        """The coins of the last round, the matcher's on the left, and whether they are equal; the winner is ringed."""
        sides = arrays["observations"][:, :2]
        x = (-0.9, 0.9)
        marks: list[Mark] = [Discs(x[k], 0.0, 0.5, fill=player) for k, player in enumerate(PLAYERS)]
        if sides.any():  # a round has been played
            matcher, hider = sides.argmax(1)
            winner = x[int(matcher != hider)]
            marks += [Text(x[k], 0.0, "HT"[side], 0.5, fill="paper") for k, side in enumerate((matcher, hider))]
            marks.append(Text(0.0, 0.0, "=", 0.5, fill="muted"))
            if matcher != hider:
                marks.append(Segments(-0.1, -0.2, 0.1, 0.2, outline="muted", line_width=0.04))
            marks.append(Discs(winner, 0.0, 0.58, fill=None, outline="ink", line_width=0.06))
        return Drawing((-1.6, -0.8, 1.6, 0.8), marks, seconds=0.4)
