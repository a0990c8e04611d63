"""A kernel file, compiled for the host and loaded."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path

from warpworld.errors import BuildError
from warpworld.managers import KernelSource, host_address
from warpworld.managers.cpu.native_runtime import load_library
from warpworld.managers.cpu.refused_words import of_word
from warpworld.managers.cpu.shipped import installed_file
from warpworld.managers.device_variables import Filled


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
        BuildError: the system does not load the library, or it calls what nothing defines.
    """

    def __init__(self, path: Path, source: KernelSource) -> None:
        self.path, self.source = path, source
        try:
            self.library = load_library(path)
        except BuildError as error:
            raise _undefined(str(error), source) or error from error
        for each in source.filled:
            self._fill(each)

    def kernel(self, name: str) -> int:
        """Address of a kernel's description."""
        return ctypes.addressof(ctypes.c_char.in_dll(self.library, f"ww_kernel_{name}"))

    def file_of(self, recorded: str) -> str:
        """The file on this machine that the library names."""
        return installed_file(recorded)

    def _fill(self, variable: Filled) -> None:
        """Write a variable's contents; another world of the same library may be reading them, so only what differs."""
        address = ctypes.c_void_p.in_dll(self.library, host_address(variable.name)).value
        contents = variable.values.tobytes()
        if address and ctypes.string_at(address, len(contents)) != contents:
            ctypes.memmove(address, contents, len(contents))


def _undefined(message: str, source: KernelSource) -> BuildError | None:
    """The error for a function or a variable that a kernel uses and that no library has; None for all else.

    A file may declare what it does not define, and so does the C library: of its own use are names such as __sqrtf.
    """
    found = re.search(r"undefined symbol: (?:_ZN?K?\d+)?([A-Za-z_]\w*)", message)
    if not found:
        return None
    mangled, name = found[0].split()[-1], found[1]
    of_cpp = re.search(r"_ZN?K?(\d+)", mangled)
    name = name[: int(of_cpp[1])] if of_cpp else name
    own = "it is a name of the C library's own use, and no word of CUDA"
    define = "define it in the file, or in what it includes"
    define += ", or name its library in link_flags" if source.host else ""
    why = of_word(name) or (own if name.startswith("__") else define)
    return BuildError(f"{source.place_of(name)}: '{name}' is declared and not defined: {why}")
