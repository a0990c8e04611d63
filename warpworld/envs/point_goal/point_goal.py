"""Walking to a point: a goal in a home is pointed out once, and the agent has to remember how far it has come.

Source: megastep's "pointgoal" (Andy L. Jones, 2020). It is ``waypoint``, but the goal is always shown as seen from the
start, while the agent observes how it moves and turns.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from warpworld.environment import register
from warpworld.envs.waypoint.waypoint import GoalParams, Waypoint


@register("point_goal")
class PointGoal(Waypoint):
    """One agent walks to a goal; it observes the vector to it from its start, in the frame that it had there.

    Actions, reward and ends are those of ``waypoint``.
    """

    @dataclass(frozen=True)
    class Params(GoalParams):
        """Parameters of point_goal."""

        fixed_frame: bool = field(init=False, default=True)
