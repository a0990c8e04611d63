"""Finds the host C++ compiler that the cpu backend builds kernels with, and runs it.

``$WARPWORLD_DEBUG=1``: kernels are compiled for a debugger, and one worker steps envs unless more are asked for.
"""

from __future__ import annotations

import functools
import importlib.util
import logging
import os
import platform
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from warpworld.errors import BuildError
from warpworld.managers.cpu.shipped import installed_file, why_not_shipped
from warpworld.managers.tools import run_tool, words_of

logger = logging.getLogger(__name__)

DEBUG_VARIABLE = "WARPWORLD_DEBUG"
HOW_TO_GET_ONE = "install g++ or clang++, or run: pip install ziglang"

_X86 = platform.machine() in ("x86_64", "AMD64")

# The runtime jumps between stacks. FORTIFY's longjmp takes that for a mistake, and shadow stacks for an attack.
# Without exceptions, as on a GPU, nothing of the C++ library is needed at run time.
_COMMON_FLAGS = (
    *("-std=c++17", "-fPIC", "-fvisibility=hidden", "-fno-exceptions", "-fno-rtti", "-fstack-clash-protection"),
    *("-U_FORTIFY_SOURCE", *(("-fcf-protection=none",) if _X86 else ())),
)
_NATIVE = {"x86_64": ("-march=native",), "AMD64": ("-march=native",), "aarch64": ("-mcpu=native",)}
NATIVE_FLAGS = _NATIVE.get(platform.machine(), ())  # of code for this processor
_ZIG_FLAGS = ("-UNDEBUG", "-fno-sanitize=undefined")  # zig sets its own defaults by -O level

RUNTIME_FLAGS = ("-O3", "-g1", "-ftls-model=initial-exec")
# No fused multiply-add that the source does not ask for: the same bits from every compiler. printf is the headers' own,
# so compilers must not make puts() of it.
KERNEL_FLAGS = (
    *("-O3", *NATIVE_FLAGS),
    *("-g1", "-ffp-contract=off", "-fno-trapping-math", "-fno-math-errno", "-Wno-narrowing", "-Wno-unknown-pragmas"),
    *("-fno-builtin-printf", "-Wformat"),
)
# Of files that use the C++ library: what throws is noted, so that an error names its line.
HOST_CODE_FLAGS = ("-fexceptions", "-frtti")
HOST_CODE_WRAPPED = ("__cxa_throw",)
# The package's own numerics, which nothing has to match bit for bit: fused multiply-adds where they are faster.
LIBRARY_FLAGS = (
    *("-O3", *NATIVE_FLAGS),
    *("-g1", "-ffp-contract=fast", "-fno-trapping-math", "-fno-math-errno", "-Wno-psabi", "-Wno-unknown-pragmas"),
)


def debugging() -> bool:
    """Whether kernels are to be built for a debugger.

    Raises:
        BuildError: ``$WARPWORLD_DEBUG`` is neither 0 nor 1.
    """
    said = os.environ.get(DEBUG_VARIABLE) or "0"
    if said not in ("0", "1"):
        raise BuildError(f"{DEBUG_VARIABLE}={said!r}: expected 0 or 1")
    return said == "1"


def kernel_flags() -> tuple[str, ...]:
    """Flags of kernels. For a debugger nothing is optimised, and header words are functions to call.

    Raises:
        BuildError: a variable of the environment is not what it may be.
    """
    if not debugging():
        return KERNEL_FLAGS
    kept = (flag for flag in KERNEL_FLAGS if flag not in ("-O3", "-g1"))
    return (*kept, "-O0", "-g", "-DWW_DEBUG")


def users_kernel_flags() -> tuple[str, ...]:
    """The user's flags for kernels alone, from ``$WARPWORLD_KERNELFLAGS``.

    Raises:
        BuildError: a quote in them is not closed.
    """
    return words_of("WARPWORLD_KERNELFLAGS")


@dataclass(frozen=True)
class HostCompiler:
    """A C++17 compiler.

    Attributes:
        command: the words that start it.
        version: first line of what it says of itself.
        link_command: the linker, if objects are linked by a command of their own (zig's own link step would first build
            a C++ library).
        extra_flags: the user's, from ``$WARPWORLD_CXXFLAGS``; they come last, so that they win.
    """

    command: tuple[str, ...]
    version: str
    link_command: tuple[str, ...] = ()
    extra_flags: tuple[str, ...] = ()

    def all_flags(self, flags: Sequence[str]) -> tuple[str, ...]:
        """Return all flags of a compilation that asks for ``flags``."""
        return (*_COMMON_FLAGS, *(_ZIG_FLAGS if self.link_command else ()), *flags, *self.extra_flags)

    def build_library(
        self,
        text: str,
        flags: Sequence[str],
        folders: Sequence[Path],
        scratch: Path,
        target: Path,
        objects: Sequence[Path] = (),
        wrapped: Sequence[str] = (),
        keep_relocations: bool = False,
        link_flags: Sequence[str] = (),
    ) -> str:
        """Compile C++ text into a shared library.

        Args:
            text: the source.
            flags: besides those that everything is compiled with.
            folders: where included files are looked for.
            scratch: folder for temporary files.
            target: the library that is to be written.
            objects: from ``build_object``, to link into it; ``flags`` are not for the linker then.
            wrapped: functions whose calls are to go to their ``__wrap_`` counterparts, in the text or in ``objects``.
            keep_relocations: whether the library, linked with ``objects``, lists its calls of functions by name.
            link_flags: words for the linker behind all else; a compiler that links by a command of its own takes none.

        Returns:
            What the compiler printed if it failed, else an empty string.
        """
        unit = scratch / "source.o"
        to_linker = "" if self.link_command else "-Wl,"
        options = [*(f"--wrap={name}" for name in wrapped), *(["--emit-relocs"] if keep_relocations else [])]
        words = [f"{to_linker}{option}" for option in options]
        if self.link_command or objects:
            link = [*(self.link_command or self.command), "-shared", *words]
            log = self.build_object(text, flags, folders, scratch, unit)
            return log or _run([*link, str(unit), *map(str, objects), "-o", str(target), *link_flags])
        compiled = self._compile(text, flags, folders, scratch)
        return _run([*compiled, "-shared", *words, "-o", str(target), *link_flags, "-lpthread"])

    def build_object(
        self, text: str, flags: Sequence[str], folders: Sequence[Path], scratch: Path, target: Path
    ) -> str:
        """Compile C++ text into an object file; arguments and result as of ``build_library``."""
        return _run([*self._compile(text, flags, folders, scratch), "-c", "-o", str(target)])

    def _compile(self, text: str, flags: Sequence[str], folders: Sequence[Path], scratch: Path) -> list[str]:
        """The words that compile a text, but for what is to become of it."""
        source = scratch / "source.cpp"
        source.write_text(text, encoding="utf-8")
        include = [word for folder in folders for word in ("-I", str(folder))]
        return [*self.command, *self.all_flags(flags), *include, str(source)]


def _run(command: Sequence[str]) -> str:
    """Run a compiler or linker; what it printed if it failed, else an empty string. Warnings are passed on."""
    result = run_tool(command)
    if result.returncode == 0:
        for line in dict.fromkeys(result.stderr.splitlines()):
            if ": warning: " in line:
                logger.warning("%s", line)
        return ""
    return result.stderr.strip() or f"{command[0]} failed with status {result.returncode}"


def _version(command: tuple[str, ...]) -> str | None:
    try:
        result = run_tool([*command, "--version"], timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = result.stdout.splitlines()
    return lines[0] if result.returncode == 0 and lines else None


def _zig() -> HostCompiler | None:
    if importlib.util.find_spec("ziglang") is None:
        return None
    zig = (sys.executable, "-m", "ziglang")
    version = _version((*zig, "c++"))
    return HostCompiler((*zig, "c++"), f"zig {version}", (*zig, "ld.lld")) if version else None


@functools.cache
def _find(wanted: tuple[str, ...], path: str) -> HostCompiler:
    # the one that is named
    if wanted:
        version = _version(wanted)
        if version is None:
            raise BuildError(f"CXX={shlex.join(wanted)!r} does not run; unset it, or {HOW_TO_GET_ONE}")
        is_zig = "zig" in Path(wanted[0]).name or "ziglang" in wanted
        return HostCompiler(wanted, version, (*wanted[:-1], "ld.lld") if is_zig else ())
    # one on PATH
    for name in ("g++", "clang++"):
        found = shutil.which(name, path=path)
        version = _version((found,)) if found else None
        if found and version:
            return HostCompiler((found,), version)
    # the one of the ziglang package
    zig = _zig()
    if zig is None:
        raise BuildError(
            f"no C++ compiler found (looked for $CXX, g++, clang++ and the ziglang package); {HOW_TO_GET_ONE}"
            f"{why_not_shipped()}"
        )
    return zig


def find_compiler() -> HostCompiler:
    """The compiler named by ``$CXX``, else g++, clang++ or the ziglang package, whichever is found first.

    ``$WARPWORLD_CXXFLAGS`` are the user's own flags for all that is compiled, for instance ``-O0 -g`` to look at a
    kernel in a debugger.

    Raises:
        BuildError: there is none, or the one named does not run.
    """
    found = _find(words_of("CXX"), os.environ.get("PATH", ""))
    extra = words_of("WARPWORLD_CXXFLAGS")
    return HostCompiler(found.command, found.version, found.link_command, extra)


def source_line(library: Path, offset: int, hidden: Path) -> tuple[str, int] | None:
    """File and line of a place in a library, if addr2line is there to say it; see ``source_lines``."""
    return source_lines(library, [offset], hidden).get(offset)


def source_lines(library: Path, offsets: Sequence[int], hidden: Path) -> dict[int, tuple[str, int]]:
    """Files and lines of places in a library; of those that addr2line, if it is there, can tell.

    Args:
        library: compiled with line numbers.
        offsets: of the places from the library's start.
        hidden: a folder; of functions inlined into one another, the innermost is taken whose file exists outside of it.
    """
    tool = shutil.which("addr2line") or shutil.which("llvm-addr2line")
    if tool is None or not offsets:
        return {}
    # lines as the tool prints them
    try:
        printed = run_tool([tool, "-a", "-i", "-e", str(library), *map(hex, offsets)], timeout=60).stdout
    except (OSError, subprocess.TimeoutExpired):
        return {}
    # the innermost line of each place outside of the hidden folder
    found: dict[int, tuple[str, int]] = {}
    offset = 0
    for place in printed.splitlines():
        if place.startswith("0x"):  # the address, before its places
            offset = int(place, 16)
            continue
        recorded, _, line = place.rpartition(":")
        file, number = installed_file(recorded), line.split(" ")[0]
        if offset not in found and number.isdigit() and hidden not in Path(file).parents and Path(file).is_file():
            found[offset] = (file, int(number))
    return found


def require_cpp_library(compiler: HostCompiler, path: Path) -> None:
    """Check that a compiler links with the C++ library, which a kernel file of C++ needs.

    Raises:
        BuildError: it links by a command of its own, which has no such library.
    """
    if compiler.link_command:
        raise BuildError(f"{path.name} uses the C++ library, which {compiler.version} does not link here; install g++")
