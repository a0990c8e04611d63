"""The package's own C++ with functions for the cpu backend's workers: one pool of threads for envs and networks."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from warpworld.errors import KernelError
from warpworld.managers import INCLUDE_FOLDER
from warpworld.managers.cpu.host_compiler import LIBRARY_FLAGS
from warpworld.managers.cpu.library_source import LibrarySource, does_not_compile
from warpworld.managers.cpu.native_runtime import (
    ErrorCode,
    NativeProgram,
    NativeStep,
    StepKind,
    headers,
    load_library,
    runtime,
)

NO_TIMEOUT = 2**30  # milliseconds: these functions end by themselves, however large the networks


class NativeLibrary:
    """A compiled library, from the build cache where it has been built before.

    Functions for workers are exported as a ``ww_kernel`` named ``ww_kernel_<name>`` (cuda/cpu/abi.hpp) and given
    blocks first .. end-1; others are plain C functions.

    Args:
        source: the ``.cpp``; files beside it may be included, and those below ``cuda/``.

    Raises:
        BuildError: there is no compiler, the source does not compile, or the cache cannot be written.
    """

    def __init__(self, source: Path) -> None:
        files = [path.read_bytes() for path in sorted(source.parent.iterdir()) if path.suffix in (".cpp", ".hpp")]
        library = LibrarySource(
            kind="library",
            text=f'#include "{source.name}"\n',
            flags=LIBRARY_FLAGS,
            folders=(source.parent, INCLUDE_FOLDER),
            contents=(*files, *headers()),
            subject=source.name,
            refuse=does_not_compile(source.name),
        )
        runtime()  # whose symbols it uses
        self._library = load_library(library.library())

    def function(self, name: str, *argument_types: type, returns: type | None = None) -> Callable[..., int]:
        """A plain function of the library."""
        found = self._library[name]
        found.argtypes, found.restype = argument_types, returns
        return found

    def kernel(self, name: str) -> int:
        """Address of the description of a function for workers."""
        return ctypes.addressof(ctypes.c_char.in_dll(self._library, f"ww_kernel_{name}"))


class WorkerLoop:
    """A function for workers, frozen with its argument.

    Attributes:
        address: of its program, for C++ that runs it.

    Args:
        library: where it is from.
        name: of the function.
        argument: a struct, whose address the function finds as its launch's only argument.
        num_workers: threads that blocks are shared among, the calling one included.
    """

    def __init__(self, library: NativeLibrary, name: str, argument: ctypes.Structure, num_workers: int) -> None:
        self._arguments = (ctypes.c_void_p * 1)(ctypes.addressof(argument))
        self._step = NativeStep(
            kind=StepKind.KERNEL,
            kernel=library.kernel(name),
            args=ctypes.addressof(self._arguments),
            threads=1,
            envs_per_block=1,
        )
        self._program = NativeProgram(
            steps=ctypes.addressof(self._step),
            num_steps=1,
            max_workers=num_workers,
            granularity=1,
            max_threads=1,
            timeout_milliseconds=NO_TIMEOUT,
        )
        self._name, self._keep = name, argument
        self._run, self.address = runtime().ww_run_program, ctypes.addressof(self._program)
        runtime().ww_prepare()

    def __call__(self, count: int) -> None:
        """Run blocks 0 .. count-1.

        Raises:
            KeyboardInterrupt: Ctrl-C.
            KernelError: the function faulted.
        """
        self._program.context.num_envs = count
        if self._run(self.address):
            self.refuse()

    def refuse(self) -> NoReturn:
        """Raise what ended the blocks, as a call does."""
        error = self._program.error
        if error.code == ErrorCode.INTERRUPTED:
            raise KeyboardInterrupt
        raise KernelError(f"'{self._name}', block {error.block}: {error.text.decode(errors='replace')}")
