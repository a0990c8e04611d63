"""Small environments for tests, put together from CUDA text or Python phases."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete

from warpworld import Array, Environment, Group, Kernel

HEADER = "#include <warpworld.cuh>\n"
# Kernels that do nothing, for tests of what is around them.
IDLE = HEADER + 'extern "C" __global__ void step() {}\nextern "C" __global__ void reset() {}\n'


def box(*shape: int) -> Box:
    """A space of float32 numbers."""
    return Box(-np.inf, np.inf, shape or (1,))


def agents(size: int = 2, name: str = "agent", features: int = 1, choices: int = 3) -> Group:
    """A group of agents that see ``features`` numbers and have ``choices`` actions."""
    return Group(name, size, observation=box(features), action=Discrete(choices))


def environment(
    source: Path | None,
    arrays: Sequence[Array] = (),
    groups: Sequence[Group] | None = None,
    params: dict[str, Any] | None = None,
    phases: Sequence[str | Kernel | Callable[..., None]] = ("step",),
    resets: Sequence[str | Kernel | Callable[..., None]] = ("reset",),
    compile_time: tuple[str, ...] = (),
) -> Environment:
    """An Environment called Toy whose Params have the fields of ``params``, at these values."""
    fields = [(name, type(value), dataclasses.field(default=value)) for name, value in (params or {}).items()]
    members = {
        "source": source,
        "compile_time": compile_time,
        "Params": dataclasses.make_dataclass("Params", fields, frozen=True),
        "groups": lambda self: list(groups) if groups is not None else [agents()],
        "arrays": lambda self: list(arrays),
        "phases": lambda self: list(phases),
        "resets": lambda self: list(resets),
    }
    return type("Toy", (Environment,), members)()
