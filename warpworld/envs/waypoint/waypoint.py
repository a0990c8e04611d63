"""Walking to a waypoint: a goal in a home is pointed out to an agent, which finds its way there.

Source: megastep's "waypoint" (Andy L. Jones, 2020), with its draw of goals, radius and reward. Unlike there, the
agent also observes its own motion, each episode begins in a random home at a random place, and a time limit truncates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
from gymnasium.spaces import Box, Discrete

from warpworld.drawing import Discs, Drawing
from warpworld.environment import Array, Group, Kernel, Phase, Range, register
from warpworld.eyes import Indoor, IndoorParams, camera_kernel, draw_indoor


@dataclass(frozen=True)
class GoalParams(IndoorParams):
    """Parameters of environments with a goal."""

    res: int = 512
    subsample: int = 8
    goal_radius: Annotated[float, Range(above=0)] = 0.15  # metres from the goal at which it is reached
    episode_length: Annotated[int, Range(2, 2**31 - 1)] = 512  # steps: a limit is drawn from half of them to all
    fixed_frame: bool = field(init=False, default=False)  # whether the goal is shown as it was seen at the start


@register("waypoint")
class Waypoint(Indoor):
    """One agent walks to a goal; it observes the vector to it, ahead and to the left, in every step.

    Actions: 0 nothing, 1 push left, 2 right, 3 forward, 4 back, 5 turn left, 6 turn right. Reaching the goal pays 1 and
    ends the episode.
    """

    source = "waypoint.cu"
    compile_time = (*Indoor.compile_time, "fixed_frame")

    @dataclass(frozen=True)
    class Params(GoalParams):
        """Parameters of waypoint."""

    def groups(self) -> Sequence[Group]:
        """One walker."""
        vector = Box(-np.inf, np.inf, (2,))  # metres
        return [Group("walker", 1, self.observation(goal=vector), Discrete(7))]

    def arrays(self) -> Sequence[Array]:
        """The goal, the time for it, and where the agent woke up."""
        return [
            *super().arrays(),
            Array("goal", "float32", (2,), doc="metres"),
            Array("limit", "int32", per="env", doc="steps until the time limit of this episode"),
            Array("start_position", "float32", (2,), doc="metres"),
            Array("start_angle", "float32", bounds=(-180.0, 180.0), doc="degrees"),
        ]

    def phases(self) -> Sequence[Phase | Kernel]:
        """Move, then look."""
        return ["move", camera_kernel("see")]

    def resets(self) -> Sequence[Phase | Kernel]:
        """Wake up somewhere, and look."""
        return ["wake", camera_kernel("see")]

    def truncations(self, num_steps: int) -> int:
        """Most time limits of one env in ``num_steps`` steps, each of at least half of ``episode_length``."""
        return num_steps // (self.params.episode_length - self.params.episode_length // 2) + 1

    def draw(self, arrays: Mapping[str, np.ndarray]) -> Drawing:
        """The home, the goal, the agent, and what it sees; the goal is a full disc when it is reached."""
        (x, y), reached = np.asarray(arrays["goal"], dtype=float)[0], bool(arrays["terminated"])
        radius = max(self.params.goal_radius, 0.12)
        marks = [
            Discs(x, y, 2.0 * radius, fill=None, outline="alarm", line_width=0.05),
            Discs(x, y, radius, fill="alarm" if reached else None, outline="alarm", line_width=0.05),
        ]
        return draw_indoor(self.params.plan_set, arrays, ["walker"], self.params.fov, over_walls=marks)
