"""Random numbers of searches: counters of each env, the same whichever envs stand beside it."""

from __future__ import annotations

import numpy as np
import torch

from warpworld.world import philox

_WORD = 0xFFFFFFFF
_NO_AGENT = 0xFFFB  # in the agent's place of the counter: neither an agent nor a word that kernels draw by


def random_numbers(keys: np.ndarray, streams: np.ndarray, moves: np.ndarray, count: int) -> np.ndarray:
    """Numbers between 0 and 1 that follow from each env's key, stream and move.

    Args:
        keys: (num_envs,) uint64.
        streams: (num_envs,) uint32.
        moves: (num_envs,) int32, at least 0.
        count: of numbers.

    Returns:
        (num_envs, count) float64.
    """
    blocks = -(-count // 4)
    block = torch.arange(blocks)[None].expand(len(keys), blocks)
    stream, move = (torch.from_numpy(each.astype(np.int64))[:, None].expand_as(block) for each in (streams, moves))
    key = torch.from_numpy(keys.view(np.int64))[:, None].expand_as(block)
    words = torch.stack(philox((block, stream, move & _WORD, torch.full_like(block, _NO_AGENT)), key), 2)
    return (words.flatten(1)[:, :count].numpy() + 0.5) * 2.0**-32
