"""Recall in NumPy, for many envs at once."""

from __future__ import annotations

import numpy as np


def seen(cue: np.ndarray, timestep: int, cues: int, delay: int) -> np.ndarray:
    """(envs, cues + 1) what agents see before the step ``timestep`` of an episode, from 0."""
    observation = np.zeros((len(cue), cues + 1), np.float32)
    if timestep == 0:
        observation[np.arange(len(cue)), cue] = 1.0
    if timestep == delay + 1:
        observation[:, cues] = 1.0
    return observation


def paid(cue: np.ndarray, actions: np.ndarray, timestep: int, delay: int) -> np.ndarray:
    """(envs,) rewards of that step."""
    return np.where(actions == cue, 1.0, -1.0) if timestep == delay + 1 else np.zeros(len(cue))
