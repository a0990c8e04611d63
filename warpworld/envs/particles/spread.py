"""Share out landmarks: mpe2's simple_spread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from warpworld.environment import Group, register
from warpworld.envs.particles.particles import (
    MOST_AGENTS,
    MOVES,
    Particles,
    ParticlesParams,
    check_part,
    check_whole,
    sees,
)


@register("particles_spread")
class Spread(Particles):
    """Agents share out landmarks: each pays for its distance from the nearest agent, and collisions cost 1."""

    source = "spread.cu"
    sizes = (0.15,)

    @dataclass(frozen=True)
    class Params(ParticlesParams):
        """Parameters of particles_spread."""

        agents: int = 3  # and as many landmarks
        local_ratio: float = 0.5  # weight of own collisions; the rest is that of landmarks

        def __post_init__(self) -> None:
            super().__post_init__()
            check_whole(self, MOST_AGENTS, "agents")
            check_part(self, "local_ratio")

    @property
    def num_landmarks(self) -> int:
        """One for each agent."""
        return self.params.agents

    def groups(self) -> Sequence[Group]:
        """One group; observations end with the messages of others, which are silent."""
        count = self.params.agents
        return [Group("agent", count, observation=sees(4 + 2 * count + 4 * (count - 1)), action=MOVES)]
