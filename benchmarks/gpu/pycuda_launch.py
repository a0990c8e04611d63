"""A launch of an empty kernel by nothing but PyCUDA."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from warpworld.managers.cuda_compiler import find_cuda_compiler

SOURCE = 'extern "C" __global__ void empty(const float* x) {}'


def bare_launch() -> Callable[[], None]:
    """The launch, arguments packed beforehand; a world must have been made on cuda before, with PyCUDA's context."""
    import pycuda.driver
    import torch

    major, minor = torch.cuda.get_device_capability()
    function = pycuda.driver.module_from_buffer(_cubin(f"sm_{major}{minor}")).get_function("empty")
    argument = torch.zeros(1, device="cuda")
    packed = argument.data_ptr().to_bytes(8, "little")
    grid, block = (1, 1, 1), (32, 1, 1)
    if hasattr(function, "_launch_kernel"):
        return lambda: function._launch_kernel(grid, block, packed, 0, None)
    function.prepare("P")
    pointer = argument.data_ptr()
    return lambda: function.prepared_async_call(grid, block, None, pointer)


def _cubin(arch: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "empty.cubin"
        log = find_cuda_compiler().build_cubin(SOURCE, arch, [], Path(folder), target)
        if log:
            raise RuntimeError(f"an empty kernel does not compile: {log}")
        return target.read_bytes()
