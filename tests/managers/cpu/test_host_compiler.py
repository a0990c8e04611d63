"""Every host compiler that is here builds the runtime and the kernels, with the same bits; the choice among them."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.toys import HEADER, agents, environment
from warpworld import Array, World
from warpworld.errors import BindError, BuildError
from warpworld.managers.cpu import NativeLibrary, host_compiler
from warpworld.managers.cpu.host_compiler import (
    RUNTIME_FLAGS,
    HostCompiler,
    find_compiler,
    kernel_flags,
    users_kernel_flags,
)
from warpworld.managers.cpu.native_runtime import ABI, load_library
from warpworld.managers.kernel_source import INCLUDE_FOLDER

pytestmark = pytest.mark.cpu_backend

COMPILERS = ["g++", "clang++", "zig"]

BALANCE = """
extern "C" __global__ void step(float* x, float* y, unsigned* seen) {
  ENV_SHARED(float, row, NUM_AGENTS);
  Random random = Random::agent();
  const int i = agent_index();
  row[agent_id()] = x[i] * 1.0001f + random.uniform(-1.0f, 1.0f);
  sync_env();
  const float other = row[(agent_id() + 1) % NUM_AGENTS];
  x[i] = row[agent_id()] * 0.75f + other * 0.25f;
  y[i] += sqrtf(fabsf(x[i])) * other - x[i] / (1.5f + other * other);
  seen[i] ^= random.bits();
}
"""


@pytest.fixture(params=COMPILERS)
def compiler(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> HostCompiler:
    """The chosen one of the compilers that are here."""
    if request.param == "zig":
        found = host_compiler._zig()
        if found is None:
            pytest.skip("the ziglang package is not installed")
        monkeypatch.setenv("CXX", f"{sys.executable} -m ziglang c++")
    else:
        if shutil.which(request.param) is None:
            pytest.skip(f"{request.param} is not on PATH")
        monkeypatch.setenv("CXX", request.param)
    monkeypatch.delenv("WARPWORLD_CXXFLAGS", raising=False)
    monkeypatch.delenv("WARPWORLD_KERNELFLAGS", raising=False)
    return find_compiler()


@pytest.fixture
def world_of(tmp_path: Path) -> Callable[[str], World]:
    """Makes a world of 5 agents in 40 envs, from the text of its kernels."""

    def make(text: str) -> World:
        source = tmp_path / "kernels.cu"
        source.write_text(HEADER + text)
        arrays = [Array("x", "float32", initial=0.5), Array("y", "float32", initial=0.0), Array("seen", "uint32")]
        declared = environment(source, arrays, groups=[agents(5)], resets=())
        return World(declared, 40, num_workers=2)

    return make


@pytest.mark.long
def test_the_runtime_is_complete(compiler: HostCompiler, tmp_path: Path) -> None:
    library = tmp_path / "runtime.so"
    log = compiler.build_library('#include "cpu/runtime.cpp"\n', RUNTIME_FLAGS, [INCLUDE_FOLDER], tmp_path, library)
    assert log == ""
    assert ctypes.CDLL(str(library)).ww_abi() == ABI  # loading finds every symbol, or fails


def test_same_bits_from_every_compiler(compiler: HostCompiler, world_of: Callable[[str], World]) -> None:
    def stepped() -> bytes:
        world = world_of(BALANCE)
        world.reset()
        world["seen"] = 0
        for _ in range(50):
            world.step()
        return b"".join(world[name].numpy().tobytes() for name in ("x", "y", "seen"))

    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("CXX")
        patch.setenv("WARPWORLD_CXXFLAGS", "-O1")
        expected = stepped()
    assert stepped() == expected


@pytest.mark.long
def test_errors_of_every_compiler(compiler: HostCompiler, world_of: Callable[[str], World]) -> None:
    step = 'extern "C" __global__ void step(float* x) {\n'
    with pytest.raises(
        BuildError, match=r"/kernels\.cu:3:10: .*missing.*\(and \d more\)\n  x\[0\] = missing;\n {9}\^$"
    ) as caught:
        world_of(f"{step}  x[0] = missing;\n  x[1] = lost;\n}}\n")
    assert "lost" in caught.value.log
    with pytest.raises(BindError, match=r"/kernels\.cu:3: kernel 'step' is not what the compiler sees there; .* #if"):
        world_of(f"#if 0\n{step}}}\n#endif\n")
    with pytest.raises(BuildError, match=r"/kernels\.cu: the file ends inside of something; a '}' or a '\)' is miss"):
        world_of(f"{step}  if (x[0] > 0.0f) {{\n  x[0] = 1.0f;\n}}\n")


# ---- the choice -----------------------------------------------------------------------------------------------------
@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH with nothing on it but what a test puts there, and no $CXX; and no ziglang package."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.delenv("WARPWORLD_CXXFLAGS", raising=False)
    monkeypatch.delenv("WARPWORLD_KERNELFLAGS", raising=False)
    monkeypatch.setattr(host_compiler, "_zig", lambda: None)
    host_compiler._find.cache_clear()
    return tmp_path


def put(folder: Path, name: str, script: str = 'echo "compiler 1.2"') -> None:
    tool = folder / name
    tool.write_text(f"#!/bin/sh\n{script}\n")
    tool.chmod(0o755)


def test_none_found(tools: Path) -> None:
    with pytest.raises(BuildError, match=r"no C\+\+ compiler found .*install g\+\+ or .* run: pip install ziglang"):
        find_compiler()


def test_order_of_choice(tools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_compiler, "_zig", lambda: HostCompiler(("zig", "c++"), "zig 3", ("zig", "ld.lld")))
    assert find_compiler().command == ("zig", "c++")
    for name in ("clang++", "g++"):
        put(tools, name)
        host_compiler._find.cache_clear()
        assert find_compiler().command == (str(tools / name),)
    put(tools, "mine", 'echo "mine $1"')
    monkeypatch.setenv("CXX", f"{tools / 'mine'} --quiet")
    assert find_compiler() == HostCompiler((str(tools / "mine"), "--quiet"), "mine --quiet")
    monkeypatch.setenv("CXX", " ")
    assert find_compiler().command == (str(tools / "g++"),)


def test_a_compiler_that_does_not_work_is_passed_over(tools: Path) -> None:
    put(tools, "g++", "exit 1")
    put(tools, "clang++")
    assert find_compiler().command == (str(tools / "clang++"),)


@pytest.mark.parametrize("words", ["zig c++", "{tools}/zig c++", "{tools}/python -m ziglang c++"])
def test_zig_links_by_a_command_of_its_own(words: str, tools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tools, "zig")
    put(tools, "python")
    monkeypatch.setenv("CXX", words.format(tools=tools))
    found = find_compiler()
    assert found.link_command == (*found.command[:-1], "ld.lld")
    assert "-UNDEBUG" in found.all_flags(())


@pytest.mark.parametrize(
    ("variable", "text", "told"),
    [
        ("CXX", "nowhere/g++", r"CXX='nowhere/g\+\+' does not run; unset it, or install g\+\+"),
        ("CXX", "g++ 'unclosed", r"CXX=.* cannot be split into words: No closing quotation"),
        ("WARPWORLD_CXXFLAGS", "-O0 '", r"WARPWORLD_CXXFLAGS=.* cannot be split into words: No closing quotation"),
        ("WARPWORLD_KERNELFLAGS", "-O0 '", r"WARPWORLD_KERNELFLAGS=.* cannot be split into words: No closing"),
    ],
)
def test_what_cannot_be_run(variable: str, text: str, told: str, tools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tools, "g++")
    monkeypatch.setenv(variable, text)
    with pytest.raises(BuildError, match=told):
        find_compiler().all_flags(users_kernel_flags())


@pytest.mark.parametrize("debug", ["0", "1"])
def test_flags_of_the_user_come_last(debug: str, tools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tools, "g++")
    monkeypatch.setenv("WARPWORLD_DEBUG", debug)
    monkeypatch.setenv("WARPWORLD_CXXFLAGS", "-O0 -g")
    monkeypatch.setenv("WARPWORLD_KERNELFLAGS", "-O1")
    assert find_compiler().all_flags(("-O3",))[-3:] == ("-O3", "-O0", "-g")
    assert find_compiler().all_flags((*kernel_flags(), *users_kernel_flags()))[-3:] == ("-O1", "-O0", "-g")


@pytest.mark.long
def test_flags_for_kernels_alone(
    tmp_path: Path, world_of: Callable[[str], World], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = 'extern "C" __global__ void step(float* x) { x[agent_index()] = GIVEN; }\n'
    monkeypatch.setenv("WARPWORLD_KERNELFLAGS", "-O0 -DGIVEN=3.0f")
    world = world_of(text)
    world.reset()
    world.step()
    assert (world["x"] == 3).all()
    library = tmp_path / "plain.cpp"
    library.write_text('#ifdef GIVEN\n#error "a flag"\n#endif\n')
    NativeLibrary(library)
    monkeypatch.setenv("WARPWORLD_CXXFLAGS", "-DGIVEN=4.0f")
    with pytest.raises(BuildError, match=r"plain\.cpp does not compile"):
        NativeLibrary(library)


@pytest.mark.long
def test_what_a_build_depends_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Text, included files, constants, flags and compiler each give a module of their own; nothing else does."""
    if shutil.which("g++") is None:
        pytest.skip("g++ is not on PATH")
    monkeypatch.setenv("CXX", "g++")
    monkeypatch.setenv("WARPWORLD_CXXFLAGS", "-O0")
    monkeypatch.setenv("WARPWORLD_CACHE", str(tmp_path / "cache"))
    source, helper = tmp_path / "kernels.cu", tmp_path / "helper.cuh"
    helper.write_text("#define ONE 1.0f\n")
    text = '#include "helper.cuh"\nextern "C" __global__ void step(float* x) { x[agent_index()] = ONE * SIDE; }\n'
    source.write_text(HEADER + text)

    def num_built(side: int = 2, num_envs: int = 3, num_agents: int = 1) -> int:
        arrays = [Array("x", "float32")]
        params = {"side": side}
        declared = environment(source, arrays, [agents(num_agents)], params, resets=(), compile_time=("side",))
        World(declared, num_envs, num_workers=1)
        return len(list((tmp_path / "cache").glob("*.so")))

    first = num_built()
    assert num_built(num_envs=300) == first
    assert num_built(side=3) == first + 1
    assert num_built(num_agents=2) == first + 2
    helper.write_text("#define ONE 1.5f\n")
    assert num_built() == first + 3
    source.write_text(HEADER + text + "// changed\n")
    assert num_built() == first + 4
    monkeypatch.setenv("WARPWORLD_CXXFLAGS", "-O0 -DUNUSED")
    assert num_built() == first + 5
    put(tmp_path, "other", 'if [ "$1" = --version ]; then echo other 1.0; else exec g++ "$@"; fi')
    monkeypatch.setenv("CXX", str(tmp_path / "other"))
    assert num_built() == first + 6
    assert num_built() == first + 6


def test_sources_are_utf_8_whatever_the_locale_says(tmp_path: Path) -> None:
    code = """
import sys
from pathlib import Path
from warpworld.managers.cpu.host_compiler import HostCompiler
scratch = Path(sys.argv[1])
HostCompiler(("true",), "").build_object("// \\u00fcber", (), [], scratch, scratch / "source.o")
"""
    locale = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], env={**os.environ, **locale}, check=True)
    assert (tmp_path / "source.cpp").read_bytes() == "// \u00fcber".encode()


def test_a_broken_library(tmp_path: Path) -> None:
    library = tmp_path / "broken.so"
    library.write_bytes(b"not a library")
    with pytest.raises(BuildError, match=r"cannot load the compiled .*broken\.so: .*; remove the file, or set WARPW"):
        load_library(library)
