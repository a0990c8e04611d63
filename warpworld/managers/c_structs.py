"""C structs that Python fills in for kernels, and the one that both backends share."""

from __future__ import annotations

import ctypes
from typing import Any

from warpworld.managers.data_manager import DataManager
from warpworld.managers.program import AUTORESET, WorldConstants

POINTER, INT, UNSIGNED, UINT64 = ctypes.c_void_p, ctypes.c_int, ctypes.c_uint, ctypes.c_uint64


def struct(name: str, /, **fields: Any) -> type[ctypes.Structure]:
    """A C struct of these fields, in this order."""
    return type(name, (ctypes.Structure,), {"_fields_": list(fields.items())})


# ww_context of cuda/context.cuh
Context = struct(
    "Context",
    **dict(num_envs=INT, first_env=INT, autoreset=INT, timestep=POINTER, clock=POINTER, key=POINTER, stream=POINTER),
    **dict(terminated=POINTER, truncated=POINTER, active=POINTER, resetting=POINTER),
)


def context_of(world: WorldConstants, data: DataManager) -> ctypes.Structure:
    """Arguments that a world passes to every kernel, on a sealed store."""
    pointers = {name: data.pointer(name) for name in ("timestep", "clock", "terminated", "truncated", "active")}
    return Context(
        num_envs=world.num_envs,
        first_env=world.first_env,
        autoreset=AUTORESET.index(world.autoreset),
        key=data.pointer("random_key"),
        stream=data.pointer("random_stream"),
        resetting=data.pointer("resetting") if "resetting" in data else None,
        **pointers,
    )
