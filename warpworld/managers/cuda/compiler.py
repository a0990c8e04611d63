"""Finds the compiler that the cuda backend builds kernels with, nvcc or NVRTC, and runs it."""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import os
import re
import shutil
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from warpworld.errors import BuildError, DeviceError
from warpworld.managers import INCLUDE_FOLDER
from warpworld.managers.cuda.driver import dotted
from warpworld.managers.tools import run_tool, words_of

HOW_TO_GET_ONE = 'install the CUDA toolkit, or run: pip install "cuda-toolkit[nvcc,crt,cccl,nvvm]"'

FLAGS = ("-std=c++17", "-lineinfo")  # lines for compute-sanitizer and the profilers; the code is the same without
NVRTC_HEADERS = INCLUDE_FOLDER / "gpu" / "nvrtc"

Version = tuple[int, int]


@dataclass(frozen=True)
class CudaCompiler(ABC):
    """A compiler of CUDA C++.

    Attributes:
        path: the program or library.
        version: of CUDA, for instance (13, 0).
        extra_flags: the user's, from ``$WARPWORLD_NVCCFLAGS``; they come last, so that they win.
    """

    path: Path
    version: Version
    extra_flags: tuple[str, ...] = ()
    name: ClassVar[str]

    @property
    def description(self) -> str:
        """Name, version and place."""
        return f"{self.name} {dotted(self.version)} ({self.path})"

    @abstractmethod
    def all_flags(self) -> tuple[str, ...]:
        """Flags of every compilation, the user's included."""

    @abstractmethod
    def build_cubin(self, text: str, arch: str, folders: Sequence[Path], scratch: Path, target: Path) -> str:
        """Compile CUDA C++ text into machine code for one architecture.

        Args:
            text: the source.
            arch: such as "sm_90".
            folders: where included files are looked for.
            scratch: folder for temporary files.
            target: the file that is to be written.

        Returns:
            What the compiler printed if it failed, else an empty string.
        """


class Nvcc(CudaCompiler):
    """The compiler driver of the CUDA toolkit, a program."""

    name = "nvcc"

    def all_flags(self) -> tuple[str, ...]:
        """Flags of every compilation, the user's included."""
        return (*FLAGS, "-O3", *self.extra_flags)

    def build_cubin(self, text: str, arch: str, folders: Sequence[Path], scratch: Path, target: Path) -> str:
        """Implement ``CudaCompiler``."""
        source = scratch / "source.cu"
        source.write_text(text, encoding="utf-8")
        include = [word for folder in folders for word in ("-I", str(folder))]
        command = [str(self.path), "-cubin", f"-arch={arch}", *self.all_flags(), *include]
        result = run_tool([*command, "-o", str(target), str(source)])
        if result.returncode == 0:
            return ""
        return (result.stderr + result.stdout).strip() or f"nvcc failed with status {result.returncode}"


class Nvrtc(CudaCompiler):
    """CUDA's run-time compiler, a library: it needs neither a toolkit nor a host compiler."""

    name = "NVRTC"

    def all_flags(self) -> tuple[str, ...]:
        """Flags of every compilation, the user's included."""
        return (*FLAGS, "-default-device", f"-I{NVRTC_HEADERS}", "--pre-include=prelude.h", *self.extra_flags)

    def build_cubin(self, text: str, arch: str, folders: Sequence[Path], scratch: Path, target: Path) -> str:
        """Implement ``CudaCompiler``."""
        library = _load_nvrtc(self.path)
        words = [f"-arch={arch}", *self.all_flags(), *(f"-I{folder}" for folder in folders)]
        options = (ctypes.c_char_p * len(words))(*(word.encode() for word in words))
        program = ctypes.c_void_p()
        library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"source.cu", 0, None, None)
        try:
            if library.nvrtcCompileProgram(program, len(words), options) != 0:
                return _read(library.nvrtcGetProgramLogSize, library.nvrtcGetProgramLog, program).decode().strip("\0\n")
            target.write_bytes(_read(library.nvrtcGetCUBINSize, library.nvrtcGetCUBIN, program))
        finally:
            library.nvrtcDestroyProgram(ctypes.byref(program))
        return ""


def _read(size_of: Callable[..., int], read: Callable[..., int], program: ctypes.c_void_p) -> bytes:
    size = ctypes.c_size_t()
    size_of(program, ctypes.byref(size))
    buffer = ctypes.create_string_buffer(size.value)
    read(program, buffer)
    return buffer.raw


def find_cuda_compiler(newest: Version | None = None) -> CudaCompiler:
    """Nvcc, on PATH, in ``$CUDA_HOME`` or from its wheels; without a host compiler or an nvcc, torch's NVRTC.

    Args:
        newest: CUDA of the driver, which does not load what a compiler of a later major version makes; such are passed
            over.

    ``$WARPWORLD_NVCCFLAGS`` are the user's own flags, for instance ``--fmad=false`` for the bits of the cpu backend.

    Raises:
        BuildError: there is neither.
        DeviceError: all that there are are too new.
    """
    # the first compiler whose code the driver loads
    path, home = os.environ.get("PATH", ""), os.environ.get("CUDA_HOME", "")
    candidates = [*_nvccs(path, home), *_nvrtcs(home)]
    found = next((each for each in candidates if newest is None or each[2][0] <= newest[0]), None)
    # none: all are too new, or none is there
    if found is None and newest is not None and candidates:
        newer = _made(candidates[0]).description
        raise DeviceError(
            f"the NVIDIA driver is for CUDA {dotted(newest)}, {newer} is newer: update the driver, or put a compiler "
            f"of CUDA {newest[0]} on PATH"
        )
    if found is None:
        raise BuildError(
            "no CUDA compiler found (looked for nvcc on PATH, in $CUDA_HOME and in the packages of CUDA, and for "
            f"NVRTC beside torch); {HOW_TO_GET_ONE}"
        )
    return _made(found)


_Found = tuple[type[CudaCompiler], Path, Version]


def _made(found: _Found) -> CudaCompiler:
    kind, path, version = found
    return kind(path, version, words_of("WARPWORLD_NVCCFLAGS"))


@functools.cache
def _nvccs(path: str, home: str) -> tuple[_Found, ...]:
    """Every nvcc that works, in the order in which they are looked for."""
    found: list[_Found] = []
    if not any(shutil.which(host, path=path) for host in ("g++", "clang++", "c++")):
        return ()  # it would fail: nvcc hands all that runs on the host to one of these
    # places in the order of preference
    on_path = shutil.which("nvcc", path=path)
    homes = [Path(home) / "bin" / "nvcc"] if home else []
    # those that run, with their versions
    for candidate in (*([Path(on_path)] if on_path else []), *homes, *_in_wheels("*/bin/nvcc")):
        try:
            printed = run_tool([str(candidate), "--version"], timeout=60).stdout
        except (OSError, subprocess.TimeoutExpired):
            continue
        release = re.search(r"release (\d+)\.(\d+)", printed)
        if release:
            found.append((Nvcc, candidate, (int(release.group(1)), int(release.group(2)))))
    return tuple(found)


@functools.cache
def _nvrtcs(home: str) -> tuple[_Found, ...]:
    """Every NVRTC that loads, in the order in which they are looked for."""
    found: list[_Found] = []
    homes = sorted(Path(home).glob("lib*/libnvrtc.so*")) if home else []
    for candidate in (*_in_wheels("*/lib/libnvrtc.so*"), *homes):
        try:
            library = _load_nvrtc(candidate)
        except OSError:
            continue
        major, minor = ctypes.c_int(), ctypes.c_int()
        if library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)) == 0:
            found.append((Nvrtc, candidate, (major.value, minor.value)))
    return tuple(found)


@functools.cache
def _load_nvrtc(path: Path) -> ctypes.CDLL:
    suffix = path.name.partition(".so")[0].removeprefix("libnvrtc")  # other builds of it may lie beside it
    for builtins in path.parent.glob(f"libnvrtc-builtins{suffix}.so*"):  # which it looks for by name alone
        ctypes.CDLL(str(builtins))
    return ctypes.CDLL(str(path))


def _in_wheels(pattern: str) -> Iterator[Path]:
    """Files of NVIDIA's packages on Python's path, those of the newest CUDA first."""
    spec = importlib.util.find_spec("nvidia")
    for folder in spec.submodule_search_locations or [] if spec else []:
        yield from sorted(Path(folder).glob(pattern), key=lambda path: _cuda_of(path.relative_to(folder)), reverse=True)


def _cuda_of(path: Path) -> int:
    """The CUDA that a file of NVIDIA's packages is of: they lie in cu13, cu14, ...; before, in cuda_nvcc and so on."""
    numbered = re.match(r"cu(\d+)$", path.parts[0])
    return int(numbered.group(1)) if numbered else 12
