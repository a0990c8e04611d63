"""Base of the MinAtar games: sticky actions, a screen of 10 x 10 cells, and its picture.

Source: MinAtar 1.0.15 (Young and Tian: "MinAtar: An Atari-Inspired Testbed for Thorough and Reproducible Reinforcement
Learning Experiments", 2019), whose games these follow step by step. Observations are flags of (channels, 10, 10), where
MinAtar's are of (10, 10, channels), actions are its minimal sets, and a time limit truncates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from gymnasium.spaces import Discrete, MultiBinary

from warpworld.drawing import Drawing, Mark, Rectangles
from warpworld.environment import Array, Environment, Group, Range

SIDE = 10
KEYS = {"none": "", "shoot": "space"}  # of actions; the others are called as their keys


class Channel(NamedTuple):
    """Channel of a screen.

    Attributes:
        name: what it shows.
        colour: of its cells in pictures.
        opacity: of them.
    """

    name: str
    colour: str
    opacity: float = 1.0


@dataclass(frozen=True)
class MinAtarParams:
    """Parameters of all games."""

    episode_length: Annotated[int, Range(1, 2**31 - 1)] = 10_000  # steps until the time limit
    sticky_action_prob: Annotated[float, Range(0, 1)] = 0.1  # probability that the previous action is repeated


@dataclass(frozen=True)
class RampingParams(MinAtarParams):
    """Parameters of games that get harder."""

    difficulty_ramping: bool = True  # enemies come and move faster as an episode continues


class MinAtar(Environment):
    """A game of MinAtar for one agent.

    Attributes:
        channels: of the screen, in their order, from the topmost to the lowest in pictures.
        num_actions: of its minimal set.
        action_names: names of these.
    """

    channels: ClassVar[tuple[Channel, ...]] = ()
    num_actions: ClassVar[int] = 3
    action_names: ClassVar[tuple[str, ...]] = ("none", "left", "right")

    def groups(self) -> Sequence[Group]:
        """One agent, which sees the whole screen."""
        screen = MultiBinary((len(self.channels), SIDE, SIDE))
        names, keys = self.action_names, tuple(KEYS.get(name, name) for name in self.action_names)
        return [Group("agent", 1, screen, Discrete(self.num_actions), action_names=names, action_keys=keys)]

    def arrays(self) -> Sequence[Array]:
        """Last action, for sticky actions; as in MinAtar it is kept from one episode to the next."""
        actions = (0, self.num_actions - 1)
        return [Array("last_action", "int32", initial=0, bounds=actions, on_reset="keep", doc="of the step before")]

    def draw(self, arrays: Mapping[str, np.ndarray]) -> Drawing:
        """The screen as the agent sees it, a colour for each channel."""
        marks: list[Mark] = [Rectangles(0.0, 0.0, SIDE, SIDE, fill="ground", outline="grid", line_width=0.05)]
        for channel, cells in reversed(list(zip(self.channels, arrays["observations"][0], strict=True))):
            y, x = np.nonzero(cells)
            marks.append(Rectangles(x + 0.05, y + 0.05, 0.9, 0.9, fill=channel.colour, opacity=channel.opacity))
        return Drawing((-0.5, SIDE + 0.5, SIDE + 0.5, -0.5), marks, seconds=0.1)
