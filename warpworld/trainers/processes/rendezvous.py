"""Rendezvous of the processes of one start, in a store that earlier starts of the same run have used.

A launcher that restarts a run keeps its store, and the agents of several machines may count restarts differently. So
every process leaves a name that nothing else has, and process 0 calls those that are new into a part of the store that
belongs to this start alone.
"""

from __future__ import annotations

import time
import uuid
from typing import TYPE_CHECKING

from warpworld.errors import ProcessError

if TYPE_CHECKING:
    from torch.distributed import Store  # type: ignore[attr-defined]

    from warpworld.trainers.processes.membership import Launch

POLL_SECONDS = 0.05


def rendezvous(store: Store, launch: Launch, seconds: float) -> str:
    """Wait until all processes of this start have come.

    Args:
        store: that all of them share, and that earlier starts may have used.
        launch: this process's place.
        seconds: to wait at most.

    Returns:
        The prefix of the keys of this start, the same in all its processes.

    Raises:
        ProcessError: some have not come in time, or the store is gone.
    """
    try:
        return _rendezvous(store, launch, seconds)
    except RuntimeError as error:
        raise ProcessError(
            f"the connection to {launch.address}:{launch.port} closed before all {launch.size} processes had come; "
            "start them all again"
        ) from error


def _rendezvous(store: Store, launch: Launch, seconds: float) -> str:
    until = time.monotonic() + seconds
    caller = _Caller(store, launch.size) if launch.rank == 0 else None
    prefix = caller.prefix if caller is not None else _called(store, launch, until, seconds)
    store.add(f"{prefix}/come", 1)
    while (come := store.add(f"{prefix}/come", 0)) < launch.size:
        if time.monotonic() > until:
            raise _late(f"{come} of {launch.size} processes have come", launch, seconds)
        if caller is not None:
            caller.call()
        time.sleep(POLL_SECONDS)
    return prefix


class _Caller:
    """Process 0, which names the start and calls whatever process has come.

    Names that earlier starts left are called as well, and no process answers to them.
    """

    def __init__(self, store: Store, size: int) -> None:
        self._store, self._size = store, size
        self._last = [b""] * size  # the names that were called last
        self.prefix = f"start/{store.add('starts', 1)}"

    def call(self) -> None:
        for rank in range(1, self._size):
            if self._store.check([f"name/{rank}"]):
                name = self._store.get(f"name/{rank}")
                if name != self._last[rank]:
                    self._store.set(f"called/{name.decode()}", self.prefix)
                    self._last[rank] = name


def _called(store: Store, launch: Launch, until: float, seconds: float) -> str:
    """Leave a name, and wait for process 0 to call it."""
    name = uuid.uuid4().hex
    store.set(f"name/{launch.rank}", name)
    while not store.check([f"called/{name}"]):
        if time.monotonic() > until:
            raise _late(f"process 0 of {launch.size} has not come", launch, seconds)
        time.sleep(POLL_SECONDS)
    return bytes(store.get(f"called/{name}")).decode()


def _late(what: str, launch: Launch, seconds: float) -> ProcessError:
    return ProcessError(
        f"{what} to {launch.address}:{launch.port} within {seconds:.0f} s; start them all with the same WORLD_SIZE, "
        "MASTER_ADDR and MASTER_PORT, each with its own RANK"
    )
