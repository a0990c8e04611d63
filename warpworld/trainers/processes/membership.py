"""Membership in a run of several processes, from the rendezvous to the common end.

A store that all can reach, which ``torchrun`` or process 0 serves, brings them together and, in the end, tells which of
them was the first to fail.
"""

from __future__ import annotations

import atexit
import os
import signal
import socket
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from warpworld.errors import DeviceError, ProcessError
from warpworld.trainers.processes.heartbeat import BEAT_SECONDS, FAILED, FAILED_BEATS, FAILED_KEY, GONE_KEY, Heartbeat
from warpworld.trainers.processes.rendezvous import rendezvous
from warpworld.trainers.session import sigterm_raises

if TYPE_CHECKING:
    from torch.distributed import Store  # type: ignore[attr-defined]

    from warpworld.trainers.processes.distributed import ProcessGroup

JOIN_SECONDS = 60  # to wait for the others at the start; WARPWORLD_JOIN_TIMEOUT sets another
FAREWELL_SECONDS = 3.0  # for which process 0 keeps its store in the end, so that the others can read it
DEVICE_FAREWELL_SECONDS = FAREWELL_SECONDS + 2 * FAILED_BEATS * BEAT_SECONDS  # where one may keep them waiting
LAST_SECONDS = 45  # for a process to end in, after an error; more than that


@dataclass(frozen=True)
class Launch:
    """Environment variables that ``torchrun`` sets; any other launcher sets the same variables.

    Attributes:
        rank, size, local_rank, local_size: this process's place, as in ``ProcessGroup``.
        address: where the store is served.
        port: likewise.
        served: whether the launcher serves the store; else process 0 does.
    """

    rank: int
    size: int
    local_rank: int
    local_size: int
    address: str
    port: int
    served: bool

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Launch | None:
        """Read a launch from the variables of a launcher; None if the process was started alone.

        Raises:
            ProcessError: a variable is missing or is no number in its range.
        """
        if "RANK" not in environment and "WORLD_SIZE" not in environment:
            return None
        # numbers of this process, in all and on its machine
        size = _number(environment, "WORLD_SIZE", 1, 2**20)
        rank = _number(environment, "RANK", 0, size - 1)
        local_size = _number(environment, "LOCAL_WORLD_SIZE", 1, size, otherwise=size)
        local_rank = _number(environment, "LOCAL_RANK", 0, local_size - 1, otherwise=rank % local_size)
        if size == 1:
            return None
        # address of the first process
        address = environment.get("MASTER_ADDR")
        if not address:
            raise _missing("MASTER_ADDR", environment)
        port = _number(environment, "MASTER_PORT", 1, 65535)
        served = environment.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
        return cls(rank, size, local_rank, local_size, address, port, served)


def _number(environment: Mapping[str, str], name: str, low: int, high: int, otherwise: int | None = None) -> int:
    text = environment.get(name)
    if text is None:
        if otherwise is None:
            raise _missing(name, environment)
        return otherwise
    if not text.isdecimal() or not low <= int(text) <= high:
        raise ProcessError(f"environment variable {name} is {text!r}, expected a whole number of {low} to {high}")
    return int(text)


def _missing(name: str, environment: Mapping[str, str]) -> ProcessError:
    there = [other for other in ("RANK", "WORLD_SIZE") if other in environment]
    are, them = ("are", "them") if len(there) > 1 else ("is", "it")
    return ProcessError(
        f"environment variable {name} is not set, though {' and '.join(there)} {are}; start several processes with "
        f"torchrun --nproc_per_node=N -m warpworld train ..., or unset {them} to train with one"
    )


# ---- together from the first moment to the last ----------------------------------------------------------------------
@contextmanager
def process_membership() -> Iterator[Membership | Alone]:
    """Join the run of several processes while the block runs, if the environment asks for it.

    Whatever ends the block in one process ends all of them. Of the errors that they end with the first is raised; in
    other processes SystemExit takes its place, so that one line is said. Where GPUs were in use the process then ends
    before Python gives its memory back, which may wait for what another process does not do any more.

    Raises:
        ProcessError: the others do not come, or cannot be reached.
    """
    launch = Launch.from_environment(os.environ)
    if launch is None:
        yield Alone()
        return
    # Where a connection closes torch logs the C++ stack, and here it says in its own words what that means. Read when
    # torch is loaded, which is now.
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "FATAL")
    with sigterm_raises(_ended_by_launcher):
        membership = Membership(launch)
        try:
            yield membership
            membership.leave()
        except BaseException as error:
            if membership.fail(error):
                raise
            raise SystemExit(FAILED) from error


def _ended_by_launcher() -> ProcessError:
    """Launchers send SIGTERM to all processes when one is gone, and one of them must say why."""
    return ProcessError("ended by SIGTERM, which launchers send where another process of the run is gone")


class Alone:
    """A process that trains a run by itself."""

    is_first = True

    def begin(self, device: str) -> ProcessGroup:
        """A group of one."""
        from warpworld.trainers.processes.distributed import ALONE

        return ALONE


class Membership:
    """Membership of this process in a run of several processes.

    Attributes:
        is_first: whether it is process 0.

    Raises:
        ProcessError: the others do not come, or cannot be reached.
    """

    def __init__(self, launch: Launch) -> None:
        self.is_first = launch.rank == 0
        self._launch = launch
        self._serves = self.is_first and not launch.served
        self._group: ProcessGroup | None = None
        self._waits_for_device = False
        seconds = _number(os.environ, "WARPWORLD_JOIN_TIMEOUT", 1, 86400, otherwise=JOIN_SECONDS)
        common = _connect(launch, self._serves, seconds)
        prefix = rendezvous(common, launch, seconds)
        self._store = _prefixed(prefix, common)
        self._heartbeat = Heartbeat(
            _prefixed(prefix, _connect(launch, serves=False, seconds=seconds)), launch.rank, launch.size
        )

    def begin(self, device: str) -> ProcessGroup:
        """Open the channels between the processes, before anything else uses the device.

        Args:
            device: "cpu", "cuda" or "auto", as the run's settings say.

        Raises:
            DeviceError: there are more processes on this machine than GPUs, or two have the same.
            ProcessError: the others cannot be reached.
        """
        from torch.distributed import PrefixStore, init_process_group  # type: ignore[attr-defined]

        from warpworld.trainers.processes.distributed import ProcessGroup, explain_own_gpu

        # numbers and device of this process
        launch = self._launch
        group = ProcessGroup(launch.rank, launch.size, launch.local_rank, launch.local_size)
        backend = _take_device(launch, device)
        # connections to the others
        try:
            store = PrefixStore("group", self._store)
            init_process_group(backend, store=store, rank=launch.rank, world_size=launch.size)
        except (RuntimeError, ValueError) as error:
            raise explain_own_gpu(error) or ProcessError(
                f"the processes cannot reach each other: {_first_line(error)}; GLOO_SOCKET_IFNAME and "
                "NCCL_SOCKET_IFNAME name the network interface to use"
            ) from error
        self._group = group
        self._waits_for_device = backend != "gloo"  # whose connections close at once
        group.barrier()
        return group

    def leave(self) -> None:
        """End together, when all is done."""
        from torch.distributed import destroy_process_group

        if self._group is not None:
            self._group.barrier()
            destroy_process_group()
        self._heartbeat.stop()
        self._bid_farewell()

    def fail(self, error: BaseException) -> bool:
        """End after an error, without the others.

        Args:
            error: what the process ends with.

        Returns:
            Whether this process is the first that does, and so the one to say why.
        """
        signal.alarm(LAST_SECONDS)  # whatever may hang while Python ends: a device, or torch's own threads
        from torch.distributed import destroy_process_group

        self._heartbeat.stop()
        try:
            first = bool(self._store.add(FAILED_KEY, 1) == 1)
        except RuntimeError:
            first = True  # the store's process is gone, and cannot say anything either
        if self._waits_for_device:
            # The error holds the frames it came through, and these what lies on the device: nothing is freed till then.
            atexit.register(self._end_at_once, error, _status(error) if first else FAILED)
            return first
        if self._group is not None:
            destroy_process_group()  # so that those who wait for this process notice now
        self._bid_farewell()
        return first

    def _end_at_once(self, error: BaseException, status: int) -> None:
        """End when everything has been reported, and before Python or torch frees anything on the device."""
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        self._bid_farewell()
        os._exit(status)

    def _bid_farewell(self) -> None:
        """Keep the store, if it is this process's, until the others are through with it."""
        seconds = DEVICE_FAREWELL_SECONDS if self._waits_for_device else FAREWELL_SECONDS
        with suppress(RuntimeError):
            gone, until = self._store.add(GONE_KEY, 1), time.monotonic() + seconds
            while self._serves and gone < self._launch.size and time.monotonic() < until:
                time.sleep(0.05)
                gone = self._store.add(GONE_KEY, 0)


def _status(error: BaseException) -> int:
    """Exit status of the process."""
    if isinstance(error, SystemExit) and isinstance(error.code, int):
        return error.code
    return 128 + signal.SIGINT if isinstance(error, KeyboardInterrupt) else FAILED


def _take_device(launch: Launch, device: str) -> str:
    """Take this process's GPU, where one is to be used; returns torch's name for the channels.

    A launcher may show each process a GPU of its own and no other. Where a single one is seen that is taken to be so:
    NCCL tells if two processes have the same.
    """
    import torch

    if device == "cpu" or not torch.cuda.is_available():
        return "gloo"
    count = torch.cuda.device_count()
    if launch.local_size > count > 1:
        raise DeviceError(
            f"{launch.local_size} processes on a machine with {count} GPUs, expected at most one "
            f"for each: torchrun --nproc_per_node={count}, or trainer.device=cpu"
        )
    torch.cuda.set_device(launch.local_rank if count > 1 else 0)
    return "cpu:gloo,cuda:nccl"  # what only hosts tell each other does not wait for their devices


def _connect(launch: Launch, serves: bool, seconds: float) -> Store:
    """A connection to the store that all processes share, or the store itself."""
    from torch.distributed import TCPStore  # type: ignore[attr-defined]

    address = launch.address if launch.served or launch.rank > 0 else "localhost"
    if not serves:
        _wait_for_server(address, launch.port, seconds)
    try:
        where, wait = (address, launch.port), timedelta(seconds=seconds)
        return _prefixed("warpworld", TCPStore(*where, None, serves, wait, wait_for_workers=False))
    except (RuntimeError, ValueError) as error:
        raise ProcessError(
            f"process {launch.rank} cannot use {launch.address}:{launch.port}: {_first_line(error)}; see MASTER_ADDR "
            "and MASTER_PORT"
        ) from error


def _prefixed(prefix: str, store: Store) -> Store:
    """The part of a store whose keys begin with a prefix."""
    from torch.distributed import PrefixStore  # type: ignore[attr-defined]

    return PrefixStore(prefix, store)


def _wait_for_server(address: str, port: int, seconds: float) -> None:
    until = time.monotonic() + seconds
    while True:
        try:
            socket.create_connection((address, port), timeout=max(0.1, until - time.monotonic())).close()
            return
        except (OSError, UnicodeError) as error:  # UnicodeError: what no name of a machine can be
            if time.monotonic() > until:
                reason = getattr(error, "strerror", None) or error
                raise ProcessError(
                    f"process 0 cannot be reached at {address}:{port} within {seconds:.0f} s: {reason}; see "
                    "MASTER_ADDR and MASTER_PORT, and that process 0 is running"
                ) from error
        time.sleep(0.1)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
