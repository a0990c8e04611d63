"""The cpu backend: ``.cu`` files through the host C++ compiler, run by the runtime library's pool of workers."""

from __future__ import annotations

import ctypes
import functools
import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from warpworld.errors import BindError, BuildError, DeviceError, KernelError
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
from warpworld.managers.data_manager import DataManager
from warpworld.managers.host_compiler import HostCompiler, find_compiler
from warpworld.managers.kernel_source import INCLUDE_FOLDER, SIGNATURE_FILE, KernelSource

if TYPE_CHECKING:
    import torch

ABI = 1
MAX_WORKERS = 128
INTERRUPTED = 7

_COMMON_FLAGS = ("-std=c++17", "-fPIC", "-fvisibility=hidden", "-fstack-clash-protection")
# No fused multiply-add that the source does not ask for: the same bits from every compiler.
_KERNEL_FLAGS = (
    *("-O3", "-march=native", "-g1", "-ffp-contract=off", "-fno-trapping-math", "-fno-math-errno"),
    *("-Wno-narrowing", "-Wno-unknown-pragmas"),
)
_RUNTIME_FLAGS = ("-O2", "-g1")
_ZIG_FLAGS = ("-UNDEBUG", "-fno-sanitize=undefined")  # zig sets its own defaults by -O level


# ---- structs of cuda/cpu/*.hpp -----------------------------------------------------------------------------------------
def _struct(name: str, **fields: Any) -> type[ctypes.Structure]:
    return type(name, (ctypes.Structure,), {"_fields_": list(fields.items())})


_POINTER, _INT, _UNSIGNED, _UINT64 = ctypes.c_void_p, ctypes.c_int, ctypes.c_uint, ctypes.c_uint64
_Context = _struct(
    "_Context",
    **dict(num_envs=_INT, first_env=_INT, seed=_UINT64, timestep=_POINTER, clock=_POINTER),
    **dict(terminated=_POINTER, truncated=_POINTER, active=_POINTER),
)
_Error = _struct(
    "_Error",
    **dict(code=_INT, block=_UNSIGNED, thread=_UNSIGNED, line=_INT, file=ctypes.c_char_p, kernel=ctypes.c_char_p),
    **dict(pc=_POINTER, address=_POINTER, text=ctypes.c_char * 512),
)
_Step = _struct(
    "_Step",
    **dict(kind=_INT, active_only=_INT, kernel=_POINTER, args=_POINTER, threads=_UNSIGNED, envs_per_block=_UNSIGNED),
    **dict(kernel_index=_INT, slots=_INT, source=_POINTER, target=_POINTER, source_stride=_UINT64, bytes=_UINT64),
    **dict(row_stride=_UINT64, row=_POINTER, slot_rows=_POINTER, slots_used=_POINTER),
)
_Program = _struct(
    "_Program",
    **dict(context=_Context, steps=_POINTER, num_steps=_INT, max_workers=_UNSIGNED, granularity=_UNSIGNED),
    **dict(max_threads=_UNSIGNED, launches=_UNSIGNED, nanoseconds_per_env=ctypes.c_float, error=_Error),
)
_BEGIN, _BEGIN_RESET, _KERNEL, _END, _COPY, _KEEP_FINAL = range(6)


# ---- compiling ---------------------------------------------------------------------------------------------------------
def available_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@functools.cache
def _processor() -> str:
    """What -march=native depends on: a cache may lie on a disk that several machines share."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        import platform

        return platform.processor()
    found = re.search(r"^(flags|Features)\s*:.*$", text, re.MULTILINE)
    return found.group(0) if found else ""


def _shim_files() -> list[bytes]:
    return [path.read_bytes() for path in sorted((INCLUDE_FOLDER / "cpu").iterdir()) if path.is_file()]


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False, errors="replace")


def _compile(compiler: HostCompiler, flags: Sequence[str], text: str, scratch: Path, target: Path) -> str:
    """Build a shared library from C++ text; returns what the compiler printed, empty if it succeeded."""
    source = scratch / "source.cpp"
    source.write_text(text)
    include = ["-I", str(INCLUDE_FOLDER)]
    if compiler.separate_link:
        unit = scratch / "source.o"
        commands = [
            [*compiler.command, *flags, *_ZIG_FLAGS, *include, "-c", str(source), "-o", str(unit)],
            [*compiler.link_command, "-shared", str(unit), "-o", str(target)],
        ]
    else:
        commands = [[*compiler.command, *flags, *include, "-shared", str(source), "-o", str(target), "-lpthread"]]
    for command in commands:
        result = _run(command)
        if result.returncode != 0:
            return result.stderr.strip() or f"{command[0]} failed with status {result.returncode}"
    return ""


@functools.cache
def _runtime() -> ctypes.CDLL:
    """The runtime library, built once per machine and loaded so that modules find its symbols."""
    compiler = find_compiler()
    text = '#include "cpu/runtime.cpp"\n'
    key = content_key(["runtime", text, compiler.version, *_COMMON_FLAGS, *_RUNTIME_FLAGS, *_shim_files()])

    def build(scratch: Path, target: Path) -> None:
        log = _compile(compiler, (*_COMMON_FLAGS, *_RUNTIME_FLAGS), text, scratch, target)
        if log:
            raise BuildError(f"the cpu backend's runtime does not compile with {compiler.version}: {_first_error(log)}", log)

    library = ctypes.CDLL(str(cached(key, ".so", build)), mode=ctypes.RTLD_GLOBAL)
    library.ww_prepare.argtypes = [ctypes.c_double]
    library.ww_run_program.argtypes = [ctypes.c_void_p]
    library.ww_run_program.restype = ctypes.c_int
    if library.ww_abi() != ABI:
        raise BuildError(f"the cpu backend's runtime has ABI {library.ww_abi()}, expected {ABI}; empty the build cache")
    return library


def _first_error(log: str) -> str:
    """The compiler's first error line, or its first line."""
    lines = log.splitlines()
    return next((line for line in lines if re.search(r"\berror:", line)), lines[0] if lines else "")


def _explain_failure(source: KernelSource, compiler: HostCompiler, log: str) -> BuildError | BindError:
    first = _first_error(log)
    at_signature = re.match(rf"{SIGNATURE_FILE}:(\d+):", first)
    if at_signature:
        kernel = source.signatures[min(int(at_signature.group(1)), len(source.signatures)) - 1]
        return BindError(
            f"{source.path}:{kernel.line}: kernel '{kernel.name}' is not what the compiler sees there; it may be inside an #if, "
            "or have macros or typedefs in its parameters: write it out plainly"
        )
    count = len(re.findall(r"\berror:", log))
    more = f" (and {count - 1} more)" if count > 1 else ""
    return BuildError(f"{first}{more}", log)


class Module:
    """A compiled source: a shared library whose kernels are exported as ``ww_kernel_<name>``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._library = ctypes.CDLL(str(path))

    def kernel(self, name: str) -> int:
        """Address of a kernel's description."""
        return ctypes.addressof(ctypes.c_char.in_dll(self._library, f"ww_kernel_{name}"))


class CpuBackend:
    """Kernels on the host's cores, arrays in host memory.

    Args:
        num_workers: threads that step envs, the calling one included; None means one per core. Results do not depend on it.
    """

    name = "cpu"

    def __init__(self, num_workers: int | None = None) -> None:
        import torch

        workers = available_cores() if num_workers is None else num_workers
        if not 1 <= workers <= MAX_WORKERS:
            raise DeviceError(f"num_workers={workers}: expected 1 to {MAX_WORKERS}")
        self.device = torch.device("cpu")
        self.num_workers = workers

    def allocate(self, nbytes: int) -> torch.Tensor:
        """A zeroed block of ``nbytes`` bytes, aligned to a page."""
        import torch

        page = 4096
        block = torch.zeros(nbytes + page, dtype=torch.uint8)
        start = -block.data_ptr() % page
        return block[start : start + nbytes]

    def build(self, source: KernelSource) -> Module:
        """Compile a source into a module, or take it from the build cache."""
        _runtime()
        compiler, text = find_compiler(), source.host_text()
        included = [data for _, data in source.included()]
        parts = ["module", text, compiler.version, *_COMMON_FLAGS, *_KERNEL_FLAGS, _processor(), *included, *_shim_files()]

        def build(scratch: Path, target: Path) -> None:
            flags = (*_COMMON_FLAGS, *_KERNEL_FLAGS, "-I", str(source.path.parent))
            log = _compile(compiler, flags, text, scratch, target)
            if log:
                raise _explain_failure(source, compiler, log)

        return Module(cached(content_key(parts), ".so", build))

    def program(self, steps: Sequence[Step], data: DataManager, world: WorldConstants) -> CpuProgram:
        """Freeze steps against a sealed store."""
        return CpuProgram(steps, data, world, self.num_workers)


class CpuProgram:
    """Steps as the runtime reads them; calling it makes one native call."""

    def __init__(self, steps: Sequence[Step], data: DataManager, world: WorldConstants, num_workers: int) -> None:
        self._run = _runtime().ww_run_program
        _runtime().ww_prepare(float(os.environ.get("WARPWORLD_KERNEL_TIMEOUT", "30")))
        self._keep: list[Any] = [data]
        self._modules = {step.module.path: step.module for step in steps if isinstance(step, RunKernel)}
        native = (_Step * max(len(steps), 1))(*(self._native(step, data, world) for step in steps))
        kernels = [step for step in steps if isinstance(step, RunKernel)]
        pointers = {name: data.pointer(name) for name in ("timestep", "clock", "terminated", "truncated", "active")}
        self._program = _Program(
            context=_Context(num_envs=world.num_envs, first_env=world.first_env, seed=world.seed, **pointers),
            steps=ctypes.addressof(native),
            num_steps=len(steps),
            max_workers=num_workers,
            granularity=max((step.envs_per_block for step in kernels), default=1),
            max_threads=max((step.threads for step in kernels), default=1),
        )
        self._keep.append(native)
        self._envs_per_block = self._program.granularity
        self._address = ctypes.c_void_p(ctypes.addressof(self._program))

    def __call__(self) -> None:
        """Run all steps for all envs."""
        if self._run(self._address):
            self._raise()

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
                return self._copy(step, data, world.num_envs)
            case KeepFinal():
                return self._keep_final(step, data)

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

    def _copy(self, step: Copy, data: DataManager, num_envs: int) -> ctypes.Structure:
        source, target = data[step.source], data[step.target]
        nbytes = source.numel() * source.element_size() // (1 if step.shared else num_envs)
        return _Step(
            kind=_COPY,
            active_only=step.active_only,
            source=source.data_ptr(),
            target=target.data_ptr(),
            source_stride=0 if step.shared else nbytes,
            bytes=nbytes,
            row_stride=nbytes * num_envs,
            row=data.pointer(step.row) if step.row else None,
        )

    def _keep_final(self, step: KeepFinal, data: DataManager) -> ctypes.Structure:
        source, target = data[step.source], data[step.target]
        nbytes = source.numel() * source.element_size() // source.shape[0]
        return _Step(
            kind=_KEEP_FINAL,
            active_only=True,
            slots=target.shape[1],
            source=source.data_ptr(),
            target=target.data_ptr(),
            source_stride=nbytes,
            bytes=nbytes,
            row=data.pointer(step.row),
            slot_rows=data.pointer(step.slot_rows),
            slots_used=data.pointer(step.slots_used),
        )

    def _raise(self) -> None:
        error = self._program.error
        if error.code == INTERRUPTED:
            raise KeyboardInterrupt
        file, line = (error.file or b"").decode(), error.line
        if not file and error.pc:
            file, line = _source_line(self._modules, error.pc)
        where = f"{file}:{line}: " if file else ""
        env = error.block * self._envs_per_block
        kernel, text = (error.kernel or b"?").decode(), error.text.decode(errors="replace")
        raise KernelError(f"{where}kernel '{kernel}', env {env}, agent {error.thread}: {text}")


def _write_argument(slot: np.ndarray, argument: Argument, data: DataManager) -> None:
    """Put an argument's bytes at the start of an 8-byte slot."""
    if argument.array is not None:
        slot[0] = data.pointer(argument.array)
        return
    value = np.array([argument.value], dtype=argument.dtype)
    slot.view(np.uint8)[: value.itemsize] = value.view(np.uint8)


def _source_line(modules: dict[Path, Module], pc: int) -> tuple[str, int]:
    """File and line of an address in a module, by addr2line where there is one; ("", 0) otherwise."""
    try:
        maps = Path("/proc/self/maps").read_text().splitlines()
        for path in modules:
            spans = [line.split()[0].split("-") for line in maps if line.endswith(str(path))]
            if not spans or not min(int(a, 16) for a, _ in spans) <= pc < max(int(b, 16) for _, b in spans):
                continue
            offset = pc - min(int(a, 16) for a, _ in spans)
            result = _run(["addr2line", "-e", str(path), hex(offset)])
            file, _, line = result.stdout.strip().partition(":")
            number = re.match(r"\d+", line)
            if file and file != "??" and number:
                return file, int(number.group(0))
    except OSError:
        pass
    return "", 0

