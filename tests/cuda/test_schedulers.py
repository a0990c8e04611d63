"""The schedulers and the runtime without Python: on another processor, and with the fallback that serves any."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cuda.kernel_worlds import HERE
from warpworld.managers.cpu.host_compiler import find_compiler
from warpworld.managers.kernel_source import INCLUDE_FOLDER

pytestmark = pytest.mark.cpu_backend

CROSS, EMULATOR = "aarch64-linux-gnu-g++", "qemu-aarch64"
FLAGS = ["-std=c++17", "-fno-exceptions", "-fstack-clash-protection", "-ffp-contract=off", "-Wno-unknown-pragmas"]
SCHEDULERS = pytest.mark.parametrize("scheduler", [[], ["-DWW_WARP_SCHEDULER"]], ids=["ring", "warps"])


def output(folder: Path, compiler: list[str], flags: list[str], run: list[str]) -> str:
    """What the program says, compiled so and run so."""
    program = folder / "schedulers"
    words = [*compiler, *FLAGS, *flags, "-I", str(INCLUDE_FOLDER), str(HERE / "schedulers.cpp")]
    subprocess.run([*words, "-o", str(program), "-lpthread"], check=True)
    return subprocess.run([*run, str(program)], capture_output=True, text=True, check=False, timeout=300).stdout


@pytest.mark.heavy
@SCHEDULERS
@pytest.mark.parametrize("flags", ["-O0", "-O2 -DWW_UCONTEXT"])
@pytest.mark.long
def test_this_processor(flags: str, scheduler: list[str], tmp_path: Path) -> None:
    compiler = find_compiler()
    if compiler.link_command:
        pytest.skip("zig would build a C++ library first")
    assert output(tmp_path, list(compiler.command), [*flags.split(), *scheduler], []) == "ok\n"


@pytest.mark.slow
@pytest.mark.skipif(not (shutil.which(CROSS) and shutil.which(EMULATOR)), reason=f"{CROSS} and {EMULATOR} are not here")
@SCHEDULERS
@pytest.mark.parametrize("flags", ["-O0", "-O3 -march=armv8.2-a+sve", "-O2 -mbranch-protection=standard"])
def test_aarch64(flags: str, scheduler: list[str], tmp_path: Path) -> None:
    run = [EMULATOR, "-cpu", "max"]
    assert output(tmp_path, [CROSS, "-static"], [*flags.split(), *scheduler], run) == "ok\n"
