"""Numbers and flags of one agent, as a library hands them over."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from warpworld.adapters.external.results.places import Place
from warpworld.errors import DeclarationError, suggest

RESET = ("observations", "infos")
STEP = ("observations", "rewards", "terminations", "truncations", "infos")
RESET_OF_ONE = ("observation", "info")  # of one env
STEP_OF_ONE = ("observation", "reward", "terminated", "truncated", "info")
LARGEST = float(np.finfo(np.float32).max)  # that the store holds


def number(given: Any, where: str) -> float:
    """Convert to a number that a float32 holds; an array of one entry is a number, too.

    Raises:
        DeclarationError: it is something else, NaN or infinite; the message begins with ``where``.
    """
    if type(given) is not float:
        value = _array(given)
        if value.dtype.kind not in "biuf" or value.size != 1:
            raise DeclarationError(f"{where} is {_said(given)}, expected one number")
        given = float(value.ravel()[0])
    if not -LARGEST <= given <= LARGEST:
        raise DeclarationError(f"{where} is {given}, expected a finite number that float32 holds")
    return given


def flag(given: Any, where: str) -> bool:
    """A truth value, also as 0 or 1, or in an array of one entry.

    Raises:
        DeclarationError: it is something else; the message begins with ``where``.
    """
    if type(given) is bool:
        return given
    value = _array(given)
    if value.dtype.kind not in "biuf" or value.size != 1 or not are_flags(value):
        raise DeclarationError(f"{where} is {_said(given)}, expected True or False")
    return bool(value.ravel()[0])


def are_flags(values: np.ndarray) -> bool:
    """Whether numbers are truth values: 0 and 1, of any dtype."""
    return values.dtype == np.bool_ or bool(((values == 0) | (values == 1)).all())


def by_agent(given: Any, needed: Iterable[Any], known: Iterable[Any], where: str) -> Mapping[Any, Any]:
    """A mapping from agents, as a library hands it over.

    Args:
        given: what it handed over.
        needed: agents that must be in it.
        known: agents that may be; RLlib's ``__all__`` may be too.
        where: library, environment and what it is, for messages.

    Raises:
        DeclarationError: it is no mapping, lacks an agent, or has one that the environment does not declare.
    """
    if not isinstance(given, Mapping):
        raise DeclarationError(f"{where} are {type(given).__name__}, expected a dict with a key for each agent")
    for agent in needed:
        if agent not in given:
            raise DeclarationError(f"{where} lack agent {agent!r}, expected a key for each agent that took part")
    for agent in given:
        if agent not in known and agent != "__all__":
            hint = suggest(str(agent), map(str, known))
            raise DeclarationError(f"{where} have the key {agent!r}, which is not one of possible_agents.{hint}")
    return given


def infos_by_agent(given: Any, where: str) -> Mapping[Any, Any]:
    """Infos of agents, a mapping; empty for None.

    Raises:
        DeclarationError: they are something else.
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise DeclarationError(f"{where}: infos are {type(given).__name__}, expected a dict with a key for each agent")
    return given


def infos_of(given: Any, where: str) -> Mapping[Any, Any]:
    """Infos of one env, a mapping.

    Raises:
        DeclarationError: they are something else; the message begins with ``where``.
    """
    if not isinstance(given, Mapping):
        raise DeclarationError(f"{where} is {_said(given)}, expected a dict")
    return given


def results(given: Any, names: tuple[str, ...], where: str) -> tuple[Any, ...]:
    """The results of a call, as a tuple.

    Raises:
        DeclarationError: they are not as many as the names.
    """
    if not isinstance(given, tuple) or len(given) != len(names):
        what = f"a tuple of {len(given)}" if isinstance(given, tuple) else type(given).__name__
        raise DeclarationError(f"{where} returned {what}, expected ({', '.join(names)})")
    return given


def step_of(given: Any, num_envs: int, where: str) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, Any]:
    """A step of envs with one agent each.

    Returns:
        Observations and infos as they were given, rewards (num_envs, 1), and ends (num_envs,) bool.

    Raises:
        DeclarationError: there are other results, of other shapes; a reward is not finite, or an end no truth value.
    """
    observations, rewards, *ends, infos = results(given, STEP, str(Place(where, call="step()")))
    envs = np.arange(num_envs)
    paid = rewards_of(rewards, envs, where)
    terminated, truncated = (ends_of(end, envs, where, name) for end, name in zip(ends, STEP[2:4], strict=True))
    return observations, paid[:, None], terminated, truncated, infos


def rewards_of(given: Any, envs: np.ndarray, where: str, row: str = "env") -> np.ndarray:
    """The rewards of a step, one for each row of a batch.

    Args:
        given: what a library handed over.
        envs: (rows,) the env of each row.
        where: library and environment.
        row: the owner of a row, for messages.

    Raises:
        DeclarationError: there are more or fewer rows; or one is not finite, or does not fit float32.
    """
    rewards = _rows(given, envs, where, "rewards", row)
    if rewards.dtype == object or (rewards.size and not np.abs(rewards).max() <= LARGEST):  # NaN too
        return _one_by_one(number, rewards, envs, where, "reward")
    return rewards


def ends_of(given: Any, envs: np.ndarray, where: str, name: str) -> np.ndarray:
    """Ends of a step, one for each env, as truth values; arguments as those of ``rewards_of``.

    Raises:
        DeclarationError: there are more or fewer rows, or one is no truth value.
    """
    ends = _rows(given, envs, where, name, "env")
    if ends.dtype == object or not are_flags(ends):
        return _one_by_one(flag, ends, envs, where, name)
    return ends.astype(np.bool_)


def _one_by_one(
    check: Callable[[Any, str], Any], values: np.ndarray, envs: np.ndarray, where: str, name: str
) -> np.ndarray:
    """Check the rows of a batch; an error names the env of the first that is wrong."""
    return np.array(
        [
            check(value, f"{Place(where, env, call='step()')}: {name}")
            for env, value in zip(envs.tolist(), values.tolist(), strict=True)
        ]
    )


def _rows(given: Any, envs: np.ndarray, where: str, name: str, row: str) -> np.ndarray:
    """Convert to an array with one number, or object, for each row of a batch."""
    values = _array(given)
    if values.dtype.kind not in "biufO" or values.size != envs.size:
        raise DeclarationError(
            f"{Place(where, call='step()')}: {name} are {values.dtype} of shape {values.shape}, expected one number "
            f"for each {row}, {envs.shape}"
        )
    return values.reshape(envs.shape)


def info_of(infos: Any, key: str, where: str) -> np.ndarray:
    """An array in infos of many envs.

    Raises:
        DeclarationError: infos are no mapping, or lack the key.
    """
    if not isinstance(infos, Mapping) or key not in infos:
        has = f"have {', '.join(map(repr, infos))}" if isinstance(infos, Mapping) else f"are {type(infos).__name__}"
        raise DeclarationError(f"{where}: infos {has}, expected {key!r}")
    return np.asarray(infos[key])


def ids_of(infos: Any, envs: np.ndarray, where: str) -> np.ndarray:
    """The env of each row of what a pool returned: ``infos["env_id"]``.

    Args:
        infos: of a pool.
        envs: the envs whose rows are expected, in any order.
        where: library, environment and call.

    Raises:
        DeclarationError: it is missing, or names other envs.
    """
    found = info_of(infos, "env_id", where)
    if not np.array_equal(np.sort(found.ravel()), np.sort(envs)):
        raise DeclarationError(f"{where}: infos['env_id'] is {found.tolist()}, expected each of {envs.tolist()} once")
    return found.ravel()


def _array(given: Any) -> np.ndarray:
    try:
        return np.asarray(given)
    except Exception:  # of whatever the library made
        return np.empty(0, object)


def _said(given: Any) -> str:
    if isinstance(given, np.ndarray):
        return f"{given.dtype} of shape {given.shape}"
    return f"{given!r:.80} ({type(given).__name__})"
