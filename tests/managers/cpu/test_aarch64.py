"""Kernels that are compiled for aarch64: run under emulation they compute the bits that this processor computes."""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import warpworld
from warpworld.managers import INCLUDE_FOLDER
from warpworld.managers.cpu import LEVELS, LibrarySource, recorded_libraries
from warpworld.managers.cpu.host_compiler import find_compiler

CROSS, EMULATOR, LIBRARIES = "aarch64-linux-gnu-g++", "qemu-aarch64", "/usr/aarch64-linux-gnu"
DRIVER = Path(__file__).with_name("cartpole_driver.cpp")

pytestmark = [
    pytest.mark.cpu_backend,
    pytest.mark.skipif(platform.machine() != "x86_64", reason="two processors are compared"),
    pytest.mark.skipif(
        not (shutil.which(CROSS) and shutil.which(EMULATOR)), reason=f"{CROSS} or {EMULATOR} is not here"
    ),
]


def sources() -> dict[str, LibrarySource]:
    """The sources of CartPole's libraries by kind."""
    with recorded_libraries() as libraries, warpworld.make("cartpole", num_envs=64, device="cpu") as world:
        world.reset(seed=0)
    return {library.kind: library for library in libraries}


def driver(compiler: tuple[str, ...], folder: Path) -> Path:
    """The program that steps CartPole without Python, compiled."""
    program = folder / f"driver-{Path(compiler[0]).name}"
    words = [*compiler, "-std=c++20", "-O1", f"-I{INCLUDE_FOLDER}", str(DRIVER), "-o", str(program), "-ldl"]
    subprocess.run(words, check=True, capture_output=True)
    return program


def printed(*command: str | Path) -> list[str]:
    return subprocess.run(
        [str(word) for word in command], check=True, capture_output=True, text=True
    ).stdout.splitlines()


def compare(folder: Path) -> None:
    """Compile for both processors, run both, and compare what they print."""
    libraries = sources()
    here = printed(driver(find_compiler().command, folder), *(libraries[k].library() for k in ("runtime", "module")))
    (level,) = (level for level in LEVELS if level.machine == "aarch64")
    for kind in ("runtime", "module"):
        libraries[kind].build_for(level, folder / f"{kind}.so", folder, CROSS)
    program = driver((CROSS,), folder)
    there = printed(EMULATOR, "-L", LIBRARIES, program, folder / "runtime.so", folder / "module.so")
    assert len(here) == 6 * 64 + 1 and here[-1].startswith("994 episodes, status 0")
    assert here == there


@pytest.mark.slow
def test_cartpole_walks_the_same_course_under_emulation(tmp_path: Path) -> None:
    """In a process of its own, which loads the runtime: libraries are recorded as they are loaded."""
    script = f"from pathlib import Path; from {__name__} import compare; compare(Path({str(tmp_path)!r}))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
