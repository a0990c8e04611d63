"""Drive a weak car out of a valley with as little force as possible: Gymnasium's MountainCarContinuous-v0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from gymnasium.spaces import Box

from warpworld.environment import Group, Range, register
from warpworld.envs.mountain_car.valley import MOST_SPEED, Valley, observation

PUSHES = (("left", "right"),)  # the force's ends, and the keys for them


@register("mountain_car_continuous")
class MountainCarContinuous(Valley):
    """Rock a weak car back and forth until it leaves its valley: 100 for that, and each push costs its square."""

    source = "mountain_car_continuous.cu"
    per_env = ("power", "gravity")
    goal = 0.45

    @dataclass(frozen=True)
    class Params:
        """Parameters of mountain_car_continuous."""

        episode_length: Annotated[int, Range(1, 2**31 - 1)] = 999  # steps until the time limit
        power: Annotated[float, Range(0)] = 0.0015  # change of velocity in a step under the whole force
        gravity: Annotated[float, Range(0)] = 0.0025  # change of velocity in a step on the steepest slope
        goal_velocity: Annotated[float, Range(-MOST_SPEED, MOST_SPEED)] = 0.0  # least speed that counts at the goal

    def groups(self) -> Sequence[Group]:
        """One agent."""
        return [Group("agent", 1, observation(), Box(-1.0, 1.0, (1,)), action_names=PUSHES, action_keys=PUSHES)]
