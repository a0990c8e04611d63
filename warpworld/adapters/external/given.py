"""Numbers and flags of one agent, as a library hands them over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from warpworld.errors import DeclarationError, suggest

RESET = ("observations", "infos")
STEP = ("observations", "rewards", "terminations", "truncations", "infos")
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
    """A truth value, also as a number or in an array of one entry.

    Raises:
        DeclarationError: it is something else; the message begins with ``where``.
    """
    if type(given) is bool:
        return given
    value = _array(given)
    if value.dtype.kind not in "biuf" or value.size != 1:
        raise DeclarationError(f"{where} is {_said(given)}, expected True or False")
    return bool(value.ravel()[0])


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
        DeclarationError: there are other results, of other shapes, or a reward is not finite.
    """
    observations, *numbers, infos = results(given, STEP, where)
    rows = [
        row_of_numbers(each, (num_envs,), f"{where}: {name}") for each, name in zip(numbers, STEP[1:4], strict=True)
    ]
    check_rewards(rows[0], f"{where}: rewards")
    return observations, rows[0][:, None], rows[1].astype(np.bool_), rows[2].astype(np.bool_), infos


def row_of_numbers(given: Any, shape: tuple[int, ...], where: str) -> np.ndarray:
    """Convert to an array with one number for each env.

    Raises:
        DeclarationError: there are more or fewer, or none.
    """
    values = np.asarray(given)
    if values.dtype.kind not in "biuf" or values.size != shape[0]:
        raise DeclarationError(
            f"{where} are {values.dtype} of shape {values.shape}, expected one number for each env, {shape}"
        )
    return values.reshape(shape)


def check_rewards(rewards: np.ndarray, where: str) -> None:
    """Refuse rewards that are not finite, or that float32 does not hold.

    Raises:
        DeclarationError: names the first env that has such a reward.
    """
    if not rewards.size or np.abs(rewards).max() <= LARGEST:
        return
    env = int(np.flatnonzero(~(np.abs(rewards) <= LARGEST))[0])
    raise DeclarationError(f"{where}[{env}] is {rewards[env]}, expected a finite number that float32 holds")


def info_of(infos: Any, key: str, where: str) -> np.ndarray:
    """An array in infos of many envs.

    Raises:
        DeclarationError: infos are no mapping, or lack the key.
    """
    if not isinstance(infos, Mapping) or key not in infos:
        has = f"have {', '.join(map(repr, infos))}" if isinstance(infos, Mapping) else f"are {type(infos).__name__}"
        raise DeclarationError(f"{where}: infos {has}, expected {key!r}")
    return np.asarray(infos[key])


def _array(given: Any) -> np.ndarray:
    try:
        return np.asarray(given)
    except Exception:  # of whatever the library made
        return np.empty(0, object)


def _said(given: Any) -> str:
    if isinstance(given, np.ndarray):
        return f"{given.dtype} of shape {given.shape}"
    return f"{given!r:.80} ({type(given).__name__})"
