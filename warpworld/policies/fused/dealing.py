"""Dealing numbers into parts at random, in C++."""

from __future__ import annotations

import ctypes

import torch
from torch import Tensor

from warpworld.policies.fused.library import function_of_one_pointer

_POINTER, _INT64 = ctypes.c_void_p, ctypes.c_int64
_WORDS_AT_ONCE = 64  # of deal.hpp


class _Deal(ctypes.Structure):
    """Of deal.hpp."""

    _fields_ = [
        *((name, _INT64) for name in ("count", "parts")),
        *((name, _POINTER) for name in ("seed", "part_of", "places", "order")),
    ]


def deal(count: int, parts: int, generator: torch.Generator) -> Tensor:
    """The numbers 0 .. count-1 in parts at random; all ways to deal them are equally likely.

    Args:
        count: of numbers, below 2^32.
        parts: at most ``count`` and below 2^31, of nearly equal length: the first ``count % parts`` have one number
            more than the others.
        generator: on the cpu; gives the two words that the result depends on.

    Returns:
        (count,) int64, part by part, in ascending order within each part; where the C++ does not compile, in random
        order.
    """
    native = function_of_one_pointer("fused_deal")
    if native is None:
        return torch.randperm(count, generator=generator)
    seed = torch.randint(2**32, (2,), generator=generator)
    order, part_of = torch.empty(count, dtype=torch.int64), torch.empty(count + _WORDS_AT_ONCE, dtype=torch.int32)
    places = torch.empty(parts, dtype=torch.int64)
    addresses = [tensor.data_ptr() for tensor in (seed, part_of, places, order)]
    call = _Deal(count, parts, *addresses)  # named, so that it lives as long as the call
    native(ctypes.addressof(call))
    return order
