"""How long processes on one machine take for a sum over all of them, through gloo, by its bytes."""

from __future__ import annotations

import multiprocessing
import tempfile
from datetime import timedelta
from functools import partial
from pathlib import Path

import torch
import torch.distributed as dist

from .clock import measure

SIZES = (4, 1_000, 10_000, 100_000, 1_000_000, 10_000_000)  # bytes
CALLS, BYTES = 20, 20_000_000  # in a window, at most; all processes make the same number of calls
WINDOWS, ONCE = 60, 1e-9  # windows of one round of calls each
SECONDS = 120  # after which processes that have not ended are ended


def seconds_per_sum(processes: int) -> dict[int, float]:
    """Seconds of a sum by its bytes: the best of several windows in process 0, with one thread of torch each."""
    start = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        started = [start.Process(target=_main, args=(rank, processes, Path(folder))) for rank in range(processes)]
        for process in started:
            process.start()
        try:
            for process in started:
                process.join(SECONDS)
            if any(process.exitcode != 0 for process in started):
                raise RuntimeError(f"exit statuses {[process.exitcode for process in started]}, expected 0")
            found: dict[int, float] = torch.load(Path(folder) / "seconds.pt")
        finally:
            for process in started:
                process.kill()
    return found


def _main(rank: int, size: int, folder: Path) -> None:
    torch.set_num_threads(1)
    limit = timedelta(seconds=SECONDS)
    dist.init_process_group("gloo", init_method=f"file://{folder / 'store'}", rank=rank, world_size=size, timeout=limit)
    seconds = {}
    for count in SIZES:
        tensor, calls = torch.zeros(count // 4), max(3, min(CALLS, BYTES // count))
        seconds[count] = measure(partial(dist.all_reduce, tensor), None, ONCE, WINDOWS, calls).best
    if rank == 0:
        torch.save(seconds, folder / "seconds.pt")
    dist.barrier()
    dist.destroy_process_group()
