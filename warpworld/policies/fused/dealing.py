"""Dealing numbers into parts at random, in C++."""

from __future__ import annotations

import ctypes

import torch
from torch import Tensor

from warpworld.managers.cpu.native_library import WorkerLoop
from warpworld.managers.cpu.workers import MAX_WORKERS
from warpworld.policies.fused.library import found_library

_POINTER, _INT64 = ctypes.c_void_p, ctypes.c_int64
_WORDS_AT_ONCE = 64  # of deal.hpp


class _Deal(ctypes.Structure):
    """Of deal.hpp."""

    _fields_ = [
        *((name, _INT64) for name in ("count", "parts")),
        *((name, _POINTER) for name in ("seed", "part_of", "places", "order")),
    ]


class _Deals(ctypes.Structure):
    """What ``run_deals`` of fused.cpp reads."""

    _fields_ = [("deals", _POINTER)]


class Dealer:
    """Deals numbers into parts at random; all ways to deal them are equally likely.

    Results are the same for any number of workers. A call from one thread at a time.

    Args:
        num_workers: threads, the calling one included; None means as many as torch has. At most 128 are used.
    """

    def __init__(self, num_workers: int | None = None) -> None:
        self._workers = min(torch.get_num_threads() if num_workers is None else num_workers, MAX_WORKERS)
        self._call = _Deals()
        self._run: WorkerLoop | None = None

    def __call__(self, count: int, parts: int, generator: torch.Generator, passes: int = 1) -> Tensor:
        """The numbers 0 .. count-1 in parts, dealt anew for each of some passes.

        Args:
            count: of numbers, below 2^32.
            parts: at most ``count`` and below 2^31, of nearly equal length: the first ``count % parts`` have one number
                more than the others.
            generator: on the cpu; gives the two words of each pass that the result depends on.
            passes: how many; workers share them.

        Returns:
            (passes * count,) int64, pass by pass and part by part, in ascending order within each part; where the C++
            does not compile, in random order.
        """
        compiled = found_library()
        if compiled is None:
            return torch.cat([torch.randperm(count, generator=generator) for _ in range(passes)])
        if self._run is None:
            self._run = WorkerLoop(compiled, "deals", self._call, self._workers)
        seeds = torch.stack([torch.randint(2**32, (2,), generator=generator) for _ in range(passes)])
        part_of = torch.empty(passes, count + _WORDS_AT_ONCE, dtype=torch.int32)
        places, orders = (torch.empty(passes, size, dtype=torch.int64) for size in (parts, count))
        rows = zip(*(tensor.unbind() for tensor in (seeds, part_of, places, orders)), strict=True)
        deals = (_Deal * passes)(*(_Deal(count, parts, *(part.data_ptr() for part in row)) for row in rows))
        self._call.deals = ctypes.addressof(deals)
        self._run(passes)
        return orders.flatten()
