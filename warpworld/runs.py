"""The run folder: resolved configuration, metrics, checkpoints and curve of one training run."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

from warpworld.config import RunConfig, load_config
from warpworld.errors import RunError, suggest

_CHECKPOINT = re.compile(r"iteration_(\d+)\.pt\Z")
_HEADER = (
    "# The run's whole configuration, defaults and overrides included: `warpworld train config.yaml` repeats it.\n"
)


class Run:
    """A run folder. Made by ``Run.create`` or ``Run.open``.

    Attributes:
        path: the folder, ``<directory>/<name>-<YYYYmmdd-HHMMSS>``.
        config: the run's resolved configuration.
    """

    def __init__(self, path: Path, config: RunConfig) -> None:
        self.path = path
        self.config = config
        self._metrics: TextIO | None = None

    @classmethod
    def create(cls, config: RunConfig, directory: str | Path | None = None) -> Run:
        """Make a new run folder with ``config.yaml`` in it; the folder appears complete or not at all.

        Args:
            config: what the run does.
            directory: where the folder is made; None takes ``config.saving.directory``.

        Raises:
            RunError: the folder cannot be made or written.
        """
        parent = Path(config.saving.directory if directory is None else directory)
        name = f"{re.sub(r'[^A-Za-z0-9_-]+', '_', config.name)}-{time.strftime('%Y%m%d-%H%M%S')}"
        unfinished = parent / f".{name}.{os.getpid()}.tmp"
        try:
            parent.mkdir(parents=True, exist_ok=True)
            unfinished.mkdir()
            try:
                (unfinished / "checkpoints").mkdir()
                (unfinished / "config.yaml").write_text(_HEADER + config.to_yaml(), encoding="utf-8")
                path = _rename_to_free_name(unfinished, parent / name)
            finally:
                shutil.rmtree(unfinished, ignore_errors=True)
        except OSError as error:
            raise RunError(
                f"no run folder can be made in '{parent}': {error.strerror or error}; "
                "name another folder with saving.directory=PATH"
            ) from error
        return cls(path, config)

    @classmethod
    def open(cls, path: str | Path) -> Run:
        """Open the folder of an earlier run.

        Raises:
            RunError: not a run folder.
            ConfigError: its ``config.yaml`` is no longer a right configuration.
        """
        path = Path(path)
        if not path.is_dir():
            kind = "is a file" if path.exists() else "does not exist"
            beside = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
            raise RunError(f"'{path}' {kind}, expected a run folder.{suggest(path.name, beside)}")
        if not (path / "config.yaml").is_file():
            inner = sorted(entry.parent for entry in path.glob("*/config.yaml"))
            hint = f". Did you mean '{inner[-1]}'?" if inner else " such as 'warpworld train' makes"
            raise RunError(f"'{path}' holds no config.yaml, expected a run folder{hint}")
        return cls(path, load_config(path / "config.yaml"))

    @property
    def metrics_path(self) -> Path:
        """``metrics.jsonl``: one JSON object a line."""
        return self.path / "metrics.jsonl"

    @property
    def curve_path(self) -> Path:
        """``curve.png``: the learning curve."""
        return self.path / "curve.png"

    def log(self, metrics: Mapping[str, Any]) -> None:
        """Append one line to ``metrics.jsonl``, at once; numbers that JSON has no word for become null.

        Raises:
            RunError: the line cannot be written.
        """
        line = json.dumps({name: _plain(value) for name, value in metrics.items()}, allow_nan=False)
        try:
            if self._metrics is None:
                self._metrics = self.metrics_path.open("a", encoding="utf-8")
            self._metrics.write(line + "\n")
            self._metrics.flush()
        except OSError as error:
            raise RunError(f"'{self.metrics_path}' cannot be written: {error.strerror or error}") from error

    def close(self) -> None:
        """Close ``metrics.jsonl``; a later ``log`` opens it again."""
        if self._metrics is not None:
            self._metrics.close()
            self._metrics = None

    def checkpoint_path(self, iteration: int) -> Path:
        """Where the checkpoint of an iteration lies."""
        return self.path / "checkpoints" / f"iteration_{iteration:06d}.pt"

    def checkpoints(self) -> list[int]:
        """Iterations that have a checkpoint, ascending."""
        found = (_CHECKPOINT.match(entry.name) for entry in (self.path / "checkpoints").glob("iteration_*.pt"))
        return sorted(int(match[1]) for match in found if match)

    def save_checkpoint(self, iteration: int, state: dict[str, Any]) -> Path:
        """Write ``state`` to a temporary name, to the disk, and then rename it: a checkpoint is whole or absent.

        Args:
            iteration: iterations done.
            state: tensors, numbers, texts, and lists and dicts of these, so that it loads with ``weights_only=True``.

        Raises:
            RunError: it cannot be written.
        """
        import torch

        path = self.checkpoint_path(iteration)
        unfinished = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        try:
            path.parent.mkdir(exist_ok=True)
            with unfinished.open("wb") as file:
                torch.save(state, file)
                file.flush()
                os.fsync(file.fileno())
            unfinished.replace(path)
        except (OSError, RuntimeError) as error:  # torch reports a full disk as RuntimeError
            reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
            raise RunError(f"checkpoint '{path}' cannot be written: {reason}") from error
        finally:
            unfinished.unlink(missing_ok=True)
        return path

    def load_checkpoint(self, iteration: int | None = None) -> dict[str, Any]:
        """Read a checkpoint, with its tensors on the CPU.

        Args:
            iteration: which one; None takes the latest.

        Raises:
            RunError: there is none, or it is truncated or not a checkpoint.
        """
        import pickle

        import torch

        known = self.checkpoints()
        if not known:
            raise RunError(f"run '{self.path}' has no checkpoint; its training ended before the first was written")
        if iteration is not None and iteration not in known:
            near = min(known, key=lambda other: abs(other - iteration))
            raise RunError(f"run '{self.path}' has no checkpoint of iteration {iteration}, the nearest is {near}")
        path = self.checkpoint_path(known[-1] if iteration is None else iteration)
        others = [other for other in known if self.checkpoint_path(other) != path]
        advice = f"; iteration {others[-1]} has one as well" if others else ""
        if not zipfile.is_zipfile(path):
            raise RunError(f"checkpoint '{path}' is truncated or no checkpoint{advice}")
        try:
            state = torch.load(path, map_location="cpu", weights_only=True)
        except (OSError, RuntimeError, ValueError, EOFError, KeyError, pickle.UnpicklingError) as error:
            raise RunError(f"checkpoint '{path}' cannot be read: {str(error).splitlines()[0]}{advice}") from error
        if not isinstance(state, dict):
            raise RunError(f"checkpoint '{path}' holds {type(state).__name__}, expected a dict{advice}")
        return state


def _rename_to_free_name(unfinished: Path, wanted: Path) -> Path:
    """Rename a folder to ``wanted``, or ``wanted-2`` and so on; a folder with files in it is never overwritten."""
    path, n = wanted, 1
    while True:
        try:
            return unfinished.rename(path)
        except OSError:
            if not path.exists():
                raise
        n += 1
        path = wanted.with_name(f"{wanted.name}-{n}")


def _plain(value: Any) -> Any:
    """``value`` as JSON can say it: tensors and NumPy scalars as numbers, nan and infinities as None."""
    if isinstance(value, Mapping):
        return {str(name): _plain(entry) for name, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
