"""Reference game: say where the other should go, and hear where to go (mpe2's simple_reference)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from gymnasium.spaces import Discrete

from warpworld.environment import Array, Group, Range, register
from warpworld.envs.particles.particles import MOVES, Particles, ParticlesParams, sees

WORDS = 10
COLOURS = 3


@register("particles_reference")
class Reference(Particles):
    """Two agents walk and talk: each knows only to which landmark the other should walk.

    An action is a push and a word: push + 5 * word.
    """

    source = "reference.cu"
    sizes = (0.05,)

    @dataclass(frozen=True)
    class Params(ParticlesParams):
        """Parameters of particles_reference."""

        local_ratio: Annotated[float, Range(0, 1)] = 0.5  # weight of the directed agent; the rest is that of both

    @property
    def num_landmarks(self) -> int:
        """Number of landmarks: three."""
        return 3

    def groups(self) -> Sequence[Group]:
        """Two agents that see the colour of the other's goal."""
        seen = 2 + 2 * self.num_landmarks + COLOURS + WORDS
        action = Discrete(int(MOVES.n) * WORDS)
        return [Group("agent", 2, observation=sees(seen), action=action, critic_input="overview")]

    def arrays(self) -> Sequence[Array]:
        """Goals, words, and what critics read."""
        return [
            *super().arrays(),
            Array("goal", "int32", bounds=(0, self.num_landmarks - 1), doc="landmark to which the other should walk"),
            Array("overview", "float32", (8,), doc="own velocity and goal as seen by it, then the other's"),
            Array("word", "int32", bounds=(-1, WORDS - 1), doc="said in the last step; -1 at the start"),
        ]
