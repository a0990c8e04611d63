"""Drive a weak car out of a valley: Gymnasium's MountainCar-v0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from gymnasium.spaces import Discrete

from warpworld.environment import Group, Range, register
from warpworld.envs.mountain_car.valley import MOST_SPEED, Valley, observation

PUSHES, KEYS = ("left", "none", "right"), ("left", "", "right")


@register("mountain_car")
class MountainCar(Valley):
    """Rock a weak car back and forth until it leaves its valley: push left, not at all or right, -1 a step."""

    source = "mountain_car.cu"
    per_env = ("force", "gravity")

    @dataclass(frozen=True)
    class Params:
        """Parameters of mountain_car."""

        episode_length: Annotated[int, Range(1, 2**31 - 1)] = 200  # steps until the time limit
        force: Annotated[float, Range(0)] = 0.001  # change of velocity in a step
        gravity: Annotated[float, Range(0)] = 0.0025  # change of velocity in a step on the steepest slope
        goal_velocity: Annotated[float, Range(-MOST_SPEED, MOST_SPEED)] = 0.0  # least speed that counts at the goal

    def groups(self) -> Sequence[Group]:
        """One agent."""
        return [Group("agent", 1, observation(), Discrete(3), action_names=PUSHES, action_keys=KEYS)]
