"""The cpu backend of a check: kernels report each access of memory, and run one launch at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from warpworld.checking.native import FORWARD, CheckRuntime, WatchedArray
from warpworld.checking.outside_state import outside_state
from warpworld.checking.symbols import assignments_of, variables_of
from warpworld.errors import BuildError, DeviceError, KernelError
from warpworld.managers import (
    INCLUDE_FOLDER,
    READ_ONLY,
    DataManager,
    KernelSource,
    Program,
    RunKernel,
    Step,
    WorldConstants,
    amount,
    explain_failure,
    first_error,
    is_own_kernel,
)
from warpworld.managers.cpu import (
    HOST_CODE_FLAGS,
    HOST_CODE_WRAPPED,
    KERNEL_FLAGS,
    CpuBackend,
    CpuProgram,
    HostCompiler,
    LibrarySource,
    Module,
    contents_of,
    does_not_compile,
    find_compiler,
    headers,
    require_cpp_library,
    runtime,
    source_line,
    users_kernel_flags,
    why_not_on_cpu,
)

if TYPE_CHECKING:
    import torch

GUARD = 1 << 20  # bytes around each array in which an access is known to be out of bounds
CELL_BYTES = 64  # of shadow memory for each element, see shadow.hpp
SLOW = 1e9  # nanoseconds an env: so each env of the first launches counts as progress for the watchdog

# At -O0 nothing is folded or moved: what the author wrote is what is seen. With copies elided, g++ does not show a
# struct that goes from a function's return into an array.
# What means something for a GPU: of shifts the number of places, as CUDA defines the rest; no division of floats by 0.
UNDEFINED = (
    *("shift-exponent", "signed-integer-overflow", "integer-divide-by-zero", "float-cast-overflow", "null"),
    *("alignment", "bool"),
)
CHECK_FLAGS = (
    *(flag for flag in KERNEL_FLAGS if flag not in ("-O3", "-g1")),
    "-O0",
    "-g",
    "-fsanitize=thread",
    "-fno-elide-constructors",
    "-fno-threadsafe-statics",  # one worker runs them
)
WRAPPED = ("memcpy", "memmove", "memset")  # what compilers make of copies of structs
RUNTIME_FLAGS = ("-O3", "-g1", "-DWW_CHECK")


class Observer(Protocol):
    """Interface of an object that is called before and after each launch."""

    def before_kernel(self, step: RunKernel) -> None:
        """A kernel is about to run."""

    def after_kernel(self, step: RunKernel) -> None:
        """A kernel has run."""


@dataclass(eq=False)
class KernelStoppedError(KernelError):
    """A kernel was ended.

    Attributes:
        code: of ww_error_code, or STOPPED.
        kernel: its name.
        env, agent: who it was.
        file, line: the place, or that of the kernel.
        text: what happened.
    """

    code: int
    kernel: str
    env: int
    agent: int
    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: kernel '{self.kernel}', env {self.env}, agent {self.agent}: {self.text}"


class CheckBackend(CpuBackend):
    """Backend with one worker, and guard memory around each array.

    Attributes:
        watching: whether accesses are looked at, or only run.
        observer: is called for each launch.
        world_step: number of the world's step, for findings.
        module: that of the kernels that are checked.
        runtime: what is known of the world, once its store is sealed.

    Args:
        order: in which agents run.
        watching: see above.
        speaks: whether what kernels print is seen.
        python_writes: whether Python phases write the store, unseen; then nothing of it counts as unwritten.
    """

    padding = GUARD
    side_by_side = True  # as many threads as on a GPU: races are between them

    def __init__(
        self, order: int = FORWARD, watching: bool = True, python_writes: bool = False, speaks: bool = True
    ) -> None:
        super().__init__(num_workers=1)
        self.order, self.watching, self.speaks, self._python_writes = order, watching, speaks, python_writes
        self.observer: Observer | None = None
        self.world_step = 0
        self.module: Module | None = None
        self.runtime: CheckRuntime | None = None

    def allocate(self, nbytes: int) -> torch.Tensor:
        """A zeroed block, with as much room before it as there is behind each array."""
        return super().allocate(nbytes + GUARD)[GUARD:]

    def build(self, source: KernelSource) -> Module:
        """Compile a source for a check, or take it from the build cache; the package's own kernels are only run."""
        if is_own_kernel(source.path):
            return super().build(source)
        runtime()
        source = replace(source, checked=True)
        if source.host:
            require_cpp_library(find_compiler(), source.path)
        library = LibrarySource(  # with code that reports each access
            kind="check",
            text=source.host_text(self.warp_size),
            flags=CHECK_FLAGS + (HOST_CODE_FLAGS if source.host else ()),
            users_flags=users_kernel_flags(),
            flags_of_compiler=_instrument_flags,
            folders=tuple(source.host_folders()),
            contents=tuple(contents_of(source)),
            subject=f"{source.subject} for a check",
            refuse=lambda log, compiler: (
                _cannot_instrument(compiler, log) or explain_failure(source, log, why_not_on_cpu)
            ),
            apart=source.filling(),
            objects=(_check_runtime(),),
            wrapped=(*WRAPPED, *(HOST_CODE_WRAPPED if source.host else ())),
            keep_relocations=True,
            link_flags=source.host.link_flags if source.host else (),
        )
        self.module = Module(library.library(), source)
        return self.module

    def program(self, steps: Sequence[Step], data: DataManager, world: WorldConstants) -> Program:
        """Freeze steps against a sealed store: one launch each, between which the observer looks."""
        if self.runtime is None and self.module is not None:
            self.runtime = self._open(self.module, data, world.num_envs)
        calls = [self._call(step, data, world) for step in steps]

        def run() -> None:
            for call in calls:
                call()

        return run

    def _call(self, step: Step, data: DataManager, world: WorldConstants) -> Program:
        if not isinstance(step, RunKernel) or step.module is not self.module or _is_behind(step):
            return CheckedProgram([step], data, world).frozen()
        # Those who sit the launch out run as well: on a GPU they do, and is_active() is what keeps them still.
        program = CheckedProgram([replace(step, active_only=False)], data, world)
        runtime = program.runtime = self.runtime
        assert runtime is not None  # the kernel is of the module that was built
        run = program.frozen()

        def call() -> None:
            if self.observer is not None:
                self.observer.before_kernel(step)
            runtime.begin(self.watching, step.own_env_only, self.world_step)
            try:
                run()
            finally:
                runtime.end()
            if self.observer is not None:
                self.observer.after_kernel(step)

        return call

    def _open(self, module: Module, data: DataManager, num_envs: int) -> CheckRuntime:
        # memory of the arrays
        arrays = [_watched(data, name, num_envs, self._python_writes) for name in data]
        first = min(array.address for array in arrays)
        end = max(array.address + array.nbytes for array in arrays)
        if self.watching:
            _check_memory(arrays, self.free_memory())
        # variables of the file, without a library's own
        library = {state.name for state in outside_state(module.source) if state.is_library}
        return CheckRuntime(
            module.library,
            arrays if self.watching else [],
            [variable for variable in variables_of(module.path) if variable.name not in library],
            assignments_of(module.path),
            int(module.source.constants["NUM_AGENTS"]),
            module.source.envs_per_warp,
            self.order,
            (first - GUARD, end + GUARD),
            self.speaks,
            self.watching,
            bool(library) or module.source.host is not None,
        )


class CheckedProgram(CpuProgram):
    """Steps whose faults say what they were, for a finding."""

    runtime: CheckRuntime | None = None

    def __init__(self, steps: Sequence[Step], data: DataManager, world: WorldConstants) -> None:
        super().__init__(steps, data, world, num_workers=1)
        self._program.nanoseconds_per_env = SLOW

    def line_of_fault(self, step: RunKernel, address: int) -> tuple[str, int] | None:
        """The line of a fault; of one in the runtime or a library, that of the kernel's last access before."""
        found = super().line_of_fault(step, address)
        last = self.runtime.last() if found is None and self.runtime is not None else 0
        return source_line(step.module.path, last, INCLUDE_FOLDER) if last else found

    def failure(
        self, code: int, step: RunKernel, env: int, agent: int, place: tuple[str, int], text: str
    ) -> KernelError:
        """The error with its parts, for a finding."""
        return KernelStoppedError(code, step.name, env, agent, *place, text)


def _is_behind(step: RunKernel) -> bool:
    """Whether a kernel is one of the package's behind the author's file."""
    source = step.module.source
    return next(each.path for each in source.signatures if each.name == step.name) in source.behind


def _watched(data: DataManager, name: str, num_envs: int, python_writes: bool) -> WatchedArray:
    array = data.array(name)
    item = np.dtype(array.dtype).itemsize
    nbytes = math.prod(data[name].shape) * item
    return WatchedArray(
        name=name,
        address=data.pointer(name),
        nbytes=nbytes,
        env_bytes=0 if array.per == "world" else nbytes // num_envs,
        item_bytes=item,
        # The copies of what was seen last are the world's own work.
        written=(python_writes and not array.scratch) or array.initial is not None or name.startswith("final_"),
        read_only=array.read_only or name in READ_ONLY,
        scratch=array.scratch,
    )


def _check_memory(arrays: Sequence[WatchedArray], free: int | None) -> None:
    elements = sum(array.nbytes // array.item_bytes for array in arrays)
    if free is not None and elements * CELL_BYTES > free:
        raise DeviceError(
            f"no memory to watch {elements:,} elements of arrays: {CELL_BYTES} bytes each are "
            f"{amount(elements * CELL_BYTES)}, and {amount(free)} are free; check fewer envs or agents"
        )


def _check_runtime() -> LibrarySource:
    """The check runtime, which each library that is checked has in it."""
    return LibrarySource(
        kind="check runtime",
        text='#include "cpu/check/runtime.cpp"\n',
        flags=RUNTIME_FLAGS,
        folders=(INCLUDE_FOLDER,),
        contents=tuple(headers()),
        subject="the check runtime",
        refuse=does_not_compile("the check runtime"),
    )


def _instrument_flags(compiler: HostCompiler) -> tuple[str, ...]:
    """Flags by which a compiler adds calls to kernels.

    Of clang's options, `bounds` would end a kernel without a word; basic blocks that others imply would have no calls,
    and a read of what is written next would not be seen.
    """
    is_clang = "clang" in compiler.version
    undefined = ",".join([*UNDEFINED, "array-bounds" if is_clang else "bounds"])
    coverage = "bb,no-prune,trace-pc" if is_clang else "trace-pc"
    reads = ("-mllvm", "-tsan-instrument-read-before-write=1") if is_clang else ()
    return (
        *(f"-fsanitize-coverage={coverage}", *reads),
        *(f"-fsanitize={undefined},return", f"-fsanitize-recover={undefined}"),
    )


def _cannot_instrument(compiler: HostCompiler, log: str) -> BuildError | None:
    """The error to raise where a compiler does not know the option that a check is built with."""
    if "-fsanitize" not in first_error(log):
        return None
    return BuildError(
        f"{compiler.version} cannot build for a check, which needs -fsanitize=thread and -fsanitize=undefined: "
        f"{first_error(log)}; set CXX to g++ or clang++",
        log,
    )
