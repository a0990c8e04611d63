"""A run's checkpoints: each whole or absent, readable without running foreign code."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from warpworld.errors import RunError
from warpworld.files import check_file, reason, remove_unfinished, replacing
from warpworld.runs.tensors import load_tensors, save_tensors

logger = logging.getLogger(__name__)
RESUMABLE = 2  # newest checkpoints whose replays are kept
Which = int | Literal["best"] | None  # an iteration, the best evaluation's, or the latest
_NAME = re.compile(r"iteration_(\d+)\.pt\Z")


class Checkpoints:
    """The folder with a run's checkpoints.

    Args:
        folder: where they lie; made at the first ``save``.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, iteration: int) -> Path:
        """Path of an iteration's checkpoint."""
        return self.folder / f"iteration_{iteration:06d}.pt"

    @property
    def best(self) -> Path:
        """Path of the weights with the best evaluation."""
        return self.folder / "best.pt"

    def iterations(self) -> list[int]:
        """Iterations that have a checkpoint, ascending."""
        found = (_NAME.match(entry.name) for entry in self.folder.glob("iteration_*.pt"))
        return sorted(int(match[1]) for match in found if match)

    def save(self, iteration: int, state: dict[str, Any]) -> Path:
        """Write a checkpoint; an older one of the same iteration stands until the new one is on the disk.

        Args:
            iteration: iterations done.
            state: tensors, numbers, texts, and lists and dicts of these, so that it loads with ``weights_only=True``.

        Raises:
            RunError: it cannot be written.
        """
        import torch

        path = self.path(iteration)
        try:
            self.folder.mkdir(exist_ok=True)
            with replacing(path) as file:
                torch.save(state, file)
        except (OSError, RuntimeError) as error:  # torch reports a full disk as RuntimeError
            earlier = [other for other in self.iterations() if other < iteration]
            kept = f"; the checkpoint of iteration {earlier[-1]} is kept" if earlier else ""
            raise RunError(f"checkpoint '{path}' cannot be written: {reason(error)}{kept}") from error
        return path

    def save_best(self, state: dict[str, Any]) -> None:
        """Write ``best.pt``; the older one stands until the new one is on the disk. Equal states give equal files.

        Raises:
            RunError: it cannot be written.
        """
        try:
            with replacing(self.best) as file:
                save_tensors(state, file)
        except (OSError, RuntimeError) as error:
            raise RunError(f"'{self.best}' cannot be written: {reason(error)}") from error

    def keep(self, newest: int) -> None:
        """Remove all but the ``newest`` and that of iteration 0, the untrained policies."""
        for iteration in self.iterations()[:-newest]:
            if iteration:
                try:
                    self.path(iteration).unlink(missing_ok=True)
                except OSError as error:  # no reason to end a run
                    logger.warning("checkpoint '%s' cannot be removed: %s", self.path(iteration), reason(error))

    def load(self, iteration: Which = None) -> dict[str, Any]:
        """Read a checkpoint, with its tensors on the CPU.

        Args:
            iteration: which one; None takes the latest, "best" the weights with the best evaluation.

        Raises:
            RunError: there is none, or it is truncated or not a checkpoint.
        """
        if iteration == "best":
            return self._load_best()
        # a checkpoint that is there
        known = self.iterations()
        if not known:
            raise RunError(
                f"run '{self.folder.parent}' has no checkpoint; its training ended before the first was written"
            )
        if iteration is not None and iteration not in known:
            near = min(known, key=lambda other: abs(other - iteration))
            raise RunError(
                f"run '{self.folder.parent}' has no checkpoint of iteration {iteration}, the nearest is {near}"
            )
        # its state, or the advice to take another
        path = self.path(known[-1] if iteration is None else iteration)
        others = [other for other in known if self.path(other) != path]
        try:
            return _read(path)
        except RunError as error:
            advice = f"; iteration {others[-1]} has one as well: --checkpoint {others[-1]}" if others else ""
            raise RunError(f"{error}{advice}") from error

    def _load_best(self) -> dict[str, Any]:
        if not self.best.exists():
            raise RunError(
                f"run '{self.folder.parent}' has no best.pt, which evaluations write; train with saving.eval_every=20, "
                "or name an iteration"
            )
        return _read(self.best)

    def load_newest_readable(self, check: Callable[[dict[str, Any]], None] = lambda state: None) -> dict[str, Any]:
        """Read the newest checkpoint that is whole; damaged ones are passed over with a warning.

        Args:
            check: raises RunError where a file is damaged that a checkpoint refers to.

        Raises:
            RunError: none can be read, or the newest two, which alone have such files, are without them.
        """
        known, without_files = self.iterations(), []
        for iteration in reversed(known):
            try:
                state = _read(self.path(iteration))
                without_files.append(iteration)
                check(state)
                return state
            except RunError as error:
                if len(without_files) == RESUMABLE or (without_files and iteration == known[0]):
                    raise RunError(
                        f"no replay of run '{self.folder.parent}' can be read; the last: {error}; with "
                        f"saving.replay=none it continues from iteration {without_files[0]} with an empty one"
                    ) from error
                if iteration == known[0]:
                    raise RunError(
                        f"no checkpoint of run '{self.folder.parent}' can be read; the last: {error}"
                    ) from error
                logger.warning("%s; taking an older one", error)
        return self.load()  # raises: there is none

    def set_aside_after(self, iteration: int) -> None:
        """Rename later checkpoints, which could not be read, and remove what killed processes left unfinished."""
        remove_unfinished(self.folder)
        for later in self.iterations():
            if later > iteration:
                path = self.path(later)
                path.rename(path.with_name(f"{path.name}.damaged"))


def _read(path: Path) -> dict[str, Any]:
    try:
        check_file(path)
        with path.open("rb") as file:
            state = load_tensors(file)
    except (OSError, ValueError) as error:
        raise RunError(f"checkpoint '{path}' cannot be read: {reason(error)}") from error
    if not isinstance(state, dict):
        raise RunError(f"checkpoint '{path}' holds {type(state).__name__}, expected a dict")
    return state
