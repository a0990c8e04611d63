"""Random permutations of rows in parts, in C++: the rows of minibatches."""

from __future__ import annotations

import ctypes

import torch
from torch import Tensor

from warpworld.managers.cpu import MAX_WORKERS, WorkerLoop
from warpworld.policies.fused.library import found_library

_POINTER, _INT64 = ctypes.c_void_p, ctypes.c_int64
_WORDS_AT_ONCE = 64  # of shuffle.hpp


class _Shuffle(ctypes.Structure):
    """``Shuffle`` of shuffle.hpp."""

    _fields_ = [
        *((name, _INT64) for name in ("count", "parts")),
        *((name, _POINTER) for name in ("seed", "part_of", "places", "order")),
    ]


class _Shuffles(ctypes.Structure):
    """Argument of ``run_shuffles`` of fused.cpp."""

    _fields_ = [("shuffles", _POINTER)]


class Shuffler:
    """Shuffles numbers into parts; all ways to part them are equally likely.

    Results are the same for any number of workers. A call from one thread at a time.

    Args:
        num_workers: threads, the calling one included; None means as many as torch has. At most 128 are used.
    """

    def __init__(self, num_workers: int | None = None) -> None:
        self._workers = min(torch.get_num_threads() if num_workers is None else num_workers, MAX_WORKERS)
        self._call = _Shuffles()
        self._run: WorkerLoop | None = None

    def __call__(self, count: int, parts: int, generator: torch.Generator, passes: int = 1) -> Tensor:
        """The numbers 0 .. count-1 in parts, shuffled anew for each of some passes.

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
            self._run = WorkerLoop(compiled, "shuffles", self._call, self._workers)
        seeds = torch.stack([torch.randint(2**32, (2,), generator=generator) for _ in range(passes)])
        part_of = torch.empty(passes, count + _WORDS_AT_ONCE, dtype=torch.int32)
        places, permutations = (torch.empty(passes, size, dtype=torch.int64) for size in (parts, count))
        rows = zip(*(tensor.unbind() for tensor in (seeds, part_of, places, permutations)), strict=True)
        shuffles = (_Shuffle * passes)(*(_Shuffle(count, parts, *(part.data_ptr() for part in row)) for row in rows))
        self._call.shuffles = ctypes.addressof(shuffles)
        self._run(passes)
        return permutations.flatten()
