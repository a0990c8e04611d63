"""The cpu backend: ``.cu`` files through the host C++ compiler, run by the runtime library's pool of workers.

``$WARPWORLD_KERNEL_TIMEOUT``: seconds without progress after which a kernel is ended, 30 if not set.
"""

from __future__ import annotations

import ctypes
import functools
import os
import platform
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from warpworld.errors import BuildError, DeviceError, KernelError
from warpworld.managers.backend import (
    Argument,
    BeginReset,
    BeginStep,
    Copy,
    EndStep,
    KeepFinal,
    RunKernel,
    Step,
    WorldConstants,
)
from warpworld.managers.build_cache import cached, content_key
from warpworld.managers.c_structs import INT, POINTER, UINT64, UNSIGNED, Context, context_of, struct
from warpworld.managers.compiler_errors import explain_failure, first_error
from warpworld.managers.copies import copy_fields
from warpworld.managers.cpu.host_compiler import RUNTIME_FLAGS, debugging, find_compiler, kernel_flags, source_line
from warpworld.managers.data_manager import DataManager
from warpworld.managers.device_variables import Filled
from warpworld.managers.kernel_source import INCLUDE_FOLDER, KernelSource, host_address

if TYPE_CHECKING:
    import torch

ABI = 1
MAX_WORKERS = 128
INTERRUPTED, NO_MEMORY = 7, 8

CPU_QUOTA = Path("/sys/fs/cgroup/cpu.max")  # a container's: microseconds of processor time, in so many


# ---- structs of cuda/cpu/*.hpp --------------------------------------------------------------------------------------
_Error = struct(
    "_Error",
    **dict(code=INT, block=UNSIGNED, thread=UNSIGNED, line=INT, file=ctypes.c_char_p, kernel=ctypes.c_char_p),
    **dict(pc=POINTER, address=POINTER, text=ctypes.c_char * 512),
)
_Step = struct(
    "_Step",
    **dict(kind=INT, active_only=INT, kernel=POINTER, args=POINTER, threads=UNSIGNED, envs_per_block=UNSIGNED),
    **dict(kernel_index=INT, slots=INT, source=POINTER, target=POINTER, source_stride=UINT64, bytes=UINT64),
    **dict(row_stride=UINT64, row=POINTER, slot_rows=POINTER, slots_used=POINTER),
)
_Program = struct(
    "_Program",
    **dict(context=Context, steps=POINTER, num_steps=INT, max_workers=UNSIGNED, granularity=UNSIGNED),
    **dict(max_threads=UNSIGNED, timeout_milliseconds=INT, launches=UNSIGNED, nanoseconds_per_env=ctypes.c_float),
    error=_Error,
)
_BEGIN, _BEGIN_RESET, _KERNEL, _END, _COPY, _KEEP_FINAL = range(6)


# ---- compiling ------------------------------------------------------------------------------------------------------
def available_cores() -> int:
    """Cores that this process may use: those it may run on, as far as a container's share of time goes."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = CPU_QUOTA.read_text().split()
        return max(1, min(cores, round(int(quota) / int(period))))
    except (OSError, ValueError):  # no such file, or "max": no limit
        return cores


@functools.cache
def _processor() -> str:
    """What code for the native processor depends on: a cache may lie on a disk that several machines share."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor()
    wanted = r"^(flags|Features|isa|cpu|model name|CPU implementer|CPU part)\s*:.*$"
    return "\n".join(sorted({match.group() for match in re.finditer(wanted, text, re.MULTILINE)}))


def _headers() -> list[bytes]:
    """All that the package's own headers say to a host compiler."""
    paths = [*INCLUDE_FOLDER.glob("*.cuh"), *(INCLUDE_FOLDER / "cpu").rglob("*")]
    return [path.read_bytes() for path in sorted(paths) if path.is_file()]


def _load(path: Path, mode: int = ctypes.DEFAULT_MODE) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(str(path), mode=mode)
    except OSError as error:
        raise BuildError(
            f"cannot load the compiled {path}: {error}; remove the file, or set WARPWORLD_CACHE to a folder that "
            "programs may be loaded from"
        ) from error


@functools.cache
def _runtime() -> ctypes.CDLL:
    """The runtime library, built once per machine and loaded so that modules find its symbols."""
    compiler, text = find_compiler(), '#include "cpu/runtime.cpp"\n'
    key = content_key(["runtime", text, compiler.version, *compiler.all_flags(RUNTIME_FLAGS), *_headers()])

    def build(scratch: Path, target: Path) -> None:
        log = compiler.build_library(text, RUNTIME_FLAGS, [INCLUDE_FOLDER], scratch, target)
        if log:
            raise BuildError(
                f"the cpu backend's runtime does not compile with {compiler.version}: {first_error(log)}", log
            )

    library = _load(cached(key, ".so", build), ctypes.RTLD_GLOBAL)
    library.ww_run_program.argtypes = [ctypes.c_void_p]
    library.ww_run_program.restype = ctypes.c_int
    if library.ww_abi() != ABI:
        raise BuildError(f"the cpu backend's runtime has ABI {library.ww_abi()}, expected {ABI}; empty the build cache")
    return library


class Module:
    """A compiled source: a shared library whose kernels are exported as ``ww_kernel_<name>``."""

    def __init__(self, path: Path, source: KernelSource) -> None:
        self.path, self.source = path, source
        self._library = _load(path)
        for each in source.filled:
            self._fill(each)

    def kernel(self, name: str) -> int:
        """Address of a kernel's description."""
        return ctypes.addressof(ctypes.c_char.in_dll(self._library, f"ww_kernel_{name}"))

    def _fill(self, variable: Filled) -> None:
        """Write a variable's contents; another world of the same library may be reading them, so only what differs."""
        address = ctypes.c_void_p.in_dll(self._library, host_address(variable.name)).value
        contents = variable.values.tobytes()
        if address and ctypes.string_at(address, len(contents)) != contents:
            ctypes.memmove(address, contents, len(contents))


class CpuBackend:
    """Kernels on the host's cores, arrays in host memory.

    Args:
        num_workers: threads that step envs, the calling one included; None means one per core, and under
            ``$WARPWORLD_DEBUG=1`` one in all. Results do not depend on it.
    """

    name = "cpu"
    side_by_side = False
    packs_envs = False  # lanes that nobody uses would cost time here
    warps_per_block = 1
    padding = 0
    captures = False

    def __init__(self, num_workers: int | None = None) -> None:
        import torch

        if sys.platform != "linux":
            raise DeviceError(f"device 'cpu' runs on Linux, not on {sys.platform}; on Windows, use it under WSL")
        most = 1 if debugging() else min(available_cores(), MAX_WORKERS)
        workers = most if num_workers is None else num_workers
        if not isinstance(workers, (int, np.integer)) or not 1 <= workers <= MAX_WORKERS:
            raise DeviceError(f"num_workers={workers!r}: expected 1 to {MAX_WORKERS}")
        self.device = torch.device("cpu")
        self.num_workers = workers

    def allocate(self, nbytes: int) -> torch.Tensor:
        """A zeroed block of ``nbytes`` bytes, aligned to a page."""
        import torch

        page = 4096
        block = torch.zeros(nbytes + page, dtype=torch.uint8)
        start = -block.data_ptr() % page
        return block[start : start + nbytes]

    def free_memory(self) -> None:
        """Nobody can say: a system gives more than there is."""

    def build(self, source: KernelSource) -> Module:
        """Compile a source into a module, or take it from the build cache."""
        _runtime()
        compiler, text = find_compiler(), source.host_text()
        included = [data for _, data in source.included()]
        flags = compiler.all_flags(kernel_flags())
        key = content_key(["module", text, compiler.version, *flags, _processor(), *included, *_headers()])

        def build(scratch: Path, target: Path) -> None:
            log = compiler.build_library(text, kernel_flags(), [INCLUDE_FOLDER, source.path.parent], scratch, target)
            if log:
                raise explain_failure(source, log)

        return Module(cached(key, ".so", build), source)

    def program(self, steps: Sequence[Step], data: DataManager, world: WorldConstants) -> Callable[[], None]:
        """Freeze steps against a sealed store."""
        return CpuProgram(steps, data, world, self.num_workers).frozen()

    def random_state(self) -> torch.Tensor:
        """State of torch's own generator."""
        import torch

        return torch.get_rng_state()

    def set_random_state(self, state: torch.Tensor) -> None:
        """Write back what ``random_state`` returned."""
        import torch

        torch.set_rng_state(state)

    def warm_up(self, run: Callable[[], None]) -> None:
        """Nothing is captured here."""
        raise DeviceError("device 'cpu' captures nothing; see Backend.captures")

    def capture(self, run: Callable[[], None]) -> Callable[[], None]:
        """Nothing is captured here."""
        raise DeviceError("device 'cpu' captures nothing; see Backend.captures")


class CpuProgram:
    """Steps as the runtime reads them."""

    def __init__(self, steps: Sequence[Step], data: DataManager, world: WorldConstants, num_workers: int) -> None:
        self._run = _runtime().ww_run_program
        _runtime().ww_prepare()
        self._keep: list[Any] = [data]
        native = (_Step * max(len(steps), 1))(*(self._native(step, data, world) for step in steps))
        kernels = [step for step in steps if isinstance(step, RunKernel)]
        self._kernels = {step.name: step for step in kernels}
        self._program = _Program(
            context=context_of(world, data),
            steps=ctypes.addressof(native),
            num_steps=len(steps),
            max_workers=num_workers,
            granularity=max((step.envs_per_block for step in kernels), default=1),
            max_threads=max((step.threads for step in kernels), default=1),
            timeout_milliseconds=_kernel_timeout(),
        )
        self._keep.append(native)
        self._address = ctypes.addressof(self._program)

    def frozen(self) -> Callable[[], None]:
        """One native call of all steps for all envs: a plain function, which Python calls faster than an object."""
        run, address, explain = self._run, self._address, self._raise

        def call() -> None:
            if run(address):
                explain()

        return call

    def _native(self, step: Step, data: DataManager, world: WorldConstants) -> ctypes.Structure:
        match step:
            case BeginStep():
                return _Step(kind=_BEGIN)
            case BeginReset():
                return _Step(kind=_BEGIN_RESET)
            case EndStep():
                return _Step(kind=_END)
            case RunKernel():
                return self._kernel(step, data)
            case Copy():
                return _Step(kind=_COPY, **copy_fields(step, data, world.num_envs))
            case KeepFinal():
                return _Step(kind=_KEEP_FINAL, **copy_fields(step, data, world.num_envs))

    def _kernel(self, step: RunKernel, data: DataManager) -> ctypes.Structure:
        values = np.zeros(max(len(step.arguments), 1), np.uint64)
        for i, argument in enumerate(step.arguments):
            _write_argument(values[i : i + 1], argument, data)
        pointers = (ctypes.c_void_p * len(values))(*(values.ctypes.data + 8 * i for i in range(len(values))))
        self._keep += [values, pointers]
        return _Step(
            kind=_KERNEL,
            active_only=step.active_only,
            kernel=step.module.kernel(step.name),
            args=ctypes.addressof(pointers),
            threads=step.threads,
            envs_per_block=step.envs_per_block,
            kernel_index=step.index,
        )

    def _raise(self) -> None:
        error = self._program.error
        if error.code == INTERRUPTED:
            raise KeyboardInterrupt
        if error.code == NO_MEMORY:
            raise DeviceError(
                f"no memory for the stacks of {self._program.max_workers} workers, {self._program.max_threads} agents "
                "each; ask for fewer workers"
            )
        kernel, text = (error.kernel or b"").decode(), error.text.decode(errors="replace")
        step = self._kernels.get(kernel)
        if step is None:
            raise KernelError(f"in a step of {self._program.context.num_envs} envs, outside of kernels: {text}")
        env, agent = error.block, error.thread
        if step.envs_per_block > 1:
            slot, agent = divmod(agent, int(step.module.source.constants["NUM_AGENTS"]))
            env = env * step.envs_per_block + slot
        env += int(self._program.context.first_env)
        raise self._failure(error.code, step, env, agent, self._place(step, error), text)

    def _failure(
        self, code: int, step: RunKernel, env: int, agent: int, place: tuple[str, int], text: str
    ) -> KernelError:
        return KernelError(f"{place[0]}:{place[1]}: kernel '{step.name}', env {env}, agent {agent}: {text}")

    def _place(self, step: RunKernel, error: ctypes.Structure) -> tuple[str, int]:
        """File and line of an error; where that is not known, of its kernel."""
        if error.file:
            return os.fsdecode(error.file), error.line
        found = self._line_of_fault(step, error.pc) if error.pc else None
        source = step.module.source
        kernels = {signature.name: signature for signature in source.signatures}
        return found or (str(kernels[step.name].path), kernels[step.name].line)

    def _line_of_fault(self, step: RunKernel, address: int) -> tuple[str, int] | None:
        """File and line in the author's files of where a kernel was ended, if that can be told."""
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
