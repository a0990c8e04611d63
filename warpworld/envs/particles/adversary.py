"""Hide a goal from an adversary: mpe2's simple_adversary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from warpworld.environment import Group, register
from warpworld.envs.particles.goals import WithGoal
from warpworld.envs.particles.particles import Agents, ParticlesParams, mover, sees


@register("particles_adversary")
class Adversary(WithGoal):
    """Agents are paid for being nearer to a secret goal than the adversary, which is paid for finding it."""

    source = "adversary.cu"
    sizes = (0.15, 0.15)
    landmark_size = 0.08

    @dataclass(frozen=True)
    class Params(ParticlesParams):
        """Parameters of particles_adversary."""

        agents: Agents = 2  # beside one adversary, and as many landmarks

    @property
    def num_landmarks(self) -> int:
        """Number of landmarks: one for each agent."""
        return self.params.agents

    def groups(self) -> Sequence[Group]:
        """The adversary, then the agents, which know the goal."""
        count = self.params.agents
        return [
            mover("adversary", 1, sees(4 * count)),
            mover("agent", count, sees(4 * count + 2)),
        ]
