"""Metrics as JSON lines."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from warpworld.files import open_to_append, read_file, replace_text, sync
from warpworld.runs.loggers.logger import Metrics, cannot_write, close, plain

logger = logging.getLogger(__name__)


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
        chosen = {name: plain(value) for name, value in self._select(metrics).items()}
        if not chosen:
            return
        try:
            if self._file is None:
                self._file = open_to_append(self.path)
            self._file.write(f"{json.dumps(chosen, allow_nan=False)}\n".encode())
            self._file.flush()
        except OSError as error:
            self.close()
            raise cannot_write(self.path, error) from error

    def rewind(self, iteration: int, env_steps: int) -> None:
        """Cut the file back to the lines of the iterations up to ``iteration``; a torn last line goes too."""
        self.close()
        try:
            lines = read_file(self.path).splitlines(keepends=True) if self.path.exists() else []
            kept = [line for number, line in enumerate(lines, 1) if self._stays(line, iteration, number == len(lines))]
            if kept != lines:
                replace_text(self.path, b"".join(kept).decode())
        except OSError as error:
            raise cannot_write(self.path, error) from error

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
                raise cannot_write(self.path, error) from error

    def close(self) -> None:
        """Close the file."""
        file, self._file = self._file, None
        close(file)
