"""A Gymnasium env whose results are checked before a vector environment puts them into its arrays."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from warpworld.adapters.external.forms import Leaf
from warpworld.adapters.external.results import (
    LARGEST,
    RESET_OF_ONE,
    STEP_OF_ONE,
    Place,
    flag,
    infos_of,
    is_of_numbers,
    number,
    results,
)
from warpworld.adapters.external.states import StateError, put, taken
from warpworld.environment import leaves
from warpworld.errors import DeclarationError

# Names under which a vector environment asks for a state, sets it, and asks what stood against that.
STATE, LOAD_ERROR = "warpworld_state", "warpworld_load_error"
_NUMBERS, _TRUTHS = (float, int), (bool, np.bool_)


class BadResultError(Exception):
    """A result that does not fit the env's own spaces or the protocol; the message says which, and what was expected.

    It is no ``WarpworldError``, since library and index of the env are added where they are known.
    """


class CheckedEnv(gymnasium.Wrapper):
    """Refuses results that a vector environment would cast silently, or reject without naming them.

    Args:
        env: to be checked.

    Raises:
        BadResultError: by ``reset`` and ``step``.
    """

    def __init__(self, env: gymnasium.Env) -> None:
        super().__init__(env)
        self._load_error = ""
        found = [Leaf(path, space, space, False) for path, space in leaves(env.observation_space)]
        self._leaves = [leaf for leaf in found if is_of_numbers(leaf.space)]
        is_one = len(found) == len(self._leaves) == 1 and not found[0].path
        self._shape: Any = found[0].space.shape if is_one else None
        self._dtype: Any = found[0].space.dtype if is_one else None
        space: Any = found[0].space
        is_choice = is_one and isinstance(space, gymnasium.spaces.Discrete)
        self._choices = range(int(space.start), int(space.start + space.n)) if is_choice else range(0)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        """Reset the env, and check what it returns; its spaces get the seed too, since envs may sample from them."""
        if seed is not None:
            self.env.action_space.seed(seed)
            self.env.observation_space.seed(seed)
        given = self.env.reset(seed=seed, options=options)
        with _Reporting():
            observation, info = results(given, RESET_OF_ONE, "reset()")
            self._check(observation, "reset()")
            infos_of(info, "reset(): info")
        return given

    def step(self, action: Any) -> Any:
        """Step the env, and check what it returns; the reward becomes a number, ends become truth values."""
        given = self.env.step(action)
        if _is_usual(given) and self._is_plain(given[0]):
            return given
        with _Reporting():
            observation, reward, terminated, truncated, info = results(given, STEP_OF_ONE, "step()")
            reward = number(reward, "step(): reward")
            terminated, truncated = flag(terminated, "step(): terminated"), flag(truncated, "step(): truncated")
            self._check(observation, "step()")
            infos_of(info, "step(): info")
        return observation, reward, terminated, truncated, info

    def __getattr__(self, name: str) -> Any:
        """An attribute of the env, which a function that has made it may still ask for."""
        if name.startswith("_") or name == "env":
            raise AttributeError(name)
        return getattr(self.env, name)

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute of the env; those that begin with an underscore are the wrapper's own."""
        if name.startswith("_") or name == "env":
            super().__setattr__(name, value)
        else:
            setattr(self.env, name, value)

    def _saved(self) -> bytes | str:
        """The env's state, or why none can be taken: an exception would end a worker process."""
        try:
            return taken(self.env)
        except StateError as error:
            return str(error)

    def _load(self, state: bytes | None) -> None:
        """Put a state back; ``_load_error`` says why it could not be."""
        self._load_error = ""
        if state is not None:
            try:
                put(self.env, state)
            except StateError as error:
                self._load_error = str(error) or "it is damaged"

    def has_wrapper_attr(self, name: str) -> bool:
        """Whether the env has an attribute; the wrapper's own are not for vector environments."""
        return self.env.has_wrapper_attr(name)

    def get_wrapper_attr(self, name: str) -> Any:
        """An attribute of the env, for ``get_attr`` and ``call`` of a vector environment, or its state."""
        if name == STATE:
            return self._saved
        if name == LOAD_ERROR:
            return self._load_error
        return self.env.get_wrapper_attr(name)

    def set_wrapper_attr(self, name: str, value: Any, *, force: bool = True) -> bool:
        """Set an attribute of the env, for ``set_attr`` of a vector environment; arguments as Gymnasium's.

        Gymnasium's own would set it on this wrapper, since ``__getattr__`` finds it here. A state is put back.
        """
        if name == STATE:
            self._load(value)
            return True
        return self.env.set_wrapper_attr(name, value, force=force)

    def _is_plain(self, observation: Any) -> bool:
        """Whether an observation is one array or choice as its space declares it, which takes less time to see."""
        if type(observation) is int:
            return observation in self._choices
        return (
            type(observation) is np.ndarray
            and observation.shape == self._shape
            and (observation.dtype is self._dtype or observation.dtype == self._dtype)
        )

    def _check(self, observation: Any, call: str) -> None:
        if not self._is_plain(observation):
            place = Place("", call=call)
            for leaf in self._leaves:
                values = leaf.numbers(observation, place)
                is_exact = np.can_cast(values.dtype, leaf.space.dtype or object)
                if not is_exact:  # a choice out of range is found in the batch
                    leaf.check_exact(values, place)


def _is_usual(given: Any) -> bool:
    """Whether a step's results have types that a vector environment takes as they are, and a reward of float32."""
    if type(given) is not tuple or len(given) != len(STEP_OF_ONE):
        return False
    _, reward, terminated, truncated, info = given
    return (
        type(reward) in _NUMBERS
        and -LARGEST <= reward <= LARGEST
        and type(terminated) in _TRUTHS
        and type(truncated) in _TRUTHS
        and type(info) is dict
    )


class _Reporting:
    """Turns a refusal of a result into one that names the env later."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, DeclarationError):
            raise BadResultError(str(error)) from error
