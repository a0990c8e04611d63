"""Cats and mice in one env: one after the other, or in turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gymnasium.spaces import Box, Discrete

from warpworld import Array, Environment, Group

NAMES = ("cat", "mouse")
SIZE = 3  # of each group


class Herd(Environment):
    """The agent at place k of its group is paid 1 for a choice of its own, and -100 for one that is forbidden."""

    source = "herd.cu"

    @dataclass(frozen=True)
    class Params:
        in_turn: bool = True  # cats have the even numbers, mice the odd ones

    def groups(self) -> Sequence[Group]:
        spaces = Box(0.0, 1.0, (4,)), Discrete(4)
        cats, mice = (range(0, 6, 2), range(1, 6, 2)) if self.params.in_turn else (range(3), range(3, 6))
        return [Group("cat", SIZE, *spaces, agents=cats), Group("mouse", SIZE, *spaces, agents=mice)]

    def arrays(self) -> Sequence[Array]:
        return [Array("x", "int32")]
