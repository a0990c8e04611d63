"""The simplest of the particle games: walk to a landmark (mpe2's simple)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from warpworld.environment import Group, register
from warpworld.envs.particles.particles import Particles, ParticlesParams, mover, sees


@register("particles_simple")
class Simple(Particles):
    """One agent should walk to a landmark; it pays the square of its distance in each step."""

    source = "simple.cu"
    sizes = (0.05,)

    @dataclass(frozen=True)
    class Params(ParticlesParams):
        """Parameters of particles_simple."""

    @property
    def num_landmarks(self) -> int:
        """One."""
        return 1

    def groups(self) -> Sequence[Group]:
        """The agent, which sees its velocity and the way to the landmark."""
        return [mover("agent", 1, sees(4))]
