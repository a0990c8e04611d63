"""The runtime library of the cpu backend: compiled once per machine, and the structs in which Python calls it."""

from __future__ import annotations

import ctypes
import enum
import functools
from pathlib import Path

from warpworld.errors import BuildError
from warpworld.managers import INCLUDE_FOLDER, KernelSource
from warpworld.managers.c_structs import INT, POINTER, UINT64, UNSIGNED, Context, struct
from warpworld.managers.cpu.host_compiler import RUNTIME_FLAGS
from warpworld.managers.cpu.library_source import LibrarySource, does_not_compile

ABI = 3


# ---- structs of cuda/cpu/abi.hpp, program.hpp, ready.hpp and repeats.hpp -------------------------------------------
class ErrorCode(enum.IntEnum):
    """Codes of ``ww_error_code`` that Python treats differently."""

    OK = 0
    DIVERGED = 2
    DEADLOCK = 3
    INTERRUPTED = 7
    NO_MEMORY = 8
    ILLEGAL_ACTION = 9


class StepKind(enum.IntEnum):
    """``ww_step_kind``."""

    BEGIN = 0
    BEGIN_RESET = 1
    KERNEL = 2
    END = 3
    COPY = 4
    KEEP_FINAL = 5
    CHECK_ACTIONS = 6


NativeError = struct(
    "NativeError",
    **dict(code=INT, block=UNSIGNED, thread=UNSIGNED, line=INT, file=ctypes.c_char_p, kernel=ctypes.c_char_p),
    **dict(pc=POINTER, address=POINTER, text=ctypes.c_char * 512),
)
NativeStep = struct(
    "NativeStep",
    **dict(kind=INT, active_only=INT, kernel=POINTER, args=POINTER, threads=UNSIGNED, envs_per_block=UNSIGNED),
    **dict(kernel_index=INT, slots=INT, source=POINTER, target=POINTER, source_stride=UINT64, target_stride=UINT64),
    **dict(bytes=UINT64, row_stride=UINT64, row=POINTER, slot_rows=POINTER, slots_used=POINTER),
    **dict(low=POINTER, high=POINTER, entries=INT, is_float=INT),
)
NativeProgram = struct(
    "NativeProgram",
    **dict(context=Context, steps=POINTER, num_steps=INT, max_workers=UNSIGNED, granularity=UNSIGNED),
    **dict(max_threads=UNSIGNED, timeout_milliseconds=INT, launches=UNSIGNED, nanoseconds_per_env=ctypes.c_float),
    error=NativeError,
)
NativeReady = struct(
    "NativeReady",
    **dict(program=POINTER, num_envs=UINT64, sent=POINTER, done=POINTER, nanoseconds=POINTER),
    **dict(sent_in=UINT64, sent_out=UINT64, done_in=UINT64, done_out=UINT64, running=UINT64),
    waiting=ctypes.c_double,
)
NativeRepeats = struct("NativeRepeats", **dict(program=POINTER, times=INT, done=INT, row=POINTER))


# ---- what the machine code depends on -------------------------------------------------------------------------------
@functools.cache
def headers() -> list[bytes]:
    """Contents of the package's own headers for a host compiler."""
    paths = [*INCLUDE_FOLDER.glob("*.cuh"), *(INCLUDE_FOLDER / "cpu").rglob("*")]
    return [path.read_bytes() for path in sorted(paths) if path.is_file()]


def contents_of(source: KernelSource) -> list[bytes]:
    """Contents of all files that a kernel file's library is made from, itself apart."""
    return [*(data for _, data in source.included()), *headers()]


# ---- loading --------------------------------------------------------------------------------------------------------
def load_library(path: Path, mode: int = ctypes.DEFAULT_MODE) -> ctypes.CDLL:
    """Load a compiled library.

    Raises:
        BuildError: the system does not load it; with what to do.
    """
    try:
        return ctypes.CDLL(str(path), mode=mode)
    except OSError as error:
        raise BuildError(
            f"cannot load the compiled {path}: {error}; remove the file, or set WARPWORLD_CACHE to a folder that "
            "programs may be loaded from"
        ) from error


@functools.cache
def runtime() -> ctypes.CDLL:
    """The runtime library, loaded so that the libraries of kernels find its symbols.

    Raises:
        BuildError: there is no compiler, it does not compile, or the cache cannot be written.
    """
    what = "the cpu backend's runtime"
    source = LibrarySource(
        kind="runtime",
        text='#include "cpu/runtime.cpp"\n',
        flags=RUNTIME_FLAGS,
        folders=(INCLUDE_FOLDER,),
        contents=tuple(headers()),
        subject=what,
        refuse=does_not_compile(what),
    )
    # the library, after a check of its interface
    library = load_library(source.library(), ctypes.RTLD_GLOBAL)
    library.ww_run_program.argtypes = [ctypes.c_void_p]
    library.ww_run_program.restype = ctypes.c_int
    library.ww_repeat_program.argtypes = [ctypes.c_void_p]
    library.ww_repeat_program.restype = ctypes.c_int
    for send_or_receive in (library.ww_send, library.ww_receive):
        send_or_receive.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint]
        send_or_receive.restype = ctypes.c_int
    for wait in (library.ww_make_ready, library.ww_leave_ready):
        wait.argtypes, wait.restype = [ctypes.c_void_p], ctypes.c_int
    if library.ww_abi() != ABI:
        raise BuildError(f"the cpu backend's runtime has ABI {library.ww_abi()}, expected {ABI}; empty the build cache")
    return library
