"""Compiles kernels for GPUs with nvcc and with NVRTC, and reads what registers they need."""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cuda.quick_nvcc import nvrtc_flags
from warpworld.managers.build_cache import cached, content_key
from warpworld.managers.cuda.backend import CudaBackend, _headers
from warpworld.managers.cuda.compiler import _load_nvrtc, _nvrtcs, _read
from warpworld.managers.kernel_source import INCLUDE_FOLDER, KernelSource

# With --stand-in the first nvcc on PATH is the stand-in, and the real one has a variable, which is empty without one.
NVCC = os.environ.get("STAND_IN_REAL_NVCC", shutil.which("nvcc")) or None
NVRTC = next(iter(_nvrtcs("")), None)
OFTEN = (90,)  # an H100
SELDOM = (75, 80, 120)  # by `make exhaustive`
OLDEST, NEWEST = 75, 120  # that CUDA 13 compiles for

needs_nvcc = pytest.mark.skipif(NVCC is None, reason="nvcc is not on PATH")
needs_nvrtc = pytest.mark.skipif(NVRTC is None, reason="NVRTC is not installed; make cuda-tools")


@dataclasses.dataclass(frozen=True)
class Usage:
    """What ptxas says of a kernel on one architecture."""

    registers: int
    spilled: int  # bytes
    shared: int  # bytes of the block

    def __str__(self) -> str:
        spilled = f", {self.spilled} SPILLED" if self.spilled else ""
        return f"{self.registers} regs, {self.shared} B{spilled}"


def read_usage(log: str) -> dict[tuple[str, str], Usage]:
    """Usage by kernel and architecture, from the output of ``ptxas -v``."""
    found: dict[tuple[str, str], Usage] = {}
    for part in re.split(r"Compiling entry function ", log)[1:]:
        named = re.match(r"'(\w+)' for '(sm_\d+)'", part)
        registers, shared = re.search(r"Used (\d+) registers", part), re.search(r"(\d+) bytes smem", part)
        spilled = re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", part)
        assert named and registers and spilled, part
        spills = int(spilled.group(1)) + int(spilled.group(2))
        found[named.group(1), named.group(2)] = Usage(
            int(registers.group(1)), spills, int(shared.group(1)) if shared else 0
        )
    return found


def cuda_text(source: KernelSource) -> str:
    """What the cuda backend compiles."""
    return source.cuda_text(CudaBackend.warp_size, CudaBackend.warps_per_block)


def compile_for(source: KernelSource, folder: Path, architectures: tuple[int, ...]) -> dict[tuple[str, str], Usage]:
    """Compile for some architectures with warnings as errors; what nvcc prints is kept from one run to the next."""
    assert NVCC is not None
    flags = ["-std=c++17", "-O3", "-Werror", "all-warnings", "-Xptxas", "-v", "-fatbin"]
    for number in architectures:
        flags += ["-gencode", f"arch=compute_{number},code=sm_{number}"]

    def build(_: Path, printed: Path) -> None:
        text = folder / f"{source.path.stem}.cu"
        text.write_text(cuda_text(source))
        command = [NVCC, *flags, str(text), "-I", str(INCLUDE_FOLDER), "-I", str(source.path.parent)]
        result = subprocess.run(
            [*command, "-o", str(folder / "out.fatbin")], capture_output=True, text=True, check=False
        )
        assert result.returncode == 0, result.stdout + result.stderr
        printed.write_text(result.stdout + result.stderr)

    return read_usage(cached(_key(source, nvcc_version(), *flags), ".usage", build).read_text())


def _key(source: KernelSource, *compiler: str) -> str:
    """Name of what a compiler makes of a source: of all that it reads, and of the compiler with its flags."""
    included = [data for _, data in source.included()]
    return content_key(["tests of GPU compilers", *compiler, cuda_text(source), *included, *_headers()])


def compile_with_nvrtc(source: KernelSource) -> None:
    """Compile for the newest, unless a run before has; a warning, which no flag of NVRTC refuses, is in the log."""
    assert NVRTC is not None
    kind, path, version = NVRTC
    flags = [f"-arch=sm_{NEWEST}", *kind(path, version).all_flags(), *nvrtc_flags(version)]

    def build(_: Path, passed: Path) -> None:
        _compile_with_nvrtc(source, flags)
        passed.touch()

    cached(_key(source, kind(path, version).description, *flags), ".nvrtc", build)


def _compile_with_nvrtc(source: KernelSource, flags: list[str]) -> None:
    assert NVRTC is not None
    library, program, text = _load_nvrtc(NVRTC[1]), ctypes.c_void_p(), cuda_text(source)
    library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"source.cu", 0, None, None)
    words = [*flags, f"-I{INCLUDE_FOLDER}", f"-I{source.path.parent}"]
    options = (ctypes.c_char_p * len(words))(*(word.encode() for word in words))
    result = library.nvrtcCompileProgram(program, len(words), options)
    log = _read(library.nvrtcGetProgramLogSize, library.nvrtcGetProgramLog, program).decode().strip("\0\n")
    assert (result, log) == (0, ""), log  # pytest explains assertions of test modules only
    assert _read(library.nvrtcGetCUBINSize, library.nvrtcGetCUBIN, program).startswith(b"\x7fELF")
    library.nvrtcDestroyProgram(ctypes.byref(program))


@functools.cache
def nvcc_version() -> str:
    assert NVCC is not None
    return subprocess.run([NVCC, "--version"], capture_output=True, text=True, check=True).stdout


def nvcc_release() -> tuple[int, int]:
    found = re.search(r"release (\d+)\.(\d+)", nvcc_version())
    assert found
    return int(found.group(1)), int(found.group(2))


@functools.cache
def known_to_nvcc() -> list[str]:
    assert NVCC is not None
    return subprocess.run([NVCC, "--list-gpu-code"], capture_output=True, text=True, check=True).stdout.split()


def known(architectures: tuple[int, ...]) -> tuple[int, ...]:
    """Those of them that this nvcc compiles for."""
    return tuple(number for number in architectures if f"sm_{number}" in known_to_nvcc())
