"""Finding nvcc or NVRTC, and what they are asked for."""

from __future__ import annotations

import stat
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.toys import HEADER, environment
from warpworld import Array, World
from warpworld.errors import BindError, BuildError
from warpworld.managers.cpu.backend import CpuBackend
from warpworld.managers.cuda import compiler as cuda_compiler
from warpworld.managers.cuda.backend import CudaBackend, _build_cubin
from warpworld.managers.cuda.compiler import Nvcc, Nvrtc, find_cuda_compiler
from warpworld.managers.kernel_source import KernelSource

VERSION = "echo 'Cuda compilation tools, release {}, V{}.88'"


def program(path: Path, text: str = "") -> Path:
    """A shell script that can be run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def an_nvcc(path: Path, version: str = "12.4") -> Path:
    return program(path, VERSION.format(version, version))


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Empty places where compilers are looked for; there is a host compiler."""
    found = SimpleNamespace(path=tmp_path / "path", home=tmp_path / "home", wheels=tmp_path / "wheels" / "nvidia")
    found.path.mkdir()
    program(found.path / "g++")
    monkeypatch.setenv("PATH", f"{found.path}:/usr/bin/nothing")
    monkeypatch.setenv("CUDA_HOME", str(found.home))
    monkeypatch.setenv("WARPWORLD_NVCCFLAGS", "")
    spec = SimpleNamespace(submodule_search_locations=[str(found.wheels)])
    monkeypatch.setattr(cuda_compiler.importlib.util, "find_spec", lambda name: spec)  # type: ignore[attr-defined]
    cuda_compiler._nvccs.cache_clear()
    cuda_compiler._nvrtcs.cache_clear()
    yield found
    cuda_compiler._nvccs.cache_clear()
    cuda_compiler._nvrtcs.cache_clear()


def test_path_comes_first_then_cuda_home_then_wheels(places: SimpleNamespace) -> None:
    in_wheel = an_nvcc(places.wheels / "cu13" / "bin" / "nvcc", "13.0")
    an_nvcc(places.wheels / "cuda_nvcc" / "bin" / "nvcc", "12.1")
    assert find_cuda_compiler() == Nvcc(in_wheel, (13, 0))
    in_home = an_nvcc(places.home / "bin" / "nvcc", "12.9")
    cuda_compiler._nvccs.cache_clear()
    assert find_cuda_compiler() == Nvcc(in_home, (12, 9))
    on_path = an_nvcc(places.path / "nvcc")
    cuda_compiler._nvccs.cache_clear()
    assert find_cuda_compiler() == Nvcc(on_path, (12, 4))
    assert find_cuda_compiler().description == f"nvcc 12.4 ({on_path})"


@pytest.mark.parametrize("text", ["exit 1", "echo 'no version here'"])
def test_an_nvcc_that_does_not_work_is_passed_over(text: str, places: SimpleNamespace) -> None:
    program(places.path / "nvcc", text)
    in_home = an_nvcc(places.home / "bin" / "nvcc", "12.9")
    assert find_cuda_compiler() == Nvcc(in_home, (12, 9))


def test_nvcc_without_a_host_compiler_is_of_no_use(places: SimpleNamespace) -> None:
    an_nvcc(places.path / "nvcc")
    (places.path / "g++").unlink()
    with pytest.raises(BuildError, match=r"no CUDA compiler found \(looked for nvcc on PATH, in \$CUDA_HOME and"):
        find_cuda_compiler()


def test_the_user_s_flags_come_last(places: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    an_nvcc(places.path / "nvcc")
    monkeypatch.setenv("WARPWORLD_NVCCFLAGS", "--fmad=false -DNAME='a b'")
    assert find_cuda_compiler().all_flags() == (*cuda_compiler.FLAGS, "-O3", "--fmad=false", "-DNAME=a b")
    monkeypatch.setenv("WARPWORLD_NVCCFLAGS", "'")
    with pytest.raises(BuildError, match=r"WARPWORLD_NVCCFLAGS=.* cannot be split into words"):
        find_cuda_compiler()


def test_what_nvcc_is_asked_for(places: SimpleNamespace, tmp_path: Path) -> None:
    words = tmp_path / "words"
    nvcc = program(
        places.path / "nvcc", f'{VERSION.format("13.0", "13.0")}\nfor w in "$@"; do echo "$w"; done > {words}'
    )
    compiler = find_cuda_compiler()
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    assert compiler.build_cubin("text", "sm_90", [Path("/a"), Path("/b c")], scratch, tmp_path / "out.cubin") == ""
    expected = ["-cubin", "-arch=sm_90", "-std=c++17", "-lineinfo", "-O3", "-I", "/a", "-I", "/b c"]
    assert words.read_text().splitlines() == [*expected, "-o", str(tmp_path / "out.cubin"), str(scratch / "source.cu")]
    assert (scratch / "source.cu").read_text() == "text"
    program(nvcc, "echo 'source.cu(3): error: that' >&2; exit 2")
    assert compiler.build_cubin("text", "sm_90", [], scratch, tmp_path / "x") == "source.cu(3): error: that"
    program(nvcc, "exit 3")
    assert compiler.build_cubin("text", "sm_90", [], scratch, tmp_path / "x") == "nvcc failed with status 3"


# ---- the real NVRTC, where its wheel is installed -------------------------------------------------------------------
@pytest.fixture
def nvrtc(monkeypatch: pytest.MonkeyPatch) -> Nvrtc:
    monkeypatch.setattr(cuda_compiler, "_nvccs", lambda *places: ())
    cuda_compiler._nvrtcs.cache_clear()
    try:
        found = find_cuda_compiler()
    except BuildError:
        pytest.skip("NVRTC is not installed: make cuda-tools")
    assert isinstance(found, Nvrtc)
    return found


def test_nvrtc_compiles(nvrtc: Nvrtc, tmp_path: Path) -> None:
    text = '#include <stdint.h>\nextern "C" __global__ void f(uint64_t* x) { x[0] = (uint64_t)INFINITY; }\n'
    assert nvrtc.build_cubin(text, "sm_90", [], tmp_path, tmp_path / "out.cubin") == ""
    assert (tmp_path / "out.cubin").read_bytes()[:4] == b"\x7fELF"
    assert nvrtc.description.startswith(f"NVRTC {nvrtc.version[0]}.{nvrtc.version[1]} (")


def test_nvrtc_says_what_is_wrong(nvrtc: Nvrtc, tmp_path: Path) -> None:
    text = '#line 1 "mine.cu"\n\nextern "C" __global__ void f(int* x) { x[0] = nothing_such; }\n'
    log = nvrtc.build_cubin(text, "sm_90", [], tmp_path, tmp_path / "out.cubin")
    assert log.startswith('mine.cu(2): error: identifier "nothing_such" is undefined')
    assert "--gpu-architecture" in nvrtc.build_cubin(text, "sm_20", [], tmp_path, tmp_path / "out.cubin")


STEP = 'extern "C" __global__ void step(float* x) {\n'


@pytest.mark.long
@pytest.mark.cpu_backend
@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        (
            f"{STEP}\tx[0]\t= missing;\n  x[1] = lost;\n}}\n",
            BuildError,
            '{path}:3:9: identifier "missing" is undefined (and 1 more)\n  x[0] = missing;\n         ^',
        ),
        (f"{STEP}  x[0] = 1.0f\n}}\n", BuildError, '{path}:4:1: expected a ";"\n  }\n  ^'),
        (
            '#include "gone.cuh"\n' + STEP + "}\n",
            BuildError,
            '{path}:2: cannot open source file "gone.cuh"\n  #include "gone.cuh"\n',
        ),
        (
            f"#if 0\n{STEP}}}\n#endif\n",
            BindError,
            "{path}:3: kernel 'step' is not what the compiler sees there; it may be inside an #if, or have macros or "
            "typedefs in its parameters: write it out plainly",
        ),
        (
            f"{STEP}  if (x[0] > 0.0f) {{\n  x[0] = 1.0f;\n}}\n",
            BuildError,
            "{path}: the file ends inside of something; ",
        ),
    ],
    ids=["unknown names", "no semicolon", "no header", "not compiled", "no brace"],
)
def test_errors_of_nvrtc_in_a_kernel(
    nvrtc: Nvrtc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, error: type[Exception], message: str
) -> None:
    def build(self: CpuBackend, source: KernelSource) -> None:
        cuda_text = source.cuda_text(CudaBackend.warp_size, CudaBackend.warps_per_block)
        _build_cubin(source, cuda_text, "sm_90", nvrtc)

    monkeypatch.setattr(CpuBackend, "build", build)
    path = tmp_path / "my env.cu"
    path.write_text(HEADER + text)
    with pytest.raises(error) as caught:
        World(environment(path, [Array("x", "float32", initial=0.0)], resets=()), 4)
    assert str(caught.value).startswith(message.replace("{path}", str(path)))
