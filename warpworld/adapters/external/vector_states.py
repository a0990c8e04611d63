"""States of the envs in Gymnasium's vector environments, also where worker processes have them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorWrapper

from warpworld.adapters.external.calls import LOAD_ERROR, STATE, Calling, quietly
from warpworld.adapters.external.states import StateError, of_an_env, put, states_itself, taken
from warpworld.errors import DeclarationError


class VectorStates:
    """Takes states of single envs out of a vector environment, and puts them back.

    Its envs are ``CheckedEnv``, or it has ``get_state(env)`` and ``set_state(env, state)`` itself.

    Attributes:
        stateless: why that cannot be; empty where it can.

    Args:
        envs: the vector environment.
        where: library and environment, for messages.
    """

    def __init__(self, envs: Any, where: str) -> None:
        self._envs, self._where, self.stateless = envs, where, ""
        name = type(envs).__name__
        self._has_own = states_itself(type(envs), 1)
        if self._has_own:
            return
        if isinstance(envs, VectorWrapper):
            self.stateless = f"{name} is around all envs at once"
        elif type(envs) not in (SyncVectorEnv, AsyncVectorEnv):
            self.stateless = f"{name} gives no state of an env"
        elif type(envs) is AsyncVectorEnv and envs.autoreset_mode is AutoresetMode.NEXT_STEP:
            self.stateless = "worker processes that reset envs in the next step do not say which; use SAME_STEP"

    def take(self, envs: Sequence[int]) -> list[bytes]:
        """States of some envs; of all in worker processes, which are all asked at once.

        Raises:
            StateError: one cannot be taken.
        """
        if self._has_own:
            found: dict[int, Any] = {env: self._asked(env) for env in envs}
        elif type(self._envs) is SyncVectorEnv:
            found = {env: self._envs.envs[env].get_wrapper_attr(STATE)() for env in envs}
        else:
            with Calling(self._where, STATE, is_attribute=True), quietly(self._envs):
                found = dict(enumerate(self._envs.call(STATE)))
        for env in envs:
            if isinstance(found[env], str):
                raise StateError(f"env {env}: {found[env]}")
        return [found[env] for env in envs]

    def _asked(self, env: int) -> bytes | str:
        """The state that a vector environment with ``get_state(env)`` returns, or why it returns none."""
        try:
            with Calling(self._where, "get_state", action=env):
                state = self._envs.get_state(env)
            return taken(state)
        except (DeclarationError, StateError) as error:
            return f"get_state(): {error}"

    def put(self, envs: Sequence[int], states: Sequence[bytes]) -> None:
        """Put states back.

        Raises:
            StateError: an env does not take its state.
        """
        if self._has_own:
            for env, state in zip(envs, states, strict=True):
                with of_an_env(env):
                    given = put(None, state)
                with Calling(self._where, "set_state", action=env):
                    self._envs.set_state(env, given)
            return
        values: list[bytes | None] = [None] * self._envs.num_envs
        for env, state in zip(envs, states, strict=True):
            values[env] = state
        if type(self._envs) is SyncVectorEnv:
            for env in envs:
                self._envs.envs[env].set_wrapper_attr(STATE, values[env])
            errors = {env: self._envs.envs[env].get_wrapper_attr(LOAD_ERROR) for env in envs}
        else:
            with Calling(self._where, STATE, is_attribute=True), quietly(self._envs):
                self._envs.set_attr(STATE, values)
                errors = dict(enumerate(self._envs.call(LOAD_ERROR)))
        for env in envs:
            if errors[env]:
                raise StateError(f"env {env}: {errors[env]}")

    def flags(self, env: int) -> list[bool]:
        """Whether an env ended in its last step, as a vector environment in this process remembers it."""
        return [bool(self._envs._autoreset_envs[env])] if type(self._envs) is SyncVectorEnv else []

    def set_flags(self, env: int, flags: list[bool]) -> None:
        """Write back what ``flags`` returned."""
        for flag in flags:
            self._envs._autoreset_envs = np.array(self._envs._autoreset_envs)
            self._envs._autoreset_envs[env] = flag
