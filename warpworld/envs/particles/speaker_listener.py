"""Speaker-listener game: say where another should go (mpe2's simple_speaker_listener)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gymnasium.spaces import Discrete

from warpworld.environment import Array, Group, register
from warpworld.envs.particles.goals import WithGoal
from warpworld.envs.particles.particles import MOVES, ParticlesParams, sees

WORDS = 3


@register("particles_speaker_listener")
class SpeakerListener(WithGoal):
    """A speaker, which cannot move, names a landmark in words that mean nothing yet; a listener should walk there."""

    source = "speaker_listener.cu"
    sizes = (0.075, 0.075)
    landmark_size = 0.04

    @dataclass(frozen=True)
    class Params(ParticlesParams):
        """Parameters of particles_speaker_listener."""

    @property
    def num_landmarks(self) -> int:
        """Three, of which one is the goal."""
        return 3

    def groups(self) -> Sequence[Group]:
        """The speaker sees the goal's colour, the listener all but that."""
        return [
            Group("speaker", 1, observation=sees(3), action=Discrete(WORDS), critic_input="overview"),
            Group(
                "listener",
                1,
                observation=sees(2 + 2 * self.num_landmarks + WORDS),
                action=MOVES,
                critic_input="overview",
            ),
        ]

    def arrays(self) -> Sequence[Array]:
        """Last word, and the critics' input."""
        return [
            *super().arrays(),
            Array("word", "int32", per="env", bounds=(-1, WORDS - 1), doc="said in the last step; -1 at the start"),
            Array("overview", "float32", (4,), per="env", doc="the listener's velocity, and the goal as it sees it"),
        ]
