"""Processes of one start find each other, whatever earlier starts left in the store."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch.distributed as dist

from warpworld.errors import ProcessError
from warpworld.trainers.processes.membership import Launch
from warpworld.trainers.processes.rendezvous import rendezvous

SECONDS = 20.0


def launch(rank: int, size: int = 3) -> Launch:
    return Launch(rank, size, 0, 1, "first.machine", 29500, served=True)


def test_processes_of_each_start_find_each_other() -> None:
    store, gate = dist.HashStore(), threading.Barrier(3)
    found = []
    for _ in range(3):

        def started(rank: int) -> str:
            gate.wait(SECONDS)
            return rendezvous(store, launch(rank), SECONDS)

        with ThreadPoolExecutor(3) as pool:
            found.append(set(pool.map(started, range(3))))
    assert found == [{"start/1"}, {"start/2"}, {"start/3"}]


def test_a_store_that_goes_while_processes_meet() -> None:
    class Gone:
        def add(self, key: str, number: int) -> int:
            raise RuntimeError("Connection reset by peer")

    with pytest.raises(ProcessError) as raised:
        rendezvous(Gone(), launch(0), SECONDS)  # type: ignore[arg-type]
    assert str(raised.value) == (
        "the connection to first.machine:29500 closed before all 3 processes had come; start them all again"
    )


def test_a_start_that_failed_leaves_names_that_no_process_answers_to() -> None:
    store = dist.HashStore()
    with pytest.raises(ProcessError) as raised:
        rendezvous(store, launch(2), 0.0)
    assert str(raised.value) == (
        "process 0 of 3 has not come to first.machine:29500 within 0 s; start them all with the same WORLD_SIZE, "
        "MASTER_ADDR and MASTER_PORT, each with its own RANK"
    )
    with pytest.raises(ProcessError, match=r"^1 of 3 processes have come to first\.machine:29500 within 0 s; start"):
        rendezvous(store, launch(0), 0.0)
    with ThreadPoolExecutor(3) as pool:
        assert set(pool.map(lambda rank: rendezvous(store, launch(rank), SECONDS), range(3))) == {"start/2"}
