"""Metrics for TensorBoard."""

from __future__ import annotations

import functools
import os
import re
import socket
import struct
import time
from pathlib import Path
from typing import Any, BinaryIO

from warpworld.config import RunConfig
from warpworld.runs.loggers.hyperparameters import by_key, described
from warpworld.runs.loggers.logger import Logger, Metrics, cannot_write, close, numbers

_COUNTERS = {"iteration", "agent_steps", "time", "charts/episodes"}
_BESIDE_LOSSES = re.compile(r"charts/(?P<policy>[^/]+)/(?P<leaf>(?!episodic_return)[^/]+)\Z")


class TensorBoard(Logger):
    """Event files for TensorBoard, one a session, with env steps as the step.

    They lie in the run folder itself, whose name TensorBoard then gives to the run. The first begins with the settings,
    as text and as hyperparameters. TensorBoard sorts its cards by name. So that returns and lengths come first,
    counters stand among the timings, which come last, and learning rates and the like among the losses.

    The files are written directly, without a writer thread, so that what was logged is in the file when
    ``log`` returns, and an error reaches the trainer.
    """

    def __init__(self, folder: Path, config: RunConfig) -> None:
        super().__init__(folder, config)
        self._first_step: int | None = None  # where a rewound run continues, until that is in a file
        self._file: BinaryIO | None = None

    def log(self, metrics: Metrics) -> None:
        """Write every finite number among the metrics as a scalar of its name."""
        from tensorboardX.proto.summary_pb2 import Summary

        values = [Summary.Value(tag=tag_of(name), simple_value=value) for name, value in numbers(metrics)]
        self._write(step=int(metrics.get("env_steps", 0)), summary=Summary(value=values))

    def show(self, picture: Path, iteration: int, env_steps: int) -> None:
        """Write the picture under the tag ``replay``, where TensorBoard plays a GIF."""
        from tensorboardX.proto.summary_pb2 import Summary

        data = picture.read_bytes()
        width, height = struct.unpack_from("<HH", data, 6)  # behind GIF89a
        image = Summary.Image(width=width, height=height, colorspace=3, encoded_image_string=data)
        self._write(step=env_steps, summary=Summary(value=[Summary.Value(tag="replay", image=image)]))

    def rewind(self, iteration: int, env_steps: int) -> None:
        """Let the next file say that it starts behind ``env_steps``; TensorBoard then drops what it had from there."""
        self.close()
        self._first_step = env_steps + 1

    def sync(self) -> None:
        """Do nothing: every event is in the file already, and ``metrics.jsonl`` has all curves."""

    def close(self) -> None:
        """Close the session's file."""
        file, self._file = self._file, None
        close(file)

    def _write(self, **event: Any) -> None:
        from tensorboardX.proto.event_pb2 import Event

        try:
            if self._file is None:
                self._file = self._open()
                self._write(file_version="brain.Event:2")
                if self._first_step is None:
                    self._write(step=0, summary=described(by_key(self.config), self.config.to_yaml()))
                if self._first_step is not None:
                    self._write(step=self._first_step, session_log={"status": "START"})
                    self._first_step = None
            self._file.write(record(Event(wall_time=time.time(), **event).SerializeToString()))
            self._file.flush()
        except OSError as error:
            self.close()
            raise cannot_write(self.folder, error) from error

    def _open(self) -> BinaryIO:
        self.folder.mkdir(exist_ok=True)
        name = (
            f"events.out.tfevents.{time.time():.6f}.{socket.gethostname()}.{os.getpid()}"  # TensorBoard sorts by name
        )
        return (self.folder / name).open("xb")


def record(data: bytes) -> bytes:
    """Frame of a record of an event file: its length, the data, and checksums of both (TensorFlow's TFRecord)."""
    from tensorboardX.record_writer import masked_crc32c

    length = struct.pack("<Q", len(data))
    return b"".join([length, struct.pack("<I", masked_crc32c(length)), data, struct.pack("<I", masked_crc32c(data))])


@functools.cache
def tag_of(name: str) -> str:
    """TensorBoard's name of a metric."""
    if name in _COUNTERS:
        return f"perf/{name.rpartition('/')[2]}"
    return _BESIDE_LOSSES.sub(r"losses/\g<policy>/\g<leaf>", name)
