"""A kernel file, compiled for the host and loaded."""

from __future__ import annotations

import ctypes
from pathlib import Path

from warpworld.managers.cpu.runtime import load_library
from warpworld.managers.device_variables import Filled
from warpworld.managers.kernel_source import KernelSource, host_address


class Module:
    """A compiled source, loaded: a shared library whose kernels are exported as ``ww_kernel_<name>``.

    Attributes:
        path: the library.
        source: what it was compiled from.
        library: the library, loaded.

    Args:
        path: the library.
        source: what it was compiled from; the variables that it fills are written.

    Raises:
        BuildError: the system does not load the library.
    """

    def __init__(self, path: Path, source: KernelSource) -> None:
        self.path, self.source = path, source
        self.library = load_library(path)
        for each in source.filled:
            self._fill(each)

    def kernel(self, name: str) -> int:
        """Address of a kernel's description."""
        return ctypes.addressof(ctypes.c_char.in_dll(self.library, f"ww_kernel_{name}"))

    def _fill(self, variable: Filled) -> None:
        """Write a variable's contents; another world of the same library may be reading them, so only what differs."""
        address = ctypes.c_void_p.in_dll(self.library, host_address(variable.name)).value
        contents = variable.values.tobytes()
        if address and ctypes.string_at(address, len(contents)) != contents:
            ctypes.memmove(address, contents, len(contents))
