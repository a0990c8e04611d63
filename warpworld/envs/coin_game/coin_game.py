"""The coin game: a social dilemma on a grid, in which agents that take each other's coins lose more than they gain.

Source: Lerer and Peysakhovich: "Maintaining cooperation in complex social dilemmas using deep reinforcement learning"
(2017), with the rules of ``CoinGameVec`` of Foerster et al.: "Learning with Opponent-Learning Awareness" (2018).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from gymnasium.spaces import Discrete, MultiBinary

from warpworld.drawing import Discs, Drawing, Rectangles
from warpworld.environment import Array, Environment, Group, Range, register

COLOURS = ("red", "blue")
MOVES = KEYS = ("right", "left", "up", "down")


@register("coin_game")
class CoinGame(Environment):
    """Red and blue take coins of both colours; an agent pays when the other takes a coin of its colour.

    Actions: 0 x+1, 1 x-1, 2 y+1, 3 y-1, beyond an edge to the other side. The coin after one that was taken has the
    other colour, and lies on a cell without agents. If both reach a coin at once, red takes it.
    """

    source = "coin_game.cu"

    @dataclass(frozen=True)
    class Params:
        """Parameters of the coin game."""

        side: Annotated[int, Range(2, 64)] = 3  # cells along each axis
        penalty: Annotated[float, Range(0)] = 2.0  # that an agent loses when the other takes its coin
        episode_length: Annotated[int, Range(1, 2**31 - 1)] = 150  # steps

    def groups(self) -> Sequence[Group]:
        """Red and blue, who see planes of red, blue, a red coin and a blue coin."""
        seen = MultiBinary((4, self.params.side, self.params.side))
        return [Group(colour, 1, seen, Discrete(4), action_names=MOVES, action_keys=KEYS) for colour in COLOURS]

    def arrays(self) -> Sequence[Array]:
        """Places of agents and of the coin, its colour, and what was taken."""
        last = self.params.side - 1
        return [
            Array("x", "int32", bounds=(0, last), doc="cell along x"),
            Array("y", "int32", bounds=(0, last), doc="cell along y"),
            Array("coin", "int32", (2,), per="env", bounds=(0, last), doc="its cell, x and y"),
            Array("is_red", "bool", per="env", doc="whether the coin is red, else blue"),
            Array("taken", "float32", metric="last", doc="coins in this episode"),
            Array("own_taken", "float32", metric="last", doc="of those, coins of the own colour"),
        ]

    def draw(self, arrays: Mapping[str, np.ndarray]) -> Drawing:
        """The grid, the agents as discs, the coin as a ring of its colour."""
        side, (x, y) = self.params.side, arrays["coin"]
        cells = np.arange(side * side)
        marks = [
            Rectangles(cells % side, cells // side, 1.0, 1.0, fill="ground", outline="grid", line_width=0.03),
            *(Discs(arrays["x"][k] + 0.5, arrays["y"][k] + 0.5, 0.36 - 0.1 * k, fill=COLOURS[k]) for k in range(2)),
            Discs(x + 0.5, y + 0.5, 0.2, fill="paper", outline=COLOURS[1 - int(arrays["is_red"])], line_width=0.1),
        ]
        return Drawing((-0.2, -0.2, side + 0.2, side + 0.2), marks, seconds=0.3)
