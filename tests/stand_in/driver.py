"""The stand-in driver as Python sees it: built, loaded, told what to pretend to be, and asked what was asked of it."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from warpworld.managers.build_cache import cached, content_key
from warpworld.managers.cpu.host_compiler import find_compiler
from warpworld.managers.kernel_source import INCLUDE_FOLDER

HERE = Path(__file__).resolve().parent
FLAGS = ("-O2", "-g1", "-ftls-model=initial-exec", "-fno-threadsafe-statics", "-Wl,-soname,libcuda.so.1", "-ldl")


class _Launch(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char * 128),
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared_bytes", ctypes.c_uint),
        ("stream", ctypes.c_uint64),
        ("parameters", ctypes.c_void_p),
        ("parameter_bytes", ctypes.c_size_t),
    )


@dataclass(frozen=True)
class Launch:
    """A launch as the driver was asked for it; ``stream`` is the handle, 0 for the default one."""

    name: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    stream: int
    parameters: bytes


def sources() -> list[bytes]:
    """All that the stand-in driver and nvcc are made of."""
    own = [path for path in HERE.iterdir() if path.suffix in (".cpp", ".hpp") or path.name == "nvcc"]
    theirs = [path for path in (INCLUDE_FOLDER / "cpu").rglob("*") if path.is_file()]
    return [path.read_bytes() for path in sorted([*own, *theirs, INCLUDE_FOLDER / "context.cuh"])]


def _build() -> Path:
    compiler, text = find_compiler(), '#include "driver.cpp"\n'
    key = content_key(["stand-in driver", text, compiler.version, *compiler.all_flags(FLAGS), *sources()])

    def build(scratch: Path, target: Path) -> None:
        log = compiler.build_library(text, FLAGS, [INCLUDE_FOLDER, HERE], scratch, target)
        if log:
            raise RuntimeError(f"the stand-in driver does not compile with {compiler.version}:\n{log}")

    return cached(key, ".so", build)


class StandIn:
    """Loads the driver, so that PyCUDA finds it as its own when it is imported afterwards."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(str(_build()), mode=ctypes.RTLD_GLOBAL)
        self._library.stand_in_pretend.argtypes = [ctypes.c_int] * 4 + [ctypes.c_uint64]
        self._library.stand_in_perturb.argtypes = [ctypes.c_uint64]
        self._library.stand_in_inject.restype = ctypes.c_bool
        self._library.stand_in_launches.restype = ctypes.POINTER(_Launch)
        self._library.stand_in_fault.restype = ctypes.c_char_p
        self._library.stand_in_allocated_bytes.restype = ctypes.c_uint64

    def reset(self) -> None:
        """As in a fresh process, but for contexts, modules and memory: no error, nothing injected or recorded.

        ``$STAND_IN_SEED`` perturbs all that runs after it, so that any tests can be run so.
        """
        self._library.stand_in_reset()
        self.perturb(int(os.environ.get("STAND_IN_SEED", "0")))

    def pretend(
        self,
        num_devices: int = 1,
        driver_version: int = 13000,
        compute_capability: tuple[int, int] = (9, 0),
        memory_bytes: int = 80 << 30,
    ) -> None:
        """Be another machine, until ``reset``."""
        self._library.stand_in_pretend(num_devices, driver_version, *compute_capability, memory_bytes)

    def perturb(self, seed: int) -> None:
        """Run blocks and threads in another order, and fill memory that a GPU leaves undefined, until ``reset``.

        Args:
            seed: of the order and of what undefined memory holds; 0 perturbs nothing.
        """
        self._library.stand_in_perturb(seed)

    def set_timeout(self, seconds: float) -> None:
        """How long a kernel may make no progress before it is ended with error 702."""
        self._library.stand_in_set_timeout(int(seconds * 1000))

    def inject(self, function: str, code: int, call: int = 1) -> None:
        """Let the ``call``-th call from now of a driver's function return an error and do nothing.

        Args:
            function: as it is exported, for instance "cuMemAlloc_v2".
            code: a CUresult; those of faults in kernels stay, as they do on a GPU.
            call: 1 is the next one.
        """
        if not self._library.stand_in_inject(function.encode(), call, code):
            raise RuntimeError("too many errors are waiting to be returned")

    def calls(self, function: str) -> int:
        """How often a function was called since ``reset``."""
        return int(self._library.stand_in_calls(function.encode()))

    @contextmanager
    def recording(self) -> Iterator[list[Launch]]:
        """The launches made inside the block; the list is filled at its end."""
        launches: list[Launch] = []
        self._library.stand_in_record(True)
        try:
            yield launches
        finally:
            recorded = self._library.stand_in_launches()
            launches += [_read(recorded[i]) for i in range(self._library.stand_in_num_launches())]
            self._library.stand_in_record(False)

    @property
    def fault(self) -> str:
        """What is known of the last kernel that faulted: file, line, kernel, block, thread and the reason."""
        return os.fsdecode(self._library.stand_in_fault())

    @property
    def allocated_bytes(self) -> int:
        """Device memory in use, of what was asked from the driver."""
        return int(self._library.stand_in_allocated_bytes())


def _read(launch: _Launch) -> Launch:
    parameters = ctypes.string_at(launch.parameters, launch.parameter_bytes)
    grid, block = tuple(launch.grid), tuple(launch.block)
    return Launch(launch.name.decode(), grid, block, launch.shared_bytes, launch.stream, parameters)
