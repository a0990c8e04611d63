"""Random numbers of a population: counters, so that a resumed run needs no state of them."""

from __future__ import annotations

import zlib

import torch

from warpworld.world import philox

_WORD = 0xFFFFFFFF


class Draws:
    """Numbers of one ranking, each by its member and a name.

    Args:
        seed: of the population.
        ranking: number of the ranking; 0 is the beginning.
    """

    def __init__(self, seed: int, ranking: int) -> None:
        self._seed, self._ranking = seed, ranking

    def uniform(self, member: int, name: str) -> float:
        """A number in [0, 1) with 53 random bits."""
        words = (member, zlib.crc32(name.encode()), self._ranking & _WORD, self._ranking >> 32)
        counter = tuple(torch.tensor([word]) for word in words)
        high, low, _, _ = (int(word) for word in philox(counter, self._seed))
        return ((high >> 5) * 2**26 + (low >> 6)) / 2**53

    def below(self, count: int, member: int, name: str) -> int:
        """A whole number in 0 .. count - 1."""
        return int(self.uniform(member, name) * count)
