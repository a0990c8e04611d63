"""Drive a weak car out of a valley with as little force as possible: Gymnasium's MountainCarContinuous-v0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gymnasium.spaces import Box

from warpworld.environment import Group, register
from warpworld.envs.mountain_car.valley import Valley, check, observation


@register("mountain_car_continuous")
class MountainCarContinuous(Valley):
    """Rock a weak car back and forth until it leaves its valley: 100 for that, and each push costs its square."""

    source = "mountain_car_continuous.cu"
    per_env = ("power", "gravity")
    goal = 0.45

    @dataclass(frozen=True)
    class Params:
        """Parameters of mountain_car_continuous."""

        episode_length: int = 999  # steps until the time limit
        power: float = 0.0015  # change of velocity in a step under the whole force
        gravity: float = 0.0025  # change of velocity in a step on the steepest slope
        goal_velocity: float = 0.0  # with which the goal is to be passed, at least

        def __post_init__(self) -> None:
            check(self, "power", "gravity")

    def groups(self) -> Sequence[Group]:
        """One agent."""
        return [Group("agent", 1, observation=observation(), action=Box(-1.0, 1.0, (1,)))]
