"""The variance of many numbers in C++: one pass over them, in place of several operations."""

from __future__ import annotations

import ctypes

import torch
from torch import Tensor

from warpworld.policies.fused.calls import checked
from warpworld.policies.fused.library import found_library

_POINTER = ctypes.c_void_p


class _Variance(ctypes.Structure):
    """Struct of variance.hpp."""

    _fields_ = [("count", ctypes.c_int64), ("numbers", _POINTER), ("less", _POINTER), ("found", ctypes.c_double)]


def fused_variance(numbers: Tensor, less: Tensor | None = None) -> Tensor | None:
    """The variance of a population, or of ``numbers - less``; 0 where no two differ.

    Args:
        numbers: (rows,) float32 on the cpu, at least one.
        less: the same; None for zeros.

    Returns:
        () float32; None where the C++ does not compile.

    Raises:
        StoreError: a tensor has another shape, or is of another kind of numbers.
    """
    compiled = found_library()
    if compiled is None:
        return None
    shape = (len(numbers),)
    own = checked("numbers", numbers, torch.float32, shape)
    other = None if less is None else checked("less", less, torch.float32, shape)
    call = _Variance(len(own), own.data_ptr(), None if other is None else other.data_ptr())
    compiled.function("fused_variance", _POINTER)(ctypes.addressof(call))
    return torch.tensor(call.found, dtype=torch.float32)
