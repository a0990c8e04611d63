"""Histories beside checkpoints: each checkpoint adds what is new, and names the files that it needs."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch

from warpworld.errors import RunError
from warpworld.files import reason
from warpworld.runs import RESUMABLE, RunFolder, Seal, Writing, reading, writing
from warpworld.trainers.algorithms import Algorithm
from warpworld.trainers.collecting import Rows
from warpworld.trainers.histories.parts import Part, Parts
from warpworld.trainers.histories.ring_positions import RingPositions, is_needed
from warpworld.trainers.histories.rows import read_array, read_own, read_rows, write_array, write_rows
from warpworld.trainers.processes import ProcessGroup

logger = logging.getLogger(__name__)


class SavedHistories:
    """The histories of a run's algorithms, and the files that hold them.

    A file of rows holds what was recorded between two checkpoints; it is needed as long as the ring has a row of it.
    What is small, such as leaves, has a file of its own for each checkpoint. Every process writes files of its envs;
    however many read them later, each takes the envs that it has then.

    Args:
        algorithms: of a trainer, by the names of their policies.
        processes: those that share the envs.
        num_envs: envs of all processes.
        keep: whether checkpoints are to have the files; else a resumed run begins with empty histories.
    """

    def __init__(self, algorithms: Mapping[str, Algorithm], processes: ProcessGroup, num_envs: int, keep: bool) -> None:
        self._algorithms, self._processes, self._keep = algorithms, processes, keep
        self._histories = [history for algorithm in algorithms.values() for history in algorithm.histories()]
        self._envs = processes.share(num_envs)
        self._shares = processes.shares(num_envs)
        self._begin("")

    def _begin(self, folder: str) -> None:
        """Start without saved files in this folder."""
        self._folder, self._saved = folder, RingPositions(0, {}, {})
        self._parts: dict[int, Parts] = {}  # what the newest checkpoints need, by iteration

    # ---- saving ------------------------------------------------------------------------------------------------------
    def save(self, folder: Path | None, iteration: int) -> dict[str, Any]:
        """Write what is new, before a checkpoint of that iteration; all processes call it.

        Args:
            folder: where the files lie; process 0's counts, and None writes nothing.
            iteration: iterations done.

        Returns:
            What the checkpoint is to hold.

        Raises:
            RunError: a file cannot be written.
        """
        if not self._histories or not self._keep:
            return {}
        shared = self._of_first(folder)
        if not shared:
            return {}
        if shared != self._folder:  # another run
            self._begin(shared)
        before, rings = self._parts.get(self._saved.iteration, Parts()), self._rings()
        parts = self._write(Path(shared), iteration, rings, before) if _holds_any(rings) else Parts()
        self._parts = {self._saved.iteration: before, iteration: parts}
        self._saved = RingPositions.of(iteration, rings)
        return {"replay": parts.saved()}

    def at_start(self) -> dict[str, Any]:
        """State for a checkpoint that is written before anything is recorded."""
        is_saved = self._histories and self._keep and not _holds_any(self._rings())
        return {"replay": Parts().saved()} if is_saved else {}

    def files(self, iterations: Iterable[int]) -> set[str] | None:
        """Names of the files that the checkpoints of some iterations need; None where a run never has any."""
        if not self._histories:
            return None
        return {name for iteration in iterations for name in self._parts.get(iteration, Parts()).names}

    def _write(self, folder: Path, iteration: int, rings: list[Rows], before: Parts) -> Parts:
        """Write the files of a checkpoint, and name those that it needs."""
        firsts = {ring.name: self._saved.first(ring) for ring in rings}

        def write_new(file: Writing) -> None:
            for ring in rings:
                write_rows(file, ring, firsts[ring.name], self._saved.filled_of(ring))

        def write_whole(file: Writing) -> None:
            for history in self._histories:
                for name, array in (*history.whole().items(), *history.own().items()):
                    write_array(file, name, array)

        # new rows, and older files that are still needed
        ends = {ring.name: (firsts[ring.name], ring.written) for ring in rings}
        new = self._write_part(folder, f"rows_{self._saved.iteration:06d}-{iteration:06d}", ends, write_new)
        rows = [*(part for part in before.rows if is_needed(part, rings)), *new]
        # arrays that are written whole each time
        return Parts(rows, self._write_part(folder, f"whole_{iteration:06d}", {}, write_whole))

    def _write_part(self, folder: Path, name: str, ends: Mapping[str, tuple[int, int]], write: Any) -> list[Part]:
        """Write this process's file; gives those of all processes."""
        path = folder / self._name_of(name, self._processes.rank)
        try:
            folder.mkdir(exist_ok=True)
            with writing(path) as file:
                write(file)
        except OSError as error:
            raise RunError(f"replay '{path}' cannot be written: {reason(error)}{self._advice()}") from error
        seals = self._processes.stack(torch.tensor([file.seal.nbytes, file.seal.crc])).tolist()
        return [
            Part(self._name_of(name, rank), Seal(*seal), share, ends)
            for rank, (seal, share) in enumerate(zip(seals, self._shares, strict=True))
        ]

    def _advice(self) -> str:
        """Advice for a file that cannot be written."""
        if self._processes.rank > 0:
            return "; every process writes into the run folder: let all see it, or set saving.replay=none"
        return f"; the checkpoint of iteration {self._saved.iteration} is kept" if self._parts else ""

    def _name_of(self, name: str, rank: int) -> str:
        return f"{self._processes.own_name(name, rank)}.npz"

    def _of_first(self, folder: Path | None) -> str:
        """Process 0's folder."""
        return self._processes.text_of_first("" if folder is None else str(folder.resolve()))

    def _rings(self) -> list[Rows]:
        return [ring for history in self._histories for ring in history.rows()]

    # ---- resuming ----------------------------------------------------------------------------------------------------
    def check(self, state: Mapping[str, Any], folder: Path) -> None:
        """Whether all files that a checkpoint names are there and whole.

        Raises:
            RunError: names the first that is not.
        """
        parts = Parts.read(state)
        if self._histories and self._keep and parts is not None:
            parts.check(folder)

    def load(self, state: Mapping[str, Any], folder: Path | None) -> None:
        """Take up what a checkpoint names; the store's state has been restored already.

        Histories begin empty where it names nothing, and, if none are to be kept, where what it names is damaged.

        Raises:
            RunError: a file does not fit.
        """
        if not self._histories:
            return
        # contents of the files; damage is an error where they are to be kept
        parts = Parts.read(state) if folder is not None else None
        try:
            if parts is not None and folder is not None:
                if not self._keep:
                    parts.check(folder)
                self._read(parts, folder)
        except RunError as error:
            if self._keep:
                raise
            logger.warning("%s", error)
            parts = None
        # empty histories in their place
        if parts is None:
            self._forget()
        # positions of the rings, for the next checkpoint
        self._begin(self._of_first(folder))
        self._parts[state["iteration"]] = parts or Parts()
        self._saved = RingPositions.of(state["iteration"], self._rings())

    def note_older(self, run: RunFolder) -> None:
        """Find out what the checkpoint before the newest needs; it is resumed from where that is damaged."""
        older = run.checkpoints()[-RESUMABLE:-1]
        for iteration in older if self._histories else ():
            with contextlib.suppress(RunError):  # damaged: it needs nothing
                self._parts[iteration] = Parts.read(run.load_checkpoint(iteration)) or Parts()

    def end_episodes(self) -> None:
        """Note that new episodes have begun in all envs, without a step."""
        for history in self._histories:
            history.end_episodes()

    def _read(self, parts: Parts, folder: Path) -> None:
        """Fill the arrays."""
        if not parts.rows:
            for history in self._histories:
                history.empty()
            return
        # rows, from parts that have envs of this process
        rings = self._rings()
        for part in parts.rows:
            if _in_common(part.envs, self._envs):
                with reading(folder / part.file) as file:
                    for ring in rings:
                        read_rows(file, ring, self._envs, part)
        # arrays that were written whole
        for part in parts.whole:
            if _in_common(part.envs, self._envs):
                with reading(folder / part.file) as file:
                    self._read_whole(file, part)
        # arrays that are derived from both
        for history in self._histories:
            history.restored()

    def _read_whole(self, file: Any, part: Part) -> None:
        for history in self._histories:
            for name, array in history.whole().items():
                read_array(file, name, array, self._envs, part)
            if self._envs.start in part.envs:
                for name, array in history.own().items():
                    read_own(file, name, array)

    def _forget(self) -> None:
        """Begin with empty histories; warns if there was something to remember."""
        held_any = _holds_any(self._rings())
        costs = [f"policy '{name}': {each.forget()}" for name, each in self._algorithms.items() if each.histories()]
        if held_any:
            logger.warning(
                "the run continues without the contents of its replay, so not bit for bit as it would have; %s",
                "; ".join(costs),
            )


def _holds_any(rings: Iterable[Rows]) -> bool:
    return any(ring.written for ring in rings)


def _in_common(one: range, other: range) -> bool:
    return max(one.start, other.start) < min(one.stop, other.stop)
