"""Keep an agent from its goal: mpe2's simple_push."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from warpworld.environment import Group, register
from warpworld.envs.particles.goals import WithGoal
from warpworld.envs.particles.particles import ParticlesParams, mover, sees


@register("particles_push")
class Push(WithGoal):
    """An adversary pushes an agent away from its landmark: both are paid for being nearer to it than the other."""

    source = "push.cu"
    sizes = (0.05, 0.05)

    @dataclass(frozen=True)
    class Params(ParticlesParams):
        """Parameters of particles_push."""

    @property
    def num_landmarks(self) -> int:
        """Number of landmarks: two, of which one is the goal."""
        return 2

    def groups(self) -> Sequence[Group]:
        """The adversary, then the agent, which alone knows its goal."""
        return [
            mover("adversary", 1, sees(8)),
            mover("agent", 1, sees(19)),
        ]
