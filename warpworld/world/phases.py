"""Phases written in Python among the steps of a world."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from warpworld.managers import DataManager, RunKernel, Step
from warpworld.world.random import Random

if TYPE_CHECKING:
    import torch


class PhaseArrays:
    """Arguments of a Python phase: the store's arrays by name, and ``random`` numbers of its own.

    Reading an array gives the torch view, assigning copies into place.
    """

    def __init__(self, data: DataManager, random: Random) -> None:
        self._data = data
        self.random = random

    def __getitem__(self, name: str) -> torch.Tensor:
        return self._data[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self._data[name] = value


@dataclass(frozen=True)
class PythonStep:
    """A Python phase: a callable ``fn(arrays, active)``, and its number among the world's phases and resets."""

    phase: Callable[..., None]
    index: int

    def frozen(self, data: DataManager, num_agents: int) -> Callable[[], None]:
        """The phase as a call without arguments, on a sealed store."""
        random = Random(data["clock"], data["random_key"], data["random_stream"], num_agents, self.index)
        arrays, active, phase = PhaseArrays(data, random), data["active"], self.phase

        def run() -> None:
            random.restart()
            phase(arrays, active)

        return run


def parts_of(steps: Iterable[Step | PythonStep]) -> Iterator[tuple[Step, ...] | PythonStep]:
    """The parts of a sequence of steps that are one call each, in order.

    A call may take some envs through all of its steps before others begin. So a kernel that touches other envs' parts
    stands by itself, and so does a Python phase.
    """
    together: list[Step] = []
    for step in steps:
        if isinstance(step, PythonStep) or (isinstance(step, RunKernel) and not step.own_env_only):
            if together:
                yield tuple(together)
            together = []
            yield step if isinstance(step, PythonStep) else (step,)
        else:
            together.append(step)
    if together:
        yield tuple(together)


def in_turn(calls: Sequence[Callable[[], None]], turn: threading.RLock) -> Callable[[], None]:
    """Join several calls into one, which makes them one after the other.

    Args:
        calls: in order.
        turn: is held while they are made, so that threads take turns.
    """
    if len(calls) == 1:
        return calls[0]
    acquire, release = turn.acquire, turn.release

    def run() -> None:
        acquire()  # half as long as a `with` takes
        try:
            for call in calls:
                call()
        finally:
            release()

    return run


def again(call: Callable[[], None], times: int, counter: torch.Tensor) -> Callable[[], None]:
    """Repeat a call so many times, and add 1 to ``counter``, () int32, after each."""

    def run() -> None:
        for _ in range(times):
            call()
            counter.add_(1)

    return run
