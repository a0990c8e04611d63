"""Games of particles in which one landmark is the goal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from warpworld.environment import Array
from warpworld.envs.particles.particles import Particles


class WithGoal(Particles):
    """A game with one goal, which does not change in an episode."""

    def arrays(self) -> Sequence[Array]:
        """Arrays of particles, and the goal."""
        last = self.num_landmarks - 1
        return [*super().arrays(), Array("goal", "int32", per="env", bounds=(0, last), doc="which landmark it is")]

    def landmark_colours(self, arrays: Mapping[str, np.ndarray]) -> Sequence[str]:
        """The goal stands out."""
        return ["ink" if number == int(arrays["goal"]) else "muted" for number in range(self.num_landmarks)]
