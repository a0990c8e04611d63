"""Small worlds whose actions have names, and games in them."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete, MultiDiscrete

from tests.report.recorded_worlds import SPACE, Drawn, Masked, Plain, config_of
from warpworld.cli.play.game import Game
from warpworld.cli.play.game_data import data_of
from warpworld.cli.play.others import find_others
from warpworld.environment import Environment, Group

WALK = {"action_names": ("wait", "go"), "action_keys": ("", "right")}


class Walkers(Drawn):
    """``Drawn``, whose agents wait or go: which changes nothing, but is recorded."""

    def groups(self) -> Sequence[Group]:
        return [Group("left", 2, SPACE, Discrete(2), **WALK), Group("right", 1, SPACE, Discrete(2), **WALK)]


class Strips(Plain):
    """``Walkers`` without a picture."""

    def groups(self) -> Sequence[Group]:
        return [Group("left", 2, SPACE, Discrete(2), **WALK), Group("right", 1, SPACE, Discrete(2), **WALK)]


class Twofold(Drawn):
    """Group left chooses twice, and right takes two numbers."""

    def groups(self) -> Sequence[Group]:
        names, keys = (("stay", "go"), ("quiet", "low", "high")), (("", "w"), ("", "1", "2"))
        turns = {"action_names": (("a", "b"), ("c", "d")), "action_keys": (("left", "right"), ("down", "up"))}
        ends = np.array([-1.0, 2.0], np.float32), np.array([1.0, 4.0], np.float32)
        return [
            Group("left", 2, SPACE, MultiDiscrete([2, 3]), action_names=names, action_keys=keys),
            Group("right", 1, SPACE, Box(*ends), **turns),
        ]


class Leaving(Masked):
    """``Masked``, whose second agent takes no part in the third of three steps."""

    source = "../../report/masked.cu"

    def groups(self) -> Sequence[Group]:
        return [Group("agent", 2, SPACE, Discrete(2), **WALK)]


def game_of(cls: type[Environment], seat: str | None = None, **env: Any) -> Game:
    """A game whose other agents act at random."""
    config = config_of(cls, **env)
    return Game(config, find_others(config, "random"), seat)


def saved(game: Game) -> dict[str, np.ndarray]:
    """The arrays of the game's file."""
    with np.load(io.BytesIO(data_of(game))) as data:
        return dict(data)
