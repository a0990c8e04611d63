"""Walking to a point: a goal in a home is pointed out once, and the agent has to remember how far it has come.

Source: megastep's "pointgoal" (Andy L. Jones, 2020). It is ``waypoint``, but the goal is always shown as seen from the
start, while the agent observes how it moves and turns. With ``goal_distance`` it may be pointed out again now and then
while agents learn, less and less often.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from gymnasium.spaces import Box

from warpworld.environment import Array, Group, register
from warpworld.envs.waypoint.waypoint import GoalParams, Waypoint
from warpworld.errors import DeclarationError
from warpworld.eyes import WALK_KEYS, WALKS


@register("point_goal")
class PointGoal(Waypoint):
    """One agent walks to a goal; it observes the vector to it from its start, in the frame that it had there.

    Actions, reward and ends are those of ``waypoint``.

    With ``goal_distance`` the agent also observes ``since``, steps / 50 since the goal was pointed out, and a second
    number of the world may be set between steps: ``fixes``, the probability with which each step points it out anew,
    from where the agent is. It is 0 unless a schedule sets it, so that agents are always judged without. With
    ``shown_once`` the vector is there in the steps that point the goal out, and 0 in all others: the agent has to
    remember where the goal was, too.
    """

    @dataclass(frozen=True)
    class Params(GoalParams):
        """Parameters of point_goal."""

        shown_once: bool = False  # the vector is 0 but for the steps that point the goal out; needs goal_distance
        # ----
        fixed_frame: bool = field(init=False, default=True)

        def __post_init__(self) -> None:
            super().__post_init__()
            if self.shown_once and not self.is_far:
                raise DeclarationError("shown_once=True: expected a goal_distance beside it, such as [1, 4]")

    def groups(self) -> Sequence[Group]:
        """One walker, who knows how long ago the goal was pointed out where that may happen again."""
        (walker,) = super().groups()
        if not self.params.is_far:
            return [walker]
        vector, since = (Box(-np.inf, np.inf, (size,)) for size in (2, 1))
        seen = self.observation(goal=vector, since=since)
        return [Group("walker", 1, seen, walker.action, action_names=WALKS, action_keys=WALK_KEYS)]

    def arrays(self) -> Sequence[Array]:
        """Arrays of waypoint; with far goals those of fixes."""
        if not self.params.is_far:
            return super().arrays()
        return [
            *super().arrays(),
            Array("fixed_at", "int32", per="env", doc="step in which the goal was pointed out"),
            Array("fixes", "float32", per="world", initial=0.0, bounds=(0.0, 1.0), doc="probability in each step"),
        ]

    def _fixes(self) -> Sequence[str]:
        return ["fix"]
