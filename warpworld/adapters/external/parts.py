"""Envs of a library in several parts, each of which steps in a thread of its own while a policy acts for the next."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import fields
from itertools import pairwise
from typing import Any

import numpy as np

from warpworld.adapters.external.calls import Envs, Observations, Outcome
from warpworld.adapters.external.states import StateError
from warpworld.environment import Group
from warpworld.errors import DeclarationError, WarpworldError

NAME = "warpworld-part"  # of the threads


def ranges_of(num_envs: int, parts: int) -> list[slice]:
    """The envs of each part, as equal in number as can be.

    Raises:
        DeclarationError: there are fewer envs than parts.
    """
    if parts > num_envs:
        raise DeclarationError(
            f"external: parts={parts}, but the world has {num_envs} env{'s' * (num_envs != 1)}, expected at most as "
            "many parts; lower env.parts or raise trainer.num_envs"
        )
    ends = [num_envs * number // parts for number in range(parts + 1)]
    return [slice(first, end) for first, end in pairwise(ends)]


class Parts:
    """Several ``Envs`` as one: env i's trajectory is the one that it has without parts.

    Attributes:
        ranges: the envs of each part.
        requested: arrays on request, which all parts have alike.
        stateless: why states of envs cannot be taken, in all parts alike.

    Args:
        opened: opens the envs of a range.
        ranges: the envs of each part.
    """

    def __init__(self, opened: Callable[[slice], Envs], ranges: Sequence[slice]) -> None:
        self.ranges, self._parts = list(ranges), list[Envs]()
        try:
            for envs in ranges:
                self._parts.append(opened(envs))
        except BaseException:
            self._close_parts()
            raise
        self.stateless = self._parts[0].stateless
        self._threads = ThreadPoolExecutor(len(self._parts), NAME)
        self._steps: list[Future[Outcome] | None] = [None] * len(self._parts)
        self._shown: list[Observations] = []  # by each part, last
        self.requested = self._parts[0].requested

    @property
    def groups(self) -> tuple[Group, ...]:
        """Agents in groups, which all parts have alike."""
        return self._parts[0].groups

    @property
    def action_mask(self) -> np.ndarray | None:
        """Masks of all parts for what they showed last; None if there are none."""
        masks = [part.action_mask for part in self._parts]
        return _joined(masks) if all(mask is not None for mask in masks) else None

    def reset(self, seed: int) -> Observations:
        """Begin the first episode of every env."""
        self._shown = [
            self._of_part(number, lambda part, own: part.reset(seed + own.start)) for number in range(len(self._parts))
        ]
        self.requested = self._parts[0].requested
        return _all_observations(self._shown)

    def start(self, number: int, actions: Mapping[str, np.ndarray]) -> None:
        """Let a part step in its thread; ``step`` waits for it.

        Args:
            number: of the part.
            actions: of its envs, as of ``Envs.step``; they are copied.
        """
        own = {group: np.array(rows) for group, rows in actions.items()}
        self._steps[number] = self._threads.submit(
            self._of_part,
            number,
            lambda part, _: part.step(own),
        )

    def step(self, actions: Mapping[str, np.ndarray]) -> Outcome:
        """A step of every env: of the parts that have not been started, with these actions; it waits for all."""
        for number, envs in enumerate(self.ranges):
            if self._steps[number] is None:
                self.start(number, {group: rows[envs] for group, rows in actions.items()})
        outcomes = self._waited()
        self._shown = [outcome.observations for outcome in outcomes]
        return _all_outcomes(outcomes)

    def _waited(self) -> list[Outcome]:
        """Outcomes of all parts that step; an error is raised when none steps any more."""
        steps = [step for step in self._steps if step is not None]
        self._steps = [None] * len(self._parts)
        errors = [error for step in steps if (error := step.exception()) is not None]
        if errors:
            raise errors[0]
        return [step.result() for step in steps]

    def begin(self, envs: np.ndarray) -> Observations:
        """First observations of new episodes; of a part without any what it showed last."""
        for number, own in enumerate(self.ranges):
            if envs[own].any():
                self._shown[number] = self._of_part(number, lambda part, which: part.begin(envs[which]))
        return _all_observations(self._shown)

    def save(self, envs: Sequence[int]) -> list[bytes]:
        """Take the states of envs, of whichever parts."""
        states = dict[int, bytes]()
        for number, own, theirs in self._among(envs):
            states.update(zip(own, self._of_part(number, _saving(theirs)), strict=True))
        return [states[env] for env in envs]

    def load(self, envs: Sequence[int], states: Sequence[bytes]) -> None:
        """Put states back."""
        given = dict(zip(envs, states, strict=True))
        for number, own, theirs in self._among(envs):
            self._of_part(number, _loading(theirs, [given[env] for env in own]))

    def _among(self, envs: Sequence[int]) -> Iterator[tuple[int, list[int], list[int]]]:
        """The parts that have some of these envs: number, the envs, and these as the part counts them."""
        for number, part in enumerate(self.ranges):
            own = [env for env in envs if part.start <= env < part.stop]
            if own:
                yield number, own, [env - part.start for env in own]

    def close(self) -> None:
        """Wait for parts that step, and let go of the envs of all."""
        with suppress(Exception):  # of a step whose results are not wanted any more
            self._waited()
        self._threads.shutdown()
        self._close_parts()

    def _close_parts(self) -> None:
        errors = []
        for part in self._parts:
            try:
                part.close()
            except WarpworldError as error:
                errors.append(error)
        if errors:
            raise errors[0]

    def _of_part(self, number: int, call: Callable[[Envs, slice], Any]) -> Any:
        """Call a part; its errors count envs from the part's first one, and say so."""
        envs = self.ranges[number]
        try:
            return call(self._parts[number], envs)
        except (WarpworldError, StateError) as error:
            if not envs.start:
                raise
            raise type(error)(
                f"{error} (in part {number} of {len(self.ranges)}, whose env 0 is env {envs.start})"
            ) from error


def _saving(envs: Sequence[int]) -> Callable[[Envs, slice], list[bytes]]:
    return lambda part, _: part.save(envs)


def _loading(envs: Sequence[int], states: Sequence[bytes]) -> Callable[[Envs, slice], None]:
    return lambda part, _: part.load(envs, states)


def _all_outcomes(outcomes: Sequence[Outcome]) -> Outcome:
    """Outcomes of all parts, one behind the other."""
    columns = dict[str, Any]()
    for column in fields(Outcome):
        values = [getattr(outcome, column.name) for outcome in outcomes]
        if column.name == "observations":
            columns[column.name] = _all_observations(values)
        elif any(value is not None for value in values):
            columns[column.name] = _joined(values)
    return Outcome(**columns)


def _all_observations(parts: Sequence[Observations]) -> Observations:
    """Observations of all parts, one behind the other: of each group, or of each of its keys."""
    return {
        group: {key: _joined([part[group][key] for part in parts]) for key in first}
        if isinstance(first, Mapping)
        else _joined([part[group] for part in parts])
        for group, first in parts[0].items()
    }


def _joined(arrays: Sequence[Any]) -> np.ndarray:
    return np.concatenate([np.asarray(array) for array in arrays])
