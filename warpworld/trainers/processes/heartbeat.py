"""Heartbeats between the processes that train a run, so that none waits for one that is gone."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch.distributed import Store  # type: ignore[attr-defined]

BEAT_SECONDS = 4.0  # between two heartbeats
MISSED_BEATS = 8  # in a row, after which a process counts as gone
FAILED_BEATS = 4  # after which a process is ended, if another has reported why the run ends
FAILED = 2  # exit status where the run ends for another process
FAILED_KEY = "failed"  # counts the processes that ended with an error
GONE_KEY = "gone"  # counts those that need the store no more


class Heartbeat:
    """Reports this process as alive to the others, and ends it if another one is gone.

    A process that was killed is noticed sooner, when its connections close. This is for processes that hang, for
    machines that are gone, and for processes that wait for a device that waits for them. Beats are counted, not
    seconds, so the time for which this process was itself suspended does not count against the others.

    Args:
        store: a connection of its own to the store that all share; it may stop answering at any moment.
        rank: number of this process.
        size: how many there are.
    """

    def __init__(self, store: Store, rank: int, size: int) -> None:
        self._store, self._rank, self._size = store, rank, size
        self._answered = 0  # rounds that the store has answered
        self._beats, self._missed = [b""] * size, [0] * size
        self._failed = 0  # rounds since another process ended with an error
        self._lost = False  # whether the store's connection is closed
        self._stopped = threading.Event()
        for work in (self._beat, self._watch):
            threading.Thread(target=work, name=f"heartbeat{work.__name__}", daemon=True).start()

    def stop(self) -> None:
        """Stop sending heartbeats and watching those of others."""
        self._stopped.set()

    def _beat(self) -> None:
        """Send this process's heartbeats and read those of the others."""
        while not (self._stopped.wait(BEAT_SECONDS) or self._lost):
            try:
                self._store.set(f"beat/{self._rank}", str(self._answered))
                for rank in range(self._size):
                    self._look_at(rank)
                self._failed += self._store.check([FAILED_KEY])
            except RuntimeError:
                self._lost = True
            self._answered += 1

    def _look_at(self, rank: int) -> None:
        key = f"beat/{rank}"
        beat = self._store.get(key) if self._store.check([key]) else b""
        self._missed[rank] = 0 if beat != self._beats[rank] else self._missed[rank] + 1
        self._beats[rank] = beat

    def _watch(self) -> None:
        """End the process if there is no other to wait for; apart from ``_beat``, which may wait for the store."""
        answered = waited = 0
        while not self._stopped.wait(BEAT_SECONDS):
            waited = 0 if self._answered != answered else waited + 1
            answered = self._answered
            if self._failed >= FAILED_BEATS:
                self._end()
            most = max(self._missed)
            if most >= MISSED_BEATS:
                self._say(f"process {self._missed.index(most)} of {self._size} gives no sign of life")
                self._end()
            if self._lost or waited >= MISSED_BEATS:
                self._say("process 0 or its launcher cannot be reached any more", answers=False)
                os._exit(FAILED)

    def _say(self, why: str, answers: bool = True) -> None:
        """Say why the run ends, unless another process has, or the main thread notices by itself and says it better."""
        if self._stopped.wait(2 * BEAT_SECONDS):
            return
        first = True
        if answers:
            with suppress(RuntimeError):
                first = self._store.add(FAILED_KEY, 1) == 1
        if first:
            print(f"error: {why}, so the run ends; continue from its last checkpoint with --resume", file=sys.stderr)
            sys.stderr.flush()

    def _end(self) -> None:
        """End whatever the main thread is doing: it waits for what never comes."""
        with suppress(RuntimeError):
            self._store.add(GONE_KEY, 1)
        os._exit(FAILED)
