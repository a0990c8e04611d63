"""A small environment and a right config for it, for tests of what reads configs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gymnasium.spaces import Box, Discrete

from warpworld.environment import Environment, Group
from warpworld.errors import DeclarationError


class Chase(Environment):
    """Chasers and evaders; a declaration is enough here."""

    @dataclass(frozen=True)
    class Params:
        chasers: int
        evaders: int = 1
        side: float = 10.0
        walls: bool = True
        start: Literal["random", "fixed"] = "random"
        goal: tuple[int, int] = (0, 0)
        places: tuple[float, ...] | None = None
        title: str = "chase"
        limit: float = float("inf")
        wide: bool = False

        def __post_init__(self) -> None:
            if self.side <= 0:
                raise ValueError(f"side={self.side}: expected more than 0")
            if self.evaders < 1:
                raise DeclarationError(f"evaders={self.evaders}: expected at least 1")

    def groups(self) -> list[Group]:
        seen = Box(-1.0, 1.0, (4,))
        other = Box(-1.0, 1.0, (6 if self.params.wide else 4,))
        return [
            Group("chaser", self.params.chasers, observation=seen, action=Discrete(5)),
            Group("evader", self.params.evaders, observation=other, action=Discrete(5)),
        ]


NAME = f"{__name__}:Chase"  # named by module, so that the registry stays as it is
TEXT = f"""\
name: {NAME}
env:
  chasers: 3
trainer:
  num_envs: 8
  num_steps: 4
  total_env_steps: 2_000
policy:
  chaser:
    learning_rate: 1e-3
  evader:
    gamma: 1
"""


def changed(old: str, new: str) -> str:
    """``TEXT`` with one piece of it replaced."""
    assert TEXT.count(old) == 1
    return TEXT.replace(old, new)
