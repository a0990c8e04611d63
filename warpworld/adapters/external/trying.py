"""A trial of a library's envs: their groups, and whether a copy in an env's state continues as the env does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from warpworld.adapters.external.calls import Envs, Outcome
from warpworld.adapters.external.states import StateError
from warpworld.environment import Group, action_parts
from warpworld.errors import DeclarationError, StoreError, WarpworldError

BEFORE, AFTER = 8, 16  # steps until the state is taken, and those that are compared
_KIB = 1024
_SEEDS = (0, 1)  # of the env, and of its copy


@dataclass(frozen=True)
class Trial:
    """Findings of a trial.

    Attributes:
        groups: agent groups.
        requested: arrays on request that steps fill.
        stateless: why an env's state cannot be taken and put back; empty where it can.
        nbytes: bytes of the largest state that was taken.
    """

    groups: tuple[Group, ...]
    requested: tuple[str, ...]
    stateless: str
    nbytes: int


def tried(opened: Callable[[], Envs], known: tuple[str, int] | None = None) -> Trial:
    """Open an env, and a copy of it unless it says that it has no states, and step them side by side.

    Args:
        opened: opens one env.
        known: ``stateless`` and ``nbytes`` of an earlier trial of the same envs, which is not repeated.

    Raises:
        DeclarationError: an env cannot be opened or reset.
    """
    envs = opened()
    try:
        first = envs.reset(_SEEDS[0])
        stateless, nbytes = (envs.stateless, 0) if known is None else known
        groups, requested = tuple(envs.groups), tuple(envs.requested)
        if known is None and not stateless:
            stateless, nbytes = _of_states(envs, opened, first)
    except BaseException:
        with suppress(WarpworldError):  # the first error is the one to report
            envs.close()
        raise
    envs.close()
    return Trial(groups, requested, stateless, nbytes)


def _of_states(envs: Envs, opened: Callable[[], Envs], first: Any) -> tuple[str, int]:
    """Why states cannot be taken and put back, and the bytes of the largest."""
    try:
        with closing(opened()) as copy:
            return "", _Pair(envs, copy).compared(first)
    except (DeclarationError, StateError) as error:
        return str(error), 0


class _Pair:
    """An env and a copy.

    Args:
        envs: one env that was reset with the first seed.
        copy: another one, new.
    """

    def __init__(self, envs: Envs, copy: Envs) -> None:
        self._envs, self._copy, self._generator = envs, copy, np.random.default_rng(0)

    def compared(self, first: Any) -> int:
        """Step both, the copy in the env's state: each result is the same, also after a reset, and once more.

        Args:
            first: observations of the env's first reset.

        Returns:
            Bytes of the largest state.

        Raises:
            StateError: something differs.
        """
        as_made = self._as_made()
        self._copy.reset(_SEEDS[1])
        for _ in range(BEFORE):
            for envs in (self._envs, self._copy):
                _stepped(envs, self._actions(envs))
        # a copy in the same state
        state = self._envs.save([0])[0]
        self._copy.load([0], [state])
        if self._copy.save([0])[0] != state:
            raise StateError("a copy that has loaded an env's state saves another one")
        # the same steps, and once more from the same state
        actions, outcomes = [], []
        for step in range(AFTER):
            actions.append(self._actions(self._envs))
            outcomes.append(_stepped(self._envs, actions[-1], step == AFTER // 2))
            copied = _stepped(self._copy, actions[-1], step == AFTER // 2)
            _compare(outcomes[-1], copied, step + 1, "a copy")
        last = self._envs.save([0])[0]
        self._envs.load([0], [state])
        for step in range(AFTER):
            again = _stepped(self._envs, actions[step], step == AFTER // 2)
            _compare(outcomes[step], again, step + 1, "an env that went back")
        # the first episode, which evaluations play again
        if as_made is not None:
            self._copy.load([0], [as_made])
        _compare([{"observations": first}], [{"observations": self._copy.reset(_SEEDS[0])}], 0, "a used env")
        return max(len(state), len(last))

    def _as_made(self) -> bytes | None:
        """The state of the copy before its first reset; None of one that cannot say it then."""
        try:
            return self._copy.save([0])[0]
        except StateError:
            return None

    def _actions(self, envs: Envs) -> dict[str, np.ndarray]:
        """Random actions that an env allows, as the store has them."""
        mask, first_agent, found = envs.action_mask, 0, {}
        for group in envs.groups:
            agents = slice(first_agent, first_agent + group.size)
            first_agent += group.size
            numbers, first = [], 0
            for part in action_parts(group.action):
                if not part.heads:
                    low, high = (np.clip(end, -1.0, 1.0) for end in (part.low, part.high))
                    numbers.append(self._generator.uniform(low, high, (group.size, low.size)).astype(np.float32))
                for choices in part.heads:
                    chance = self._generator.random((group.size, choices))
                    if mask is not None:
                        chance += mask[0, agents, first : first + choices]
                    numbers.append(chance.argmax(-1)[:, None].astype(np.int32))
                    first += choices
            found[group.name] = np.concatenate(numbers, -1)[None]
        return found


def _stepped(envs: Envs, actions: Mapping[str, np.ndarray], restart: bool = False) -> list[Any]:
    """Results of a step, and of the reset behind it, if the episode has ended or is to be cut."""
    outcome = envs.step(actions)
    found: list[Any] = [_kept(outcome), {"action masks": _kept(envs.action_mask)}]
    if restart or outcome.terminated.any() or outcome.truncated.any():
        with suppress(StoreError):  # some are reset after their end alone
            begun = _kept(envs.begin(np.ones(1, np.bool_)))
            found += [{"observations": begun, "action masks": _kept(envs.action_mask)}]
    return found


def _kept(value: Any) -> Any:
    """A copy of results, which a library may write into again."""
    if isinstance(value, Outcome):
        return {column.name: _kept(getattr(value, column.name)) for column in fields(Outcome)}
    if isinstance(value, Mapping):
        return {key: _kept(entry) for key, entry in value.items()}
    return None if value is None else np.array(value)


def _compare(own: list[Any], others: list[Any], step: int, who: str) -> None:
    """Check that results are the same bit for bit."""
    for one, other in zip(own, others, strict=True):
        for (name, mine), (_, theirs) in zip(_leaves(one), _leaves(other), strict=False):
            if mine.shape != theirs.shape or mine.tobytes() != theirs.tobytes():
                raise StateError(f"{who} has other {name} {f'in step {step}' if step else 'after its reset'}")


def _leaves(value: Any, name: str = "") -> Iterator[tuple[str, np.ndarray]]:
    if isinstance(value, Mapping):
        for key, entry in value.items():
            yield from _leaves(entry, name or str(key))
    elif value is not None:
        yield name, np.asarray(value)


def room_for(nbytes: int) -> int:
    """Bytes of the store for states of which the largest in a trial has ``nbytes``: they may grow."""
    more = max(nbytes // 4, min(nbytes, 16 * _KIB)) + 4 * _KIB
    return -(-(nbytes + more) // _KIB) * _KIB
