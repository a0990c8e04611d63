"""Catch faster agents among obstacles: mpe2's simple_tag."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from warpworld.environment import Group, register
from warpworld.envs.particles.particles import (
    MOST_AGENTS,
    MOVES,
    Particles,
    ParticlesParams,
    check_positive,
    check_whole,
    sees,
)


@register("particles_pursuit")
class Pursuit(Particles):
    """Adversaries chase faster agents among obstacles: each touch pays all adversaries 10 and costs the agent 10."""

    source = "pursuit.cu"
    compile_time = ("obstacles",)
    per_env = (*Particles.per_env, "prey_speed")
    sizes = (0.075, 0.05)
    landmark_size = 0.2

    @dataclass(frozen=True)
    class Params(ParticlesParams):
        """Parameters of particles_pursuit."""

        agents: int = 1  # that are chased
        adversaries: int = 3  # that chase them
        obstacles: int = 2  # that stop both
        prey_speed: float = 1.0  # factor of the agents' speed and force

        def __post_init__(self) -> None:
            super().__post_init__()
            check_whole(self, MOST_AGENTS, "agents", "adversaries", "obstacles")
            check_positive(self, "prey_speed")

    @property
    def num_landmarks(self) -> int:
        """The obstacles."""
        return self.params.obstacles

    def groups(self) -> Sequence[Group]:
        """Adversaries, then agents; all see the velocities of the other agents, of which an agent has one less."""
        p = self.params
        seen = 4 + 2 * p.obstacles + 2 * (p.adversaries + p.agents - 1)
        return [
            Group("adversary", p.adversaries, observation=sees(seen + 2 * p.agents), action=MOVES),
            Group("agent", p.agents, observation=sees(seen + 2 * (p.agents - 1)), action=MOVES),
        ]
