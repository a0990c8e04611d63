"""Writes what one env of a world does, step by step, as CSV or as arrays."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

import numpy as np

from warpworld.checking.tracing.columns import sources
from warpworld.checking.tracing.tables import Table, is_trace, table_for
from warpworld.errors import DeclarationError, KernelError, RunError, StoreError, suggest
from warpworld.files import check_file, reason, replacing
from warpworld.world import World

if TYPE_CHECKING:
    import torch

logger = logging.getLogger(__name__)

LEFT_OUT = "active"  # it speaks of launches, not of the env


class Trace:
    """A table of one env, as a context manager: one row for each step and agent, one column for each number.

    Rows begin with ``step`` (of the world, 0 for the first reset), ``episode`` (from 1), ``event`` ("reset" or "step"),
    ``agent`` and ``group``. A column ``x`` stands for a number of the array ``x``, ``velocity[0]`` and ``grid[1][2]``
    for parts of larger ones; numbers of the env and of the world are repeated in each agent's row. A "step" row shows
    what the step's phases have left, before an ended env was reset; behind the last step of an episode come the rows
    of the "reset" that began the next, with the same ``step``. Cells are empty where there is no number: actions,
    rewards and ends at a reset, an array of one group at another's agents. Behind an array of actions of which some
    have names (``Group.action_names``) comes a column with these, ``actions_name``.

    A file called ``.npz`` holds arrays instead: ``step``, ``episode`` and ``event``, each (events,), ``group``,
    (num_agents,), and each array x with the shape (events, shape of x in one env). An event is what a CSV file shows in
    a row for each agent, and numbers that a CSV file leaves out are 0. All are in memory until the context ends.

    Floats are the shortest text that reads back as the same number of their dtype, bools are 0 and 1. An array called
    like one of the first five columns has a ``_`` behind its name.

    The file appears when the context ends, whole or not at all; where a kernel faults, with the steps before the fault.
    A world can have several traces, made before its first reset.

    Args:
        world: before its first reset().
        env: which one, 0 .. num_envs - 1.
        path: of the file, ``.csv`` or ``.npz``; an older trace is replaced, any other file is not.
        arrays: names of those to show; None for all but ``active``.
        episodes: to show; later steps are left out. None for all.

    Attributes:
        path: see above.
        rows: written so far: of a CSV file its lines, of arrays their events.
        timestep: steps of the present episode.
        done: whether all ``episodes`` were shown.

    Raises:
        DeclarationError: the world has no such env.
        StoreError: the world was reset already, or there is no such array.
        RunError: the file cannot be written, or is there and no trace; the trace is not open, or not reset yet.
    """

    def __init__(
        self,
        world: World,
        env: int,
        path: str | Path,
        arrays: Sequence[str] | None = None,
        episodes: int | None = None,
    ) -> None:
        # an env of a world that still takes arrays
        if not isinstance(env, (int, np.integer)) or not 0 <= env < world.num_envs:
            raise DeclarationError(f"env {env!r} cannot be traced: the world has envs 0 to {world.num_envs - 1}")
        if world.data.sealed:
            raise StoreError("a trace asks for memory; make it before the first reset() of its world")
        self._world, self._env, self.path, self.rows = world, int(env), Path(path), 0
        self._step, self._episode, self._episodes = 0, 0, episodes
        self.timestep, self.done = 0, False
        # arrays to show, and copies of them as they are before a reset
        self._shown = sources(world, [world.data.array(name) for name in _chosen(world, arrays)])
        _check_replaceable(self.path)
        names = dict.fromkeys([*(source.array.name for source in self._shown), "terminated", "truncated"])
        self._copies = world.recorded_arrays(names)  # which traces of several envs share
        # rows of agents, and the file
        self._agents = sorted((i, group.name) for group in world.groups.values() for i in group.numbers)
        self._files = contextlib.ExitStack()
        self._table: Table | None = None

    def __enter__(self) -> Trace:
        """Open the file."""
        with _writing(self.path):
            file = self._files.enter_context(replacing(self.path))
            self._table = table_for(self.path)(file, self._shown, self._agents)
            self._files.callback(self._table.finish)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the file its name, unless something went wrong that is not the kernel's fault."""
        with _writing(self.path):
            if isinstance(error, KernelError):
                logger.info("%s ends with step %d, the last before the fault", self.path, self._step)
                self._files.close()
            else:
                self._files.__exit__(kind, error, trace)

    def reset(self) -> None:
        """Write the env as a reset of the world has left it: a new episode begins."""
        self._episode += 1
        self.timestep = 0
        self._write("reset", {name: self._own(name) for name in self._copies})

    def step(self) -> None:
        """Write the world's step that has just been made, and the reset in it if the env ended."""
        # a trace that is in an episode
        if self._episode == 0:
            raise RunError("a trace begins with an episode; call its reset() behind the world's, before step()")
        if self.done:
            return
        # the step's row
        self._step += 1
        self.timestep += 1
        values = {
            name: self._own(name) if copy is None else self._world[copy][self._env]
            for name, copy in self._copies.items()
        }
        self._write("step", values)
        # the next episode, unless enough are written
        if bool(values["terminated"]) or bool(values["truncated"]):
            self.done = self._episode == self._episodes
            if not self.done:
                self.reset()

    def _own(self, name: str) -> torch.Tensor:
        """Contents of an array of this env, or of the world."""
        return self._world[name] if self._copies[name] is None else self._world[name][self._env]

    def _write(self, event: str, values: Mapping[str, torch.Tensor]) -> None:
        if self._table is None:
            raise RunError(f"'{self.path}' is not open; write a trace inside of `with Trace(...) as trace:`")
        numbers = {name: value.cpu().numpy() for name, value in values.items()}
        numbers["timestep"] = np.array(self.timestep)  # of an ended env the world has set it back already
        blank = {source.array.name for source in self._shown if source.of_steps and event == "reset"}
        with _writing(self.path):
            self.rows += self._table.add(self._step, self._episode, event, numbers, blank)


def _chosen(world: World, arrays: Sequence[str] | None) -> list[str]:
    """Names of the arrays that a trace shows."""
    known = [name for name, _, _ in world.data.layout() if name != LEFT_OUT]
    if isinstance(arrays, str):
        raise StoreError(f"arrays is {arrays!r}; expected a list of names, for instance [{arrays!r}]")
    for name in arrays or ():
        if name not in known:
            raise StoreError(f"no array '{name}' to trace.{suggest(name, known)} Known: {', '.join(known)}")
    return known if arrays is None else list(dict.fromkeys(arrays))


def _check_replaceable(path: Path) -> None:
    """Refuse to replace anything but an older trace."""
    with _writing(path):
        if not path.exists():
            return
        check_file(path)
        replaceable = is_trace(path)
    if not replaceable:
        raise RunError(f"'{path}' is there already and is no trace; give another name, or remove it")


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Report failures to write with the file's name."""
    try:
        yield
    except OSError as error:
        raise RunError(f"'{path}' cannot be written: {reason(error)}") from error
