"""The words of a program: the steps that a world asks a backend for, in terms of the store's arrays.

How steps become launches is the backend's own affair.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class BeginStep:
    """Every env takes part; timestep and clock advance; terminated and truncated are cleared."""


@dataclass(frozen=True)
class BeginReset:
    """The envs that the caller marked in ``active`` start anew: timestep 0, clock advances, ends are cleared."""


@dataclass(frozen=True)
class EndStep:
    """The envs that ended become the active ones, and their timestep is 0 again."""


@dataclass(frozen=True)
class Argument:
    """What one slot of a kernel, a parameter or a field of a struct, is bound to: an array by name, or a number.

    Attributes:
        array: name of the array, or None.
        value: the number, if ``array`` is None.
        dtype: NumPy name of the parameter's type, or of what it points to.
    """

    array: str | None
    value: int | float | bool
    dtype: str


@dataclass(frozen=True)
class RunKernel:
    """Run a kernel of a built module, for all envs or for the active ones.

    Attributes:
        module: what the backend's ``build`` returned.
        name: of the kernel.
        arguments: one per slot of the kernel's signature, in order.
        threads: of a block.
        envs_per_block: how many envs share a block.
        index: the kernel's number in its world; it keeps kernels' random numbers apart.
        active_only: whether envs that do not take part are left out.
        own_env_only: False if it touches other envs' parts, so that it must have a launch of its own.
    """

    module: Any
    name: str
    arguments: tuple[Argument, ...]
    threads: int
    envs_per_block: int
    index: int
    active_only: bool = False
    own_env_only: bool = True


@dataclass(frozen=True)
class Copy:
    """Copy each env's part of one array into another, or into one of its rows.

    Attributes:
        source: per env, or shared by all envs (``shared``).
        target: (num_envs, ...), or (rows, num_envs, ...) with ``row``.
        active_only: copy the active envs only.
        shared: the source holds one env's part, the same for all.
        row: name of the array with the row's number, one int32 per world, or None.
    """

    source: str
    target: str
    active_only: bool = False
    shared: bool = False
    row: str | None = None


@dataclass(frozen=True)
class KeepFinal:
    """Keep the final observation of each env that was truncated (and not terminated) in its next free slot.

    Attributes:
        source: (num_envs, ...), the observations.
        target: (num_envs, slots, ...).
        slot_rows: (num_envs, slots) int32, receives the row.
        slots_used: (num_envs,) int32, is counted up.
        row: name of the array with the row's number, one int32 per world.
    """

    source: str
    target: str
    slot_rows: str
    slots_used: str
    row: str


Step = BeginStep | BeginReset | EndStep | RunKernel | Copy | KeepFinal


# Steps frozen against the sealed store: a call runs them in order for all envs, and raises KernelError if one faults.
# A call is whole: threads that make calls at the same time take turns.
Program = Callable[[], None]


@dataclass(frozen=True)
class WorldConstants:
    """What a world tells its kernels besides its arrays.

    Attributes:
        num_envs: envs in this process.
        first_env: global index of the first of them.
        seed: of all random numbers, 64 bits.
    """

    num_envs: int
    first_env: int
    seed: int
