"""A world that faults in one env."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gymnasium.spaces import Discrete

from tests.trainers.small_worlds import space
from warpworld.environment import Environment, Group


class Falling(Environment):
    """See falling.cu."""

    source = Path(__file__).with_name("falling.cu")

    def groups(self) -> Sequence[Group]:
        return [Group("agent", 1, space(1), Discrete(2))]
