"""Base of the particle games: discs on a plane, their motion and their picture.

Source: the multi-agent particle environments of Lowe, Wu, Tamar, Harb, Abbeel and Mordatch: "Multi-Agent Actor-Critic
for Mixed Cooperative-Competitive Environments", NeurIPS 2017, in the form of mpe2 1.1, with its discrete actions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from gymnasium.spaces import Box, Discrete

from warpworld.drawing import Discs, Drawing, Mark, Rectangles
from warpworld.environment import Array, Environment, Group, Kernel, Range, placed_groups

MOST_AGENTS = 128  # of a kind; each sees all others, so that what they see grows with the square of their number
Agents = Annotated[int, Range(1, MOST_AGENTS)]
MOVES = Discrete(5)
MOVE_NAMES, MOVE_KEYS = ("none", "left", "right", "down", "up"), ("", "left", "right", "down", "up")
SIDE = 1.4  # half of what a picture shows


@dataclass(frozen=True)
class ParticlesParams:
    """Parameters of all games."""

    episode_length: Annotated[int, Range(1, 2**31 - 1)] = 25  # steps until the time limit
    damping: Annotated[float, Range(0, 1)] = 0.25  # part of the velocity that is lost in a step
    mass: Annotated[float, Range(above=0)] = 1.0  # of each agent, which forces accelerate


class Particles(Environment):
    """A game of agents and landmarks on a plane.

    Attributes:
        sizes: radius of the agents of each group.
        landmark_size: radius of a landmark.
    """

    per_env: ClassVar[tuple[str, ...]] = ("damping", "mass")
    sizes: ClassVar[tuple[float, ...]] = ()
    landmark_size: ClassVar[float] = 0.05

    @property
    def num_landmarks(self) -> int:
        """Number of landmarks."""
        raise NotImplementedError

    def arrays(self) -> Sequence[Array]:
        """Places of agents and landmarks, and velocities of agents."""
        return [
            Array("position", "float32", (2,), doc="of each agent; episodes begin within -1 .. 1"),
            Array("velocity", "float32", (2,), doc="units per unit of time, of which a step takes 0.1"),
            Array("landmark", "float32", (self.num_landmarks, 2), per="env", bounds=(-1, 1), doc="their places"),
        ]

    def phases(self) -> Sequence[Kernel]:
        """Move, score, look."""
        return [self._kernel("step")]

    def resets(self) -> Sequence[Kernel]:
        """Random places."""
        return [self._kernel("reset")]

    def _kernel(self, name: str) -> Kernel:
        """A kernel in which the threads of an env share its agents."""
        return Kernel(name, threads_per_env=(1, sum(group.size for group in self.groups())))

    def landmark_colours(self, arrays: Mapping[str, np.ndarray]) -> Sequence[str]:
        """Colour of each landmark in a picture."""
        return ["muted"] * self.num_landmarks

    def draw(self, arrays: Mapping[str, np.ndarray]) -> Drawing:
        """The square in which episodes begin, the landmarks and the agents."""
        position, landmark = arrays["position"].astype(float), arrays["landmark"].astype(float)
        marks: list[Mark] = [Rectangles(-1.0, -1.0, 2.0, 2.0, fill="ground", outline="grid", line_width=0.02)]
        for (x, y), colour in zip(landmark, self.landmark_colours(arrays), strict=True):
            marks.append(Discs(x, y, self.landmark_size, fill=colour))
        for group, size in zip(placed_groups(self).values(), self.sizes, strict=True):
            members = position[group.slice]
            marks.append(Discs(members[:, 0], members[:, 1], size, fill=group.name, opacity=0.8))
        return Drawing((-SIDE, -SIDE, SIDE, SIDE), marks, seconds=0.1, places=(position[:, 0], position[:, 1]))


def sees(size: int) -> Box:
    """The space of so many numbers."""
    return Box(-np.inf, np.inf, (size,))


def mover(name: str, size: int, seen: Box) -> Group:
    """A group of agents that move."""
    return Group(name, size, seen, MOVES, action_names=MOVE_NAMES, action_keys=MOVE_KEYS)
