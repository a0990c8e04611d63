"""A launch of an empty kernel by nothing but PyCUDA, with as many bytes of arguments as one of the package's has."""

from __future__ import annotations

import ctypes
import tempfile
from collections.abc import Callable
from pathlib import Path

from warpworld.managers.cuda.compiler import find_cuda_compiler
from warpworld.managers.cuda.driver import driver_of
from warpworld.managers.cuda.launches import _Launch

ARGUMENT_BYTES = ctypes.sizeof(_Launch) + 8  # of idle.cu: what every launch carries, and one pointer
SOURCE = f"""
struct Arguments {{ char bytes[{ARGUMENT_BYTES}]; }};
extern "C" __global__ void empty(const Arguments arguments) {{}}
"""


def bare_launch() -> Callable[[], None]:
    """The launch, arguments packed beforehand."""
    driver = driver_of(0)
    with driver.active():
        function = driver.drv.module_from_buffer(_cubin(driver.arch)).get_function("empty")
    packed, grid, block = bytes(ARGUMENT_BYTES), (1, 1), (32, 1, 1)
    return lambda: function._launch_kernel(grid, block, packed, 0, None)


def _cubin(arch: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "empty.cubin"
        log = find_cuda_compiler().build_cubin(SOURCE, arch, [], Path(folder), target)
        if log:
            raise RuntimeError(f"an empty kernel does not compile: {log}")
        return target.read_bytes()
