"""Envs of a library that are objects in a list, each of which has a state, and envs that have none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from warpworld.adapters.external.states import StateError, check_lists, of_an_env, put, taken


class NoStates:
    """Envs of which no state can be taken; ``stateless`` says why."""

    stateless = ""

    def save(self, envs: Sequence[int]) -> list[bytes]:
        """Refused."""
        raise StateError(self.stateless)

    def load(self, envs: Sequence[int], states: Sequence[bytes]) -> None:
        """Refused."""
        raise StateError(self.stateless)


class EachHasAState:
    """Envs in a list, ``_envs``; what an adapter keeps beside each is a part of its state."""

    stateless = ""
    _envs: list[Any]

    def beside(self, env: int) -> list[Any]:
        """Values that are kept beside an env: plain data and arrays, of the same kinds at any time."""
        raise NotImplementedError

    def take_beside(self, env: int, kept: list[Any]) -> None:
        """Write back what ``beside`` returned, of this env or another."""
        raise NotImplementedError

    def save(self, envs: Sequence[int]) -> list[bytes]:
        """Take the states of envs, with what agents see and may do, and who takes part."""
        found = []
        for env in envs:
            with of_an_env(env):
                found.append(taken([self._envs[env], *self.beside(env)]))
        return found

    def load(self, envs: Sequence[int], states: Sequence[bytes]) -> None:
        """Put states back."""
        for env, state in zip(envs, states, strict=True):
            with of_an_env(env):
                self._load(env, state)

    def _load(self, env: int, state: bytes) -> None:
        whole = [self._envs[env], *self.beside(env)]
        found = put(whole, state)
        check_lists([found], tuple(map(type, whole)))
        if found[0] is not self._envs[env]:
            raise StateError("it is of another class of envs")
        self.take_beside(env, found[1:])
