"""Parts of an observation put together in C++, as a step of a world's program."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from torch import Tensor

from warpworld.managers import RunHostFunction
from warpworld.managers.cpu import MAX_WORKERS
from warpworld.policies.fused.library import library

_POINTER, _INT64 = ctypes.c_void_p, ctypes.c_int64


class _JoinedPart(ctypes.Structure):
    _fields_ = [("first", _POINTER), *((name, _INT64) for name in ("env_stride", "agent_stride", "bytes"))]


class _JoiningCall(ctypes.Structure):
    _fields_ = [
        ("parts", _POINTER),
        *((name, _INT64) for name in ("num_parts", "agents", "num_envs")),
        ("rows", _POINTER),
    ]


class Joining:
    """Rows of what stands in the store, as ``ObservationRows.join`` makes them.

    Attributes:
        step: writes them, in a program of a world whose arrays these are.

    Args:
        parts: (envs, agents, numbers) each, in the store; see ``takes``.
        rows: (envs, agents, entries) in the store, float32 or bytes.
    """

    def __init__(self, parts: Sequence[Tensor], rows: Tensor) -> None:
        self._parts = (_JoinedPart * len(parts))(*(_joined(part) for part in parts))
        envs, agents = rows.shape[:2]
        call = _JoiningCall(ctypes.addressof(self._parts), len(parts), agents, envs, rows.data_ptr())
        self.step = RunHostFunction(library().kernel("joining"), call, 1, MAX_WORKERS)

    @staticmethod
    def takes(parts: Sequence[Tensor], rows: Tensor) -> bool:
        """Whether the rows are copies of the parts: a half among floats is converted."""
        are_bytes = rows.element_size() == 1
        return rows.is_contiguous() and all(
            (are_bytes or part.dtype == rows.dtype) and part.stride(-1) == 1 for part in parts
        )


def _joined(part: Tensor) -> _JoinedPart:
    strides = (part.stride(0) * part.element_size(), part.stride(1) * part.element_size())
    return _JoinedPart(part.data_ptr(), *strides, part.shape[-1] * part.element_size())
