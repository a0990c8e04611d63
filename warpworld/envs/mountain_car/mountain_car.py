"""Drive a weak car out of a valley: Gymnasium's MountainCar-v0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gymnasium.spaces import Discrete

from warpworld.environment import Group, register
from warpworld.envs.mountain_car.valley import Valley, check, observation


@register("mountain_car")
class MountainCar(Valley):
    """Rock a weak car back and forth until it leaves its valley: push left, not at all or right, -1 a step."""

    source = "mountain_car.cu"
    per_env = ("force", "gravity")

    @dataclass(frozen=True)
    class Params:
        """Parameters of mountain_car."""

        episode_length: int = 200  # steps until the time limit
        force: float = 0.001  # change of velocity in a step
        gravity: float = 0.0025  # change of velocity in a step on the steepest slope
        goal_velocity: float = 0.0  # with which the goal is to be passed, at least

        def __post_init__(self) -> None:
            check(self, "force", "gravity")

    def groups(self) -> Sequence[Group]:
        """One agent."""
        return [Group("agent", 1, observation=observation(), action=Discrete(3))]
