"""Packs the steps of a program into launches on a GPU, with arguments that are packed once."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from warpworld.managers import (
    Argument,
    BeginReset,
    BeginStep,
    CheckActions,
    Copy,
    DataManager,
    KeepFinal,
    RunKernel,
    Step,
    WorldConstants,
    copy_fields,
)
from warpworld.managers.c_structs import INT, POINTER, UINT64, Context, context_of, struct

# ---- structs of cuda/gpu/launch.cuh ---------------------------------------------------------------------------------
MAX_COPIES = 8
_STAY, _BEGIN_STEP, _BEGIN_RESET, _END_STEP, _BEGIN_SOME = range(5)
_Copy = struct(
    "_Copy",
    **dict(source=POINTER, target=POINTER, source_stride=UINT64, target_stride=UINT64, bytes=UINT64, row_stride=UINT64),
    **dict(row=POINTER, slot_rows=POINTER, slots_used=POINTER, slots=INT, active_only=INT),
)
_Launch = struct(
    "_Launch",
    **dict(context=Context, kernel_index=INT, active_only=INT, transition=INT, num_copies=INT),
    copies=_Copy * MAX_COPIES,
)


@dataclass
class _OwnWork:
    """Work of the world before a kernel, in the same launch: a transition, then copies."""

    transition: int = _STAY
    copies: list[ctypes.Structure] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)

    def __bool__(self) -> bool:
        return self.transition != _STAY or bool(self.copies)


@dataclass(frozen=True)
class Launch:
    """A kernel with everything that it is launched with.

    Attributes:
        kernel: its name.
        function: as the backend's module holds it.
        grid: blocks.
        block: threads of a block.
        arguments: all parameters, packed as the driver takes them.
        steps: of the program that it takes, in order; the kernel is the last.
    """

    kernel: str
    function: Any
    grid: tuple[int, int]
    block: tuple[int, int, int]
    arguments: bytes
    steps: tuple[Step, ...] = ()

    def __str__(self) -> str:
        return f"{self.grid[0]} block{'s' * (self.grid[0] != 1)} of {self.block[0]} threads"


def launches_of(
    steps: Sequence[Step], data: DataManager, world: WorldConstants, idle: Callable[[], RunKernel]
) -> list[Launch]:
    """Steps as launches: the world's own work rides in the launch of the kernel behind it.

    Args:
        steps: in order.
        data: a sealed store.
        world: the constants that kernels receive.
        idle: gives the kernel for work with no kernel behind it.
    """
    launches: list[Launch] = []
    work = _OwnWork()

    def launch(kernel: RunKernel) -> None:
        nonlocal work
        launches.append(_launch_of(kernel, work, data, world))
        work = _OwnWork()

    for step in steps:
        if isinstance(step, CheckActions):
            continue  # the backend makes it before the first launch
        if isinstance(step, RunKernel):
            if work and not step.own_env_only:  # it may read envs whose blocks have not done their work yet
                launch(idle())
            launch(step)
        elif isinstance(step, (Copy, KeepFinal)):
            if len(work.copies) == MAX_COPIES:
                launch(idle())
            work.copies.append(_Copy(**copy_fields(step, data, world.num_envs)))
            work.steps.append(step)
        else:
            if work:
                launch(idle())
            work.transition = _transition(step)
            work.steps.append(step)
    if work:
        launch(idle())
    return launches


def _transition(step: Step) -> int:
    match step:
        case BeginStep(active_only=True):
            return _BEGIN_SOME
        case BeginStep():
            return _BEGIN_STEP
        case BeginReset():
            return _BEGIN_RESET
        case _:
            return _END_STEP


def _launch_of(step: RunKernel, work: _OwnWork, data: DataManager, world: WorldConstants) -> Launch:
    own = _Launch(
        context=context_of(world, data),
        kernel_index=step.index,
        active_only=step.active_only,
        transition=work.transition,
        num_copies=len(work.copies),
        copies=tuple(work.copies),
    )
    return Launch(
        kernel=step.name,
        function=step.module.functions[step.name],
        grid=(-(-(step.envs or world.num_envs) // step.envs_per_block), 1),
        block=(step.threads, 1, 1),
        arguments=_packed(bytes(own), step.arguments, data),
        steps=(*work.steps, step),
    )


def _packed(start: bytes, arguments: Sequence[Argument], data: DataManager) -> bytes:
    """A launch's parameters as the driver takes them: one after the other, each aligned to its size."""
    packed = bytearray(start)
    for argument in arguments:
        value = np.array([argument.value], dtype=argument.dtype)
        if argument.array is not None:
            value = np.array([data.pointer(argument.array)], dtype=np.uint64)
        packed += bytes(-len(packed) % value.itemsize) + value.tobytes()
    return bytes(packed)
