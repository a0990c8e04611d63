"""The random numbers of a phase, from a seed and a number of envs instead of a world's arrays."""

from __future__ import annotations

import numpy as np
import torch

from warpworld.world.random import Random


def random_numbers(clock: torch.Tensor, num_agents: int, first_env: int, seed: int, index: int) -> Random:
    """Those of the envs from ``first_env`` on in a world of ``seed``; arguments as of Random."""
    key = np.full(len(clock), seed, np.uint64)
    stream = (first_env + np.arange(len(clock), dtype=np.uint64)).astype(np.uint32)
    own = (torch.from_numpy(words).to(clock.device) for words in (key, stream))
    return Random(clock, *own, num_agents, index)
