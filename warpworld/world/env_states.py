"""States of single envs: taken out of the store, written back, and copied from one env to others."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from warpworld.errors import StoreError
from warpworld.managers.data_manager import DataManager
from warpworld.world.random import philox

if TYPE_CHECKING:
    import torch

Envs = Sequence[int] | slice

_LAYOUT_BYTES = 8  # in front of each state: a number for the arrays that it holds
_OF_A_CALL = ("active", "resetting")  # which envs a call is for: written anew by each
_MASK = 0xFFFFFFFF


class EnvStates:
    """The part that each env has of the state arrays, as bytes.

    Args:
        data: a sealed store.
        num_envs: envs of the world.
    """

    def __init__(self, data: DataManager, num_envs: int) -> None:
        import torch

        self._data, self._num_envs = data, num_envs
        names = [name for name in data.names("state") if data.array(name).per != "world" and name not in _OF_A_CALL]
        self._parts = [data[name].view(num_envs, -1).view(torch.uint8) for name in names]
        layout = [(name, data.array(name).dtype, tuple(data[name].shape[1:])) for name in names]
        number = hashlib.blake2b(repr(layout).encode(), digest_size=_LAYOUT_BYTES).digest()
        self._layout = torch.frombuffer(bytearray(number), dtype=torch.uint8).to(data["active"].device)

    def read(self, envs: Envs) -> torch.Tensor:
        """(envs, bytes) uint8: a copy of their states."""
        import torch

        chosen = self._indices("envs", envs)
        return torch.cat([self._layout.expand(len(chosen), -1), *(part[chosen] for part in self._parts)], dim=1)

    def write(self, envs: Envs, states: torch.Tensor) -> None:
        """Write states back, into these envs or others.

        Raises:
            StoreError: they are of a world with other arrays, or there is not one for each env.
        """
        import torch

        chosen = self._indices("envs", envs)
        width = _LAYOUT_BYTES + sum(part.shape[1] for part in self._parts)
        if states.dtype != torch.uint8 or states.shape != (len(chosen), width):
            dtype = str(states.dtype).removeprefix("torch.")
            raise StoreError(
                f"states: shape {tuple(states.shape)} {dtype}, expected ({len(chosen)}, {width}) uint8, as state() of "
                "this world returns"
            )
        states = states.to(self._layout.device)
        if not bool((states[:, :_LAYOUT_BYTES] == self._layout).all()):
            raise StoreError("states: they come from a world with other arrays")
        start = _LAYOUT_BYTES
        for part in self._parts:
            part[chosen] = states[:, start : start + part.shape[1]]
            start += part.shape[1]

    def copy(self, source: int | Sequence[int], targets: Envs, reseed: bool) -> None:
        """Copy states from env to env; with ``reseed`` the targets draw random numbers of their own from here on.

        Raises:
            StoreError: there is neither one source nor one for each target.
        """
        import torch

        to = self._indices("targets", targets)
        whence = self._indices("source", [source] if isinstance(source, (int, np.integer)) else source)
        if len(whence) not in (1, len(to)):
            raise StoreError(f"source: {len(whence)} envs, expected one, or one for each of {len(to)} targets")
        whence = whence.expand(len(to))
        # torch has no arithmetic on unsigned words
        keys, streams = self._data["random_key"].view(torch.int64), self._data["random_stream"].view(torch.int32)
        own_keys, own_streams = keys[to], streams[to]
        for part in self._parts:
            part[to] = part[whence]
        if reseed:
            keys[to], streams[to] = _next_keys(own_keys, own_streams), own_streams

    def _indices(self, name: str, envs: Envs) -> torch.Tensor:
        import torch

        every = range(self._num_envs)
        chosen = list(every[envs]) if isinstance(envs, slice) else [int(env) for env in envs]
        for env in chosen:
            if not 0 <= env < self._num_envs:
                raise StoreError(f"{name}: {env} is not one of this world's envs, which are 0 to {self._num_envs - 1}")
        return torch.tensor(chosen, dtype=torch.int64, device=self._layout.device)


def _next_keys(keys: torch.Tensor, streams: torch.Tensor) -> torch.Tensor:
    """A key that follows from each key and stream, all of them as signed words; an env never draws that number.

    Draws have an agent below 0xFFFE in their counters, or 0xFFFF.
    """
    import torch

    zero = torch.zeros_like(keys)
    words = philox((zero, streams.long() & _MASK, zero, zero + 0xFFFE), keys)
    return words[0] | words[1] << 32
