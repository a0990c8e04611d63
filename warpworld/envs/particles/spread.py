"""Share out landmarks: mpe2's simple_spread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from warpworld.environment import Group, Range, register
from warpworld.envs.particles.particles import Agents, Particles, ParticlesParams, mover, sees


@register("particles_spread")
class Spread(Particles):
    """Agents share out landmarks: each pays for its distance from the nearest agent, and collisions cost 1."""

    source = "spread.cu"
    sizes = (0.15,)

    @dataclass(frozen=True)
    class Params(ParticlesParams):
        """Parameters of particles_spread."""

        agents: Agents = 3  # and as many landmarks
        local_ratio: Annotated[float, Range(0, 1)] = 0.5  # weight of own collisions; the rest is that of landmarks

    @property
    def num_landmarks(self) -> int:
        """Number of landmarks: one for each agent."""
        return self.params.agents

    def groups(self) -> Sequence[Group]:
        """One group; observations end with the messages of others, which are silent."""
        count = self.params.agents
        return [mover("agent", count, sees(4 + 2 * count + 4 * (count - 1)))]
