"""A program of the cpu backend: one native call that takes every worker's share of the envs through all steps.

``$WARPWORLD_KERNEL_TIMEOUT``: seconds without progress after which a kernel is ended, 30 if not set.
"""

from __future__ import annotations

import ctypes
import math
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from warpworld.errors import DeviceError, KernelError
from warpworld.managers import (
    INCLUDE_FOLDER,
    Argument,
    BeginReset,
    BeginStep,
    CheckActions,
    Copy,
    DataManager,
    EndStep,
    KeepFinal,
    Program,
    Repeat,
    RunHostFunction,
    RunKernel,
    Step,
    Work,
    WorldConstants,
    copy_fields,
)
from warpworld.managers.c_structs import context_of
from warpworld.managers.cpu.host_compiler import debugging, source_line
from warpworld.managers.cpu.native_runtime import ErrorCode, NativeProgram, NativeRepeats, NativeStep, StepKind, runtime
from warpworld.managers.legal_actions import ActionBounds


class CpuProgram:
    """Steps as the runtime reads them.

    Attributes:
        address: of the program in C's form.
    """

    def __init__(self, steps: Sequence[Step], data: DataManager, world: WorldConstants, num_workers: int) -> None:
        self._run = runtime().ww_run_program
        runtime().ww_prepare()
        self._keep: list[Any] = [data.block]
        self._bounds: list[ActionBounds] = []
        # how often all of them are taken
        repeats = [step for step in steps if isinstance(step, Repeat)]
        works = [step for step in steps if not isinstance(step, Repeat)]
        # steps in C's form
        native = (NativeStep * max(len(works), 1))(*(self._native(work, data, world) for work in works))
        kernels = [work for work in works if isinstance(work, RunKernel)]
        functions = [work for work in works if isinstance(work, RunHostFunction)]
        self._kernels = {step.name: step for step in kernels}
        # the program, with the limits of all steps
        self._program = NativeProgram(
            context=context_of(world, data),
            steps=ctypes.addressof(native),
            num_steps=len(works),
            max_workers=min((num_workers, *(step.max_workers for step in functions))),
            granularity=math.lcm(*_envs_of_blocks(works)),  # no block is cut in two, and no vector
            max_threads=max((step.threads for step in kernels), default=1),
            timeout_milliseconds=_kernel_timeout(),
        )
        # memory that C points to lives as long as this object
        self._keep.append(native)
        self.address = ctypes.addressof(self._program)
        self._repeats = [NativeRepeats(self.address, each.times, 0, data.pointer(each.row)) for each in repeats]

    def frozen(self) -> Program:
        """Make a plain function that runs all steps for all envs in one native call; an object would be slower."""
        if self._repeats:
            return partial(self._repeat, *self._repeats)
        run, address, explain = self._run, self.address, self.refuse

        def call() -> None:
            if run(address):
                explain()

        return call

    def _repeat(self, repeats: ctypes.Structure) -> None:
        """Run all steps several times in a row; Ctrl-C is seen between two native calls."""
        repeats.done = 0
        while repeats.done < repeats.times:
            if runtime().ww_repeat_program(ctypes.addressof(repeats)):
                self.refuse()

    def check_actions(self, envs: np.ndarray) -> None:
        """Refuse illegal actions of some envs (indices), as a call does those of all."""
        for bounds in self._bounds:
            bounds.refuse(envs)

    def _native(self, step: Work, data: DataManager, world: WorldConstants) -> ctypes.Structure:
        match step:
            case BeginStep():
                return NativeStep(kind=StepKind.BEGIN, active_only=step.active_only)
            case BeginReset():
                return NativeStep(kind=StepKind.BEGIN_RESET)
            case EndStep():
                return NativeStep(kind=StepKind.END)
            case RunKernel():
                return self._kernel(step, data)
            case RunHostFunction():
                return self._function(step)
            case Copy():
                return NativeStep(kind=StepKind.COPY, **copy_fields(step, data, world.num_envs))
            case KeepFinal():
                return NativeStep(kind=StepKind.KEEP_FINAL, **copy_fields(step, data, world.num_envs))
            case CheckActions():
                return self._check(step, data)

    def _kernel(self, step: RunKernel, data: DataManager) -> ctypes.Structure:
        # arguments, and pointers to them, which must live as long as the program
        values = np.zeros(max(len(step.arguments), 1), np.uint64)
        for i, argument in enumerate(step.arguments):
            _write_argument(values[i : i + 1], argument, data)
        pointers = (ctypes.c_void_p * len(values))(*(values.ctypes.data + 8 * i for i in range(len(values))))
        self._keep += [values, pointers]
        return NativeStep(
            kind=StepKind.KERNEL,
            active_only=step.active_only,
            kernel=step.module.kernel(step.name),
            args=ctypes.addressof(pointers),
            threads=step.threads,
            envs_per_block=step.envs_per_block,
            kernel_index=step.index,
        )

    def _function(self, step: RunHostFunction) -> ctypes.Structure:
        arguments = (ctypes.c_void_p * 1)(ctypes.addressof(step.argument))
        self._keep += [step.argument, arguments]
        return NativeStep(
            kind=StepKind.KERNEL,
            kernel=step.function,
            args=ctypes.addressof(arguments),
            threads=1,
            envs_per_block=step.envs_per_block,
        )

    def _check(self, step: CheckActions, data: DataManager) -> ctypes.Structure:
        bounds = ActionBounds(step, data)
        self._bounds.append(bounds)
        return NativeStep(
            kind=StepKind.CHECK_ACTIONS,
            source=data.pointer(step.array),
            low=bounds.low.data_ptr(),
            high=bounds.high.data_ptr(),
            entries=len(step.low),
            is_float=data.array(step.array).dtype == "float32",
        )

    def refuse(self) -> None:
        """Raise what ended the latest call, once."""
        error = self._program.error
        code, error.code = error.code, ErrorCode.OK
        # errors that have an exception of their own
        if code == ErrorCode.ILLEGAL_ACTION:
            for bounds in self._bounds:
                bounds.refuse()
        if code == ErrorCode.INTERRUPTED:
            raise KeyboardInterrupt
        if code == ErrorCode.NO_MEMORY:
            raise DeviceError(
                f"no memory for the stacks of {self._program.max_workers} workers, {self._program.max_threads} agents "
                "each; ask for fewer workers"
            )
        # faults of kernels
        kernel, text = (error.kernel or b"").decode(), error.text.decode(errors="replace")
        step = self._kernels.get(kernel)
        if step is None:
            raise KernelError(f"in a step of {self._program.context.num_envs} envs, outside of kernels: {text}")
        # env and agent in the world, from block and thread
        env, agent = error.block, error.thread
        if step.envs_per_block > 1:
            slot, agent = divmod(agent, int(step.module.source.constants["NUM_AGENTS"]))
            env = env * step.envs_per_block + slot
        env += int(self._program.context.first_env)
        vector = 1 if debugging() else step.module.source.envs_at_once
        if vector > 1:
            text += f" (there or in one of the {vector - 1} envs behind it; WARPWORLD_DEBUG=1 finds it)"
        raise self.failure(code, step, env, agent, self._place(step, error), text)

    def failure(
        self, code: int, step: RunKernel, env: int, agent: int, place: tuple[str, int], text: str
    ) -> KernelError:
        """The error for a kernel that was ended.

        Args:
            code: of ``ww_error_code``.
            step: the kernel.
            env: global index of the env it was ended for.
            agent: of that env.
            place: file and line.
            text: what happened.
        """
        return KernelError(f"{place[0]}:{place[1]}: kernel '{step.name}', env {env}, agent {agent}: {text}")

    def _place(self, step: RunKernel, error: ctypes.Structure) -> tuple[str, int]:
        """File and line of an error; where that is not known, of its kernel."""
        if error.file:
            return step.module.file_of(os.fsdecode(error.file)), error.line
        found = self.line_of_fault(step, error.pc) if error.pc else None
        source = step.module.source
        kernels = {signature.name: signature for signature in source.signatures}
        if kernels[step.name].path in source.behind and (found is None or Path(found[0]) in source.behind):
            file, _, line = source.place_of("RESIDENT").rpartition(":")  # what these kernels are made of
            return file, int(line)
        return found or (str(kernels[step.name].path), kernels[step.name].line)

    def line_of_fault(self, step: RunKernel, address: int) -> tuple[str, int] | None:
        """File and line in the author's files of where a kernel was ended, if that is known."""
        return _line_of(step.module.path, address)


def _line_of(library: Path, address: int) -> tuple[str, int] | None:
    """File and line of an address in a loaded library."""
    try:
        maps = Path("/proc/self/maps").read_text().splitlines()
    except OSError:
        return None
    spans = [line.split()[0].split("-") for line in maps if line.endswith(str(library))]
    start, end = (min(int(a, 16) for a, _ in spans), max(int(b, 16) for _, b in spans)) if spans else (0, 0)
    return source_line(library, address - start, INCLUDE_FOLDER) if start <= address < end else None


def _envs_of_blocks(steps: Sequence[Step]) -> list[int]:
    """Envs that shares keep together, for each step that runs a kernel or a function."""
    launches = [step for step in steps if isinstance(step, RunKernel | RunHostFunction)]
    vectors = [step.module.source.envs_at_once for step in launches if isinstance(step, RunKernel)]
    return [*(step.envs_per_block for step in launches), *vectors]


def _kernel_timeout() -> int:
    """Milliseconds without progress after which a kernel is ended."""
    text = os.environ.get("WARPWORLD_KERNEL_TIMEOUT") or "30"
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not seconds > 0:
        raise DeviceError(f"WARPWORLD_KERNEL_TIMEOUT={text!r}: expected seconds, more than 0; 'inf' for no limit")
    return int(min(seconds * 1000, 2**30))


def _write_argument(slot: np.ndarray, argument: Argument, data: DataManager) -> None:
    """Put an argument's bytes at the start of an 8-byte slot."""
    if argument.array is not None:
        slot[0] = data.pointer(argument.array)
        return
    value = np.array([argument.value], dtype=argument.dtype)
    slot.view(np.uint8)[: value.itemsize] = value.view(np.uint8)
