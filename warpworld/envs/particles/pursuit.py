"""Catch faster agents among obstacles: mpe2's simple_tag."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from warpworld.environment import Group, Range, register
from warpworld.envs.particles.particles import Agents, Particles, ParticlesParams, mover, sees


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

        agents: Agents = 1  # that are chased
        adversaries: Agents = 3  # that chase them
        obstacles: Agents = 2  # that stop both
        prey_speed: Annotated[float, Range(above=0)] = 1.0  # factor of the agents' speed and force

    @property
    def num_landmarks(self) -> int:
        """The obstacles."""
        return self.params.obstacles

    def groups(self) -> Sequence[Group]:
        """Adversaries, then agents; all see the velocities of the other agents, of which an agent has one less."""
        p = self.params
        seen = 4 + 2 * p.obstacles + 2 * (p.adversaries + p.agents - 1)
        return [
            mover("adversary", p.adversaries, sees(seen + 2 * p.agents)),
            mover("agent", p.agents, sees(seen + 2 * (p.agents - 1))),
        ]
