"""Searches of a training: their random numbers, and what is recorded of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from torch import Tensor

from warpworld.environment import Array
from warpworld.managers import Copy
from warpworld.trainers.collecting import ROW, Collector, Recorder
from warpworld.trainers.searching.random_numbers import random_numbers
from warpworld.trainers.searching.trees import Found
from warpworld.world import World

POLICY, VALUE, MOVER, DRAWN = "search_policy", "search_value", "search_mover", "search_drawn"
COUNT, BEGAN = "search_count", "search_began"  # moves of each env so far, and when its episode began


class TrainingMoves:
    """Moves of a world whose searches are recorded: their noise, those that chance makes, and where results are kept.

    Args:
        world: a sealed world, in which ``SearchRecorder`` records.
        random_moves: as an episode begins, at most.
    """

    def __init__(self, world: World, random_moves: int) -> None:
        self._data, self._random_moves = world.data, random_moves

    @staticmethod
    def are_of(world: World) -> bool:
        """Check whether searches of a world are recorded."""
        return COUNT in world.data

    def numbers(self, choices: int) -> tuple[np.ndarray, np.ndarray]:
        """Random numbers of the next move: two for each choice, (num_envs, choices) each."""
        data = self._data
        count, began = data.numpy(COUNT), data.numpy(BEGAN)
        began[:] = np.where(data.numpy("terminated") | data.numpy("truncated"), count, began)
        numbers = random_numbers(*self._env(), count, 2 * choices)
        count += 1
        return numbers[:, :choices], numbers[:, choices:]

    def keep(self, found: Found, legal: np.ndarray, movers: np.ndarray, numbers: np.ndarray) -> Found:
        """Keep what was found where the recorder reads it, and let chance make the moves with which an episode begins.

        Args:
            found: results of the searches.
            legal: (num_envs, choices) bool.
            movers: (num_envs,), agents that move.
            numbers: (num_envs, choices), random, which choose the moves of chance.
        """
        data = self._data
        made, last = data.numpy(COUNT) - 1 - data.numpy(BEGAN), 2 * legal.shape[1]
        of_episode = random_numbers(*self._env(), data.numpy(BEGAN), last + 1)[:, last]
        drawn = made < np.floor(of_episode * (self._random_moves + 1))
        data.numpy(POLICY)[:], data.numpy(VALUE)[:] = found.policy, found.values
        data.numpy(MOVER)[:], data.numpy(DRAWN)[:] = movers, drawn
        at_random = np.where(legal, numbers, -1.0).argmax(1)
        return replace(found, actions=np.where(drawn, at_random, found.actions))

    def _env(self) -> tuple[np.ndarray, np.ndarray]:
        return self._data.numpy("random_key"), self._data.numpy("random_stream")


class SearchRecorder(Recorder):
    """Adds the arrays of what searches find, and records them in rows of the rollout.

    Attributes:
        world: that is searched.

    Args:
        collector: of an unsealed world.
        choices: of an agent.
    """

    def __init__(self, collector: Collector, choices: int) -> None:
        world, rows = collector.world, collector.num_steps
        self.world = world
        for name in (COUNT, BEGAN):
            world.add(Array(name, "int32", per="env", initial=0))
        self._copies = []
        found = (POLICY, "float32", (choices,)), (VALUE, "float32", ()), (MOVER, "int32", ()), (DRAWN, "bool", ())
        for name, dtype, shape in found:
            world.add(Array(name, dtype, shape, per="env", initial=0), kept="derived")
            recorded = Array(f"rollout_{name}", dtype, (rows, world.num_envs, *shape), per="world")
            self._copies.append(Copy(name, world.add(recorded, kept="derived").name, row=ROW))

    def copies(self) -> Sequence[Copy]:
        """Copies of what was found in this step."""
        return self._copies

    def rows(self, name: str) -> Tensor:
        """Rows of the rollout that hold an array: (T, num_envs, ...)."""
        return self.world.data[f"rollout_{name}"]
