"""Walking to a waypoint: a goal in a home is pointed out to an agent, which finds its way there.

Source: megastep's "waypoint" (Andy L. Jones, 2020), with its draw of goals, radius and reward. Unlike there, the
agent also observes its own motion, each episode begins in a random home at a random place, and a time limit truncates.
With ``goal_distance`` goals lie anywhere in the home, and the shortest way to them is known: it can be paid for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
from gymnasium.spaces import Box, Discrete

from warpworld.drawing import Discs, Drawing
from warpworld.environment import Array, Group, Kernel, Phase, Range, Script, register
from warpworld.errors import DeclarationError
from warpworld.eyes import WALK_KEYS, WALKS, Indoor, IndoorParams, camera_kernel, draw_indoor
from warpworld.eyes.plans import find_ways, way_arrays

GOAL_PLACES = 32  # of each plan, where ways to goals are known


@dataclass(frozen=True)
class GoalParams(IndoorParams):
    """Parameters of environments with a goal."""

    res: int = 512
    subsample: int = 8
    goal_radius: Annotated[float, Range(above=0)] = 0.15  # metres from the goal at which it is reached
    episode_length: Annotated[int, Range(2, 2**31 - 1)] = 512  # steps: a limit is drawn from half of them to all
    goal_distance: tuple[float, ...] | None = None  # least and most metres of the shortest way; null: near goals
    # ----
    fixed_frame: bool = field(init=False, default=False)  # whether the goal is shown as it was seen at the start
    least_way: float = field(init=False, default=0.0)
    most_way: float = field(init=False, default=0.0)
    goal_places: int = field(init=False, default=GOAL_PLACES)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.goal_distance is None:
            return
        given = self.goal_distance
        if not (_are_numbers(given) and len(given) == 2 and 0.0 <= given[0] < given[1]):
            raise DeclarationError(
                f"goal_distance={given!r}: expected the least and the most metres of the shortest way to a goal, such "
                "as [1, 4], or null for near goals as published"
            )
        self._follow("goal_distance", tuple(map(float, given)))
        self._follow("least_way", float(given[0]))
        self._follow("most_way", float(given[1]))

    @property
    def is_far(self) -> bool:
        """Whether goals lie at some way away, which kernels know."""
        return self.goal_distance is not None


def _are_numbers(given: Sequence[float]) -> bool:
    return all(isinstance(each, (int, float)) and not isinstance(each, bool) for each in given)


@register("waypoint")
class Waypoint(Indoor):
    """One agent walks to a goal; it observes the vector to it, ahead and to the left, in every step.

    Actions: 0 nothing, 1 push left, 2 right, 3 forward, 4 back, 5 turn left, 6 turn right. Reaching the goal pays 1 and
    ends the episode.

    With ``goal_distance`` a number of the world may be set between steps: ``shaping``, the reward for each metre by
    which the shortest way to the goal has become shorter.
    """

    source = "waypoint.cu"
    compile_time = (*Indoor.compile_time, "fixed_frame")

    @dataclass(frozen=True)
    class Params(GoalParams):
        """Parameters of waypoint."""

    def groups(self) -> Sequence[Group]:
        """One walker."""
        vector = Box(-np.inf, np.inf, (2,))  # metres
        seen = self.observation(goal=vector)
        return [Group("walker", 1, seen, Discrete(7), action_names=WALKS, action_keys=WALK_KEYS)]

    def arrays(self) -> Sequence[Array]:
        """The goal, the time for it, and where the agent woke up; with far goals the ways to them."""
        return [
            *super().arrays(),
            Array("goal", "float32", (2,), doc="metres"),
            Array("limit", "int32", per="env", doc="steps until the time limit of this episode"),
            Array("start_position", "float32", (2,), doc="metres"),
            Array("start_angle", "float32", bounds=(-180.0, 180.0), doc="degrees"),
            *(self._arrays_of_ways() if self.params.is_far else []),
        ]

    def _arrays_of_ways(self) -> Sequence[Array]:
        """Fields of shortest ways, and how far the agent is on its own."""
        params = self.params
        share = (0.0, 1.0)
        return [
            *way_arrays(find_ways(params.plan_set, params.goal_places, params.plan_seed)),
            Array("goal_place", "int32", per="env", bounds=(0, params.goal_places - 1), doc="of the plan's places"),
            Array("way", "float32", per="env", doc="metres of the shortest way to the goal"),
            Array("shortest", "float32", per="env", metric="last", doc="the same from the start"),
            Array("walked", "float32", per="env", doc="metres in this episode"),
            Array("reached", "float32", per="env", bounds=share, metric="last", doc="1 when the goal is reached"),
            Array("spl", "float32", per="env", bounds=share, metric="last", doc="shortest way / walked, if reached"),
            Array("shaping", "float32", per="world", initial=0.0, bounds=(0.0, 1e6), doc="reward of a metre of way"),
        ]

    def phases(self) -> Sequence[Phase | Kernel]:
        """Move, then look."""
        return [*(["move_far", *self._fixes()] if self.params.is_far else ["move"]), camera_kernel("see")]

    def resets(self) -> Sequence[Phase | Kernel]:
        """Wake up somewhere, and look."""
        return [*(["wake_far", *self._fixes()] if self.params.is_far else ["wake"]), camera_kernel("see")]

    def _fixes(self) -> Sequence[str]:
        """Kernels that may show the goal anew, between moving and looking."""
        return []

    def scripts(self) -> Mapping[str, Script]:
        """References that know where they are: straight to the goal, and along the shortest way."""
        return {"slide": "slide"} | ({"guide": "guide"} if self.params.is_far else {})

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
