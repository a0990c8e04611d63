"""Chase prey that hides, led by words: mpe2's simple_world_comm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from gymnasium.spaces import Discrete

from warpworld.drawing import Discs, Drawing
from warpworld.environment import Array, Group, Range, register
from warpworld.envs.particles.particles import MOST_AGENTS, MOVES, Agents, Particles, ParticlesParams, mover, sees

WORDS = 4
FOREST_SIZE = 0.3


@register("particles_world_comm")
class WorldComm(Particles):
    """Adversaries chase agents that look for food and hide in forests, into which their leader alone can see.

    Each touch pays all adversaries 5 and costs the agent 5; food pays an agent 2 a step.
    """

    source = "world_comm.cu"
    compile_time = ("obstacles", "food", "forests")
    sizes = (0.075, 0.075, 0.045)
    landmark_size = 0.2

    @dataclass(frozen=True)
    class Params(ParticlesParams):
        """Parameters of particles_world_comm."""

        agents: Agents = 2  # that are chased
        adversaries: Annotated[int, Range(2, MOST_AGENTS)] = 4  # that chase them, the leader among them
        obstacles: Agents = 1  # that stop both
        food: Agents = 2
        forests: Agents = 2

    @property
    def num_landmarks(self) -> int:
        """Obstacles, food and forests."""
        return self.params.obstacles + self.params.food + self.params.forests

    def groups(self) -> Sequence[Group]:
        """The leader, who also speaks, the other adversaries, and the agents."""
        p = self.params
        seen = 4 + 2 * self.num_landmarks + 2 * (p.adversaries + p.agents - 1) + p.forests
        of_adversary = sees(seen + 2 * p.agents + WORDS)
        return [
            Group("leadadversary", 1, observation=of_adversary, action=Discrete(int(MOVES.n) * WORDS)),
            mover("adversary", p.adversaries - 1, of_adversary),
            mover("agent", p.agents, sees(seen + 2 * (p.agents - 1))),
        ]

    def arrays(self) -> Sequence[Array]:
        """The leader's word."""
        return [
            *super().arrays(),
            Array("word", "int32", per="env", bounds=(-1, WORDS - 1), doc="said in the last step; -1 at the start"),
        ]

    def landmark_colours(self, arrays: Mapping[str, np.ndarray]) -> Sequence[str]:
        """Obstacles alone; food and forests have other sizes."""
        return ["muted"] * self.params.obstacles

    def draw(self, arrays: Mapping[str, np.ndarray]) -> Drawing:
        """Forests below all else, obstacles, food and agents."""
        p = self.params
        obstacles, food, forests = np.split(arrays["landmark"].astype(float), [p.obstacles, p.obstacles + p.food])
        plain = super().draw({**arrays, "landmark": obstacles})
        trees = Discs(forests[:, 0], forests[:, 1], FOREST_SIZE, fill="grid", opacity=0.8)
        meals = Discs(food[:, 0], food[:, 1], 0.03, fill="ink")
        return Drawing(plain.view, [plain.marks[0], trees, *plain.marks[1:], meals], plain.seconds, plain.places)
