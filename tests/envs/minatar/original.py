"""Envs of the package minatar, which draw the random numbers that our kernels draw."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from warpworld import World
from warpworld.world.random import Random

STEP, RESET = 0, 1  # places of the kernels, of which each has its own numbers
WORDS = 6  # at most drawn by a kernel: in Seaquest one for a sticky action, three for an enemy, two for a diver


class Draws:
    """In place of NumPy's generator: gives what a kernel makes of the words that it has drawn."""

    def __init__(self) -> None:
        self._words: Iterator[int] = iter(())
        self._directions = np.zeros(0)

    def follow(self, words: np.ndarray) -> None:
        """Give these words from now on."""
        self._words = iter(words.tolist())

    def rand(self, count: int | None = None) -> Any:
        """What is compared with a probability; or the directions of the cars whose speeds were drawn just before."""
        return self._directions if count else (next(self._words) >> 8) * 2.0**-24

    def randint(self, low: int, high: int | None = None, count: int | None = None) -> Any:
        """The side from which a ball comes, or a row; or speeds of cars."""
        if count is None:
            low, high = (0, low) if high is None else (low, high)
            return low + (next(self._words) * (high - low) >> 32)
        assert high is not None
        speeds, per_word = 2 * (high - low), 4  # with the directions
        words = [next(self._words) * speeds**per_word >> 32 for _ in range(count // per_word)]
        drawn = np.array([word // speeds**place % speeds for word in words for place in range(per_word)])
        self._directions = np.where(drawn < high - low, 0.25, 0.75)
        return low + drawn % (high - low)


class Originals:
    """An env of the package for each env of a world.

    Args:
        game: its name there.
        world: after its first reset.
        steps: that will be made at most.
    """

    def __init__(self, game: str, world: World, steps: int) -> None:
        from minatar import Environment

        params = world.environment.params
        ramping = getattr(params, "difficulty_ramping", True)
        self._envs = [Environment(game, params.sticky_action_prob, ramping) for _ in range(world.num_envs)]
        self._draws = [Draws() for _ in self._envs]
        for env, draws in zip(self._envs, self._draws, strict=True):
            env.random = env.env.random = draws
        self._actions = self._envs[0].minimal_action_set()
        self._words = [_words(world, kernel, 2 * steps + 2) for kernel in (STEP, RESET)]
        self.reset(world, np.ones(world.num_envs, bool))

    def step(self, clock: np.ndarray, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rewards and ends of a step, (envs,) each; ``clock`` is the world's in that step."""
        self._follow(clock, STEP)
        made = [env.act(self._actions[action]) for env, action in zip(self._envs, actions, strict=True)]
        return np.array([reward for reward, _ in made]), np.array([bool(ended) for _, ended in made])

    def reset(self, world: World, envs: np.ndarray) -> None:
        """Begin an episode in those envs in which the world has just begun one."""
        self._follow(world.data.numpy("clock"), RESET)
        for env in np.flatnonzero(envs):
            self._envs[env].reset()

    def take_aboard(self, env: int, divers: int) -> None:
        """Let so many of Seaquest's divers be aboard."""
        self._envs[env].env.diver_count = divers

    def states(self) -> np.ndarray:
        """(envs, channels, 10, 10) bool: what agents see."""
        return np.stack([env.state().transpose(2, 0, 1) for env in self._envs])

    def _follow(self, clock: np.ndarray, kernel: int) -> None:
        for env, draws in enumerate(self._draws):
            draws.follow(self._words[kernel][clock[env], env])


def _words(world: World, kernel: int, clocks: int) -> np.ndarray:
    """(clocks, envs, WORDS) what a kernel draws at each clock of each env."""
    envs = world.num_envs
    clock = torch.arange(clocks).repeat_interleave(envs).view(torch.uint64)
    key, stream = (world[name].cpu().repeat(clocks) for name in ("random_key", "random_stream"))
    return Random(clock, key, stream, 1, kernel).bits(WORDS).view(clocks, envs, WORDS).numpy()
