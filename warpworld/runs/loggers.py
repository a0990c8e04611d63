"""Where a run's metrics go: JSON lines, TensorBoard, Weights & Biases. All loggers have one silhouette."""

from __future__ import annotations

import json
import logging
import math
import os
import socket
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from warpworld.errors import RunError
from warpworld.files import open_to_append, read_file, readable, reason, replace_text, sync

logger = logging.getLogger(__name__)

Metrics = Mapping[str, Any]


class Logger(Protocol):
    """What takes a run's metrics; it opens nothing before the first ``log``."""

    def log(self, metrics: Metrics) -> None:
        """Take the metrics of one iteration, at once. Raises RunError: they cannot be written."""

    def rewind(self, iteration: int, env_steps: int) -> None:
        """Forget what came after an iteration, before a resumed run continues from it."""

    def sync(self) -> None:
        """Bring what was logged to the disk."""

    def close(self) -> None:
        """Close what is open; a later ``log`` opens it again."""


def is_timed(name: str) -> bool:
    """Whether a metric depends on the machine's speed, not on the seed alone."""
    return name == "time" or name.startswith("perf/")


class JsonLines:
    """A file with one JSON object a line.

    Args:
        path: the file.
        select: which part of the metrics goes into it; lines that would be empty are left out.
    """

    def __init__(self, path: Path, select: Callable[[Metrics], Metrics]) -> None:
        self.path = path
        self._select = select
        self._file: BinaryIO | None = None

    def log(self, metrics: Metrics) -> None:
        """Append a line; numbers that JSON has no word for become null."""
        chosen = {name: _plain(value) for name, value in self._select(metrics).items()}
        if not chosen:
            return
        try:
            if self._file is None:
                self._file = open_to_append(self.path)
            self._file.write(f"{json.dumps(chosen, allow_nan=False)}\n".encode())
            self._file.flush()
        except OSError as error:
            self.close()
            raise _cannot_write(self.path, error) from error

    def rewind(self, iteration: int, env_steps: int) -> None:
        """Cut the file back to the lines of the iterations up to ``iteration``; a torn last line goes too."""
        self.close()
        try:
            lines = read_file(self.path).splitlines(keepends=True) if self.path.exists() else []
            kept = [line for number, line in enumerate(lines, 1) if self._stays(line, iteration, number == len(lines))]
            if kept != lines:
                replace_text(self.path, b"".join(kept).decode())
        except OSError as error:
            raise _cannot_write(self.path, error) from error

    def _stays(self, line: bytes, iteration: int, last: bool) -> bool:
        try:
            return line.endswith(b"\n") and int(json.loads(line)["iteration"]) <= iteration
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            if not last:
                logger.warning("'%s': a line that is not one of metrics was dropped: %.60r", self.path, line)
            return False

    def sync(self) -> None:
        """Bring the lines to the disk."""
        if self._file is not None:
            try:
                sync(self._file)
            except OSError as error:
                self.close()
                raise _cannot_write(self.path, error) from error

    def close(self) -> None:
        """Close the file."""
        file, self._file = self._file, None
        _close(file)


class TensorBoard:
    """Event files for TensorBoard, one a session, with env steps as the step.

    The files are written directly, without the package's writer thread, so that what was logged is in the file when
    ``log`` returns, and an error reaches the trainer.

    Args:
        folder: where event files lie.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._first_step: int | None = None  # where a rewound run continues, until that is in a file
        self._file: BinaryIO | None = None

    def log(self, metrics: Metrics) -> None:
        """Write every finite number among the metrics as a scalar of its name."""
        from tensorboard.compat.proto.summary_pb2 import Summary

        values = [Summary.Value(tag=name, simple_value=value) for name, value in _numbers(metrics)]
        self._write(step=int(metrics.get("env_steps", 0)), summary=Summary(value=values))

    def rewind(self, iteration: int, env_steps: int) -> None:
        """Let the next file say that it starts behind ``env_steps``; TensorBoard then drops what it had from there."""
        self.close()
        self._first_step = env_steps + 1

    def sync(self) -> None:
        """Every event is in the file already; the curves can be drawn again from ``metrics.jsonl``."""

    def close(self) -> None:
        """Close the session's file."""
        file, self._file = self._file, None
        _close(file)

    def _write(self, **event: Any) -> None:
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.summary.writer.record_writer import RecordWriter

        try:
            if self._file is None:
                self._file = self._open()
                self._write(file_version="brain.Event:2")
                if self._first_step is not None:
                    self._write(step=self._first_step, session_log={"status": "START"})
                    self._first_step = None
            RecordWriter(self._file).write(Event(wall_time=time.time(), **event).SerializeToString())
            self._file.flush()
        except OSError as error:
            self.close()
            raise _cannot_write(self._folder, error) from error

    def _open(self) -> BinaryIO:
        self._folder.mkdir(exist_ok=True)
        name = (
            f"events.out.tfevents.{time.time():.6f}.{socket.gethostname()}.{os.getpid()}"  # TensorBoard sorts by name
        )
        return (self._folder / name).open("xb")


class WeightsAndBiases:
    """A run on Weights & Biases; a resumed one continues under the same id, which a file of the run folder holds.

    Args:
        project: project on the site.
        folder: the run folder.
        settings: the run's configuration, shown beside the curves.

    Raises:
        RunError: the package is not installed.
    """

    def __init__(self, project: str, folder: Path, settings: Mapping[str, Any]) -> None:
        self._wandb = import_wandb()
        self._project, self._folder, self._settings = project, folder, settings
        self._run: Any = None

    def log(self, metrics: Metrics) -> None:
        """Send every finite number; steps that the site has already are ignored there."""
        if self._run is None:
            self._run = self._start()
        self._run.log(dict(_numbers(metrics)), step=int(metrics.get("env_steps", 0)))

    def rewind(self, iteration: int, env_steps: int) -> None:
        """Nothing: a resumed run repeats the same numbers, and the site keeps the first of each step."""

    def sync(self) -> None:
        """Nothing: the package keeps its own files."""

    def close(self) -> None:
        """End the session."""
        if self._run is not None:
            self._run.finish()
            self._run = None

    def _start(self) -> Any:
        path = self._folder / "wandb_id"
        try:
            if not path.exists():
                replace_text(path, uuid.uuid4().hex[:12] + "\n")
            identity = read_file(path).decode().strip()
        except OSError as error:
            raise _cannot_write(path, error) from error
        try:
            return self._wandb.init(
                project=self._project,
                id=identity,
                name=readable(self._folder.name),
                dir=str(self._folder),
                config=dict(self._settings),
                resume="allow",
            )
        except Exception as error:  # the package's own kinds, which only it knows
            raise RunError(
                f"Weights & Biases cannot be started: {reason(error)}; "
                "log in with `wandb login`, or set WANDB_MODE=offline, or saving.wandb=null"
            ) from error


def import_wandb() -> Any:
    """The wandb package.

    Raises:
        RunError: it is not installed.
    """
    try:
        import wandb
    except ImportError as error:
        raise RunError(
            "saving.wandb needs the package wandb, which is not installed: pip install 'warpworld[wandb]', "
            "or set saving.wandb=null"
        ) from error
    return wandb


def _close(file: BinaryIO | None) -> None:
    """Close a file; what could not be written was reported when it was tried, and is not tried again."""
    if file is not None:
        with suppress(OSError):
            file.close()


def _cannot_write(path: Path, error: OSError) -> RunError:
    return RunError(f"'{path}' cannot be written: {reason(error)}")


def _plain(value: Any) -> Any:
    """``value`` as JSON can say it: tensors and NumPy scalars as numbers, nan and infinities as None."""
    if isinstance(value, Mapping):
        return {str(name): _plain(entry) for name, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _numbers(metrics: Metrics) -> Iterator[tuple[str, float]]:
    """The finite numbers among the metrics, but for ``env_steps``, which is the axis."""
    for name, value in metrics.items():
        plain = _plain(value)
        if isinstance(plain, (int, float)) and name != "env_steps":
            yield name, float(plain)
