"""A vector environment whose trajectory can be counted on fingers, in all three of Gymnasium's autoreset modes."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete, Text
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

LENGTHS = (2, 3, 5)  # env i's episodes; those of env 1 are truncated


class Counting(VectorEnv):
    """Agents see (episode, step) and are paid 10 * step + action; the first action is 5."""

    def __init__(self, num_envs: int, mode: str = "SAME_STEP", heeds_masks: bool = True) -> None:
        self.metadata = {"autoreset_mode": AutoresetMode[mode]}
        self.num_envs, self._heeds_masks = num_envs, heeds_masks
        self.single_observation_space = Box(-np.inf, np.inf, (2,), np.float64)
        self.single_action_space = Discrete(2, start=5)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._state = np.zeros((num_envs, 2))
        self._ended = np.zeros(num_envs, np.bool_)

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        mask = (options or {}).get("reset_mask", np.ones(self.num_envs, np.bool_))
        self._restart(mask)
        return self._state.copy(), {}

    def _restart(self, mask: np.ndarray) -> None:
        self._state[mask] = np.stack([self._state[mask, 0] + 1, np.zeros(mask.sum())], 1)
        self._ended[mask] = False

    def step(self, actions: np.ndarray) -> Any:
        mode = self.metadata["autoreset_mode"]
        assert np.isin(actions, (5, 6)).all()
        assert mode is not AutoresetMode.DISABLED or not self._ended.any()
        skipped = self._ended if mode is AutoresetMode.NEXT_STEP else np.zeros_like(self._ended)
        self._state[~skipped, 1] += 1
        rewards = np.where(skipped, 99.0, 10 * self._state[:, 1] + actions)
        if skipped.any():
            self._restart(skipped.copy())
        limits = np.resize(LENGTHS, self.num_envs)
        self._ended = (self._state[:, 1] >= limits) & ~skipped
        cut = np.arange(self.num_envs) % 3 == 1
        result = self._state.copy(), rewards, self._ended & ~cut, self._ended & cut
        infos: dict[str, Any] = {}
        if mode is AutoresetMode.SAME_STEP and self._ended.any():
            infos = {"final_obs": [row if end else None for row, end in zip(result[0], self._ended, strict=True)]}
            self._restart(self._ended.copy())
            return self._state.copy(), *result[1:], infos
        return *result, infos


def counting(num_envs: int, **options: Any) -> Counting:
    """What ``library: tests.adapters.external.counting:counting`` names."""
    return Counting(num_envs, **options)


def wordy(num_envs: int) -> Counting:
    """Envs that say something instead of showing numbers."""
    envs = Counting(num_envs)
    envs.single_observation_space = Text(5)
    return envs


def nothing(num_envs: int) -> str:
    """No vector environment."""
    return "envs"
