"""What can be wrong with a GPU, its driver and its compiler: each is told in one line that says what to do."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import warpworld
from tests.stand_in.driver import StandIn
from tests.stand_in.host_gpu import HostGpu
from tests.toys import HEADER, agents, environment
from warpworld import Array, World
from warpworld.errors import BuildError, DeviceError, KernelError, StoreError
from warpworld.managers.cuda import backend as cuda_backend
from warpworld.managers.cuda import compiler as cuda_compiler
from warpworld.managers.cuda.backend import CudaBackend
from warpworld.managers.cuda.compiler import Nvcc
from warpworld.managers.cuda.driver import Driver
from warpworld.managers.cuda.faults import explain_torch_error
from warpworld.managers.devices import describe_devices

pytestmark = pytest.mark.stand_in


@pytest.fixture
def fresh_driver(stand_in: StandIn, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    """The driver as a process meets it at first: what was found out about it is forgotten."""
    monkeypatch.setattr(cuda_backend, "driver_of", Driver)
    return stand_in


def toy(tmp_path: Path, body: str, num_envs: int = 40, array: Array | None = None) -> World:
    """A reset world of 3 agents an env, whose step has this body."""
    path = tmp_path / "toy.cu"
    path.write_text(
        f'{HEADER}extern "C" __global__ void step(float* x, const int* actions) {{\n  {body}\n}}\n'
        'extern "C" __global__ void reset() {}\n'
    )
    world = World(environment(path, [array or Array("x", "float32", initial=0.0)], [agents(3)]), num_envs)
    world.reset()
    return world


# ---- no GPU that works ----------------------------------------------------------------------------------------------
def test_no_gpu(fresh_driver: StandIn) -> None:
    fresh_driver.inject("cuInit", 100)
    message = r"the NVIDIA driver finds no GPU number 0 that it can use \(cuInit failed: no CUDA-capable device is "
    with pytest.raises(DeviceError, match=message + r"detected\); see the output of nvidia-smi"):
        CudaBackend(HostGpu())


def test_a_gpu_that_is_too_old(fresh_driver: StandIn) -> None:
    fresh_driver.pretend(compute_capability=(6, 1))
    message = r"the GPU stand-in has compute capability 6.1, expected at least 7.0 \(Volta\); use device=cpu"
    with pytest.raises(DeviceError, match=message):
        CudaBackend(HostGpu())


def test_torch_without_cuda() -> None:
    if torch.version.cuda is not None:
        pytest.skip("this torch has CUDA")
    message = rf"torch {re.escape(torch.__version__)} is built without CUDA; install the build for CUDA"
    with pytest.raises(DeviceError, match=message):
        CudaBackend()


def run(tmp_path: Path, text: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run Python text in a process of its own, which has no stand-in."""
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"} | variables
    words = [sys.executable, "-c", text]
    return subprocess.run(words, capture_output=True, text=True, check=False, env=environment, cwd=tmp_path)


def test_no_driver(tmp_path: Path) -> None:
    """PyCUDA is there, but no libcuda."""
    words = "['train', 'cartpole', 'trainer.device=cuda']"
    result = run(tmp_path, f"import sys; from warpworld.cli.main import main; sys.exit(main({words}))")
    assert result.returncode == 2
    assert re.fullmatch(
        r"error: device 'cuda' cannot be used: there is no NVIDIA driver here; install it, or use device=cpu; under "
        r"WSL .* \(libcuda.so.1: .*\)\n",
        result.stderr,
    )


@pytest.mark.parametrize(
    ("hidden", "said"),
    [
        ("pycuda", r'PyCUDA is not installed; run: pip install "warpworld\[cuda\]", or use device=cpu'),
        ("pycuda._driver", r"PyCUDA is not installed; run: pip"),
    ],
)
def test_no_pycuda(hidden: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("pycuda.driver", hidden):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(DeviceError, match=said):
        CudaBackend(HostGpu())


def test_auto_takes_the_cpu_and_says_why(tmp_path: Path) -> None:
    result = run(tmp_path, "import sys; from warpworld.cli.main import main; sys.exit(main(['info']))")
    assert result.returncode == 0
    assert re.search(
        r"device auto: cpu \(\d+ cores\)\ndevice cuda: not usable, there is no NVIDIA driver", result.stdout
    )


def test_the_device_is_described() -> None:
    assert describe_devices()[0] == "device auto: cuda (stand-in, sm_90, driver for CUDA 13.0)"


# ---- compilers ------------------------------------------------------------------------------------------------------
def test_a_driver_older_than_the_toolkit(fresh_driver: StandIn, tmp_path: Path) -> None:
    fresh_driver.pretend(driver_version=12040)
    nvcc = shutil.which("nvcc") or ""
    message = (
        rf"the NVIDIA driver is for CUDA 12.4, nvcc 13.0 \({re.escape(nvcc)}\) is newer: update the driver, "
        "or put a compiler of CUDA 12 on PATH"
    )
    with pytest.raises(DeviceError, match=message):
        toy(tmp_path, "")


def test_a_driver_that_does_not_load_the_code(stand_in: StandIn, tmp_path: Path) -> None:
    stand_in.inject("cuModuleLoadDataEx", 209)
    message = (
        r"the NVIDIA driver \(CUDA 13.0\) does not load what nvcc 13.0 .* made of .*toy.cu for sm_90: .*no kernel "
    )
    with pytest.raises(DeviceError, match=message + "image is available .*; update the driver, or remove /.*cubin"):
        toy(tmp_path, "x[0] += 3.0f;")


def test_an_architecture_that_the_compiler_does_not_know(fresh_driver: StandIn, tmp_path: Path) -> None:
    fresh_driver.pretend(compute_capability=(7, 0))
    message = r"nvcc 13.0 .* knows no sm_70, which this GPU is; install the CUDA toolkit, .* of a version that does"
    with pytest.raises(BuildError, match=message):
        toy(tmp_path, "")


def test_no_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(cuda_compiler, "_nvccs", lambda *places: ())
    monkeypatch.setattr(cuda_compiler, "_nvrtcs", lambda *places: ())
    message = (
        r"no CUDA compiler found \(looked for nvcc on PATH, in \$CUDA_HOME and in the packages of CUDA, and for NVRTC "
        r"beside torch\); install the CUDA toolkit, or run: pip install \"cuda-toolkit\[nvcc,crt,cccl,nvvm\]\""
    )
    with pytest.raises(BuildError, match=message):
        toy(tmp_path, "")


def test_a_kernel_that_does_not_compile(tmp_path: Path) -> None:
    with pytest.raises(
        BuildError, match=rf"{re.escape(str(tmp_path))}/toy.cu:3:\d+: .*nothing_such.*\n  .*nothing_such;.*\n +\^$"
    ):
        toy(tmp_path, "x[0] = nothing_such;")


# ---- kernels that fault ---------------------------------------------------------------------------------------------
def test_a_fault_is_heard_of_later(stand_in: StandIn, tmp_path: Path) -> None:
    world = toy(tmp_path, "if (env_id() == 7) *(float*)8 = 1.0f;")
    message = (
        r"a kernel that was launched before, noticed at the launch of '(step|reset)' \(1 block of 128 threads\): "
        r"it read or wrote memory that is not its own \(an index out of bounds, a "
        r"wrong pointer\) \[cuLaunchKernel failed: an illegal memory access was encountered\]; start again with "
        "WARPWORLD_CUDA_SYNC=1 to find out which: every launch is then waited for"
    )
    with pytest.raises(KernelError, match=message):
        world.step()
        world.step()


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("*(float*)8 = (float)actions[0];", r"it read or wrote memory that is not its own .*illegal memory access"),
        ("assert(x[0] > 1.0f);", r"an assert\(\) in it failed; the assertion is printed above .*device-side assert"),
    ],
)
def test_waiting_names_the_kernel(
    body: str, said: str, stand_in: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WARPWORLD_CUDA_SYNC", "1")
    world = toy(tmp_path, f"if (is_active()) {body}", num_envs=400)
    message = (
        rf"kernel 'step' \(10 blocks of 128 threads\): {said}.*; this process cannot use the GPU any more: start again"
    )
    with pytest.raises(KernelError, match=message):
        world.step()


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (701, r"kernel 'step' \(1 .*\) was not launched: it needs more registers or shared memory than a block can"),
        (702, r"noticed at the launch of 'step' .*: it ran longer than the driver allows on a GPU with a display"),
        (715, r"noticed at the launch of 'step' .*: it executed an illegal instruction"),
        (
            716,
            r"noticed at the launch of 'step' .*: it read or wrote at an address that is not a multiple of the type's",
        ),
        (719, r"noticed at the launch of 'step' .*: it faulted \(a bad pointer, __trap\(\), or a stack that is too"),
        (900, r"kernel 'step' .* was not launched: a CUDA graph that is being captured cannot hold what was done"),
        (999, r"kernel 'step' .* was not launched: the driver refused the launch \[cuLaunchKernel failed: unknown"),
    ],
)
def test_what_the_driver_says(code: int, said: str, stand_in: StandIn, tmp_path: Path) -> None:
    world = toy(tmp_path, "")
    stand_in.inject("cuLaunchKernel", code)
    with pytest.raises(KernelError, match=said):
        world.step()


def test_what_torch_says() -> None:
    told = explain_torch_error(
        RuntimeError("CUDA error: device-side assert triggered\nCUDA kernel errors might be ...")
    )
    assert isinstance(told, KernelError) and "CUDA kernel errors might" not in str(told)
    assert "an assert() in it failed" in str(told) and "WARPWORLD_CUDA_SYNC=1" in str(told)
    full = explain_torch_error(torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.\nmore"))
    said = "the GPU's memory is full (CUDA out of memory. Tried to allocate 2.00 GiB.); ask for fewer envs, shorter"
    assert isinstance(full, DeviceError) and said in str(full)
    assert explain_torch_error(RuntimeError("shape '[3]' is invalid for input of size 4")) is None


# ---- memory ---------------------------------------------------------------------------------------------------------
def test_a_world_that_does_not_fit(stand_in: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    def allocate(self: Any, nbytes: int) -> torch.Tensor:
        raise AssertionError("allocated")

    stand_in.pretend(memory_bytes=32 << 20)
    monkeypatch.setattr(HostGpu, "allocate", allocate)
    world = warpworld.make("cartpole", num_envs=1_000_000)
    message = (
        r"no memory for 83.0 MB of arrays \(state 15.3 MB, observations 15.3 MB, random_key 7.6 MB, clock 7.6 MB, .* "
        r"8 others 21.9 MB\); 32.0 MB are free, and num_envs=1000000 needs more: num_envs=38\d{4} would fit"
    )
    with pytest.raises(StoreError, match=message):
        world.reset()


def test_who_waits_for_launches_captures_nothing(stand_in: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARPWORLD_CUDA_SYNC", "1")
    world = warpworld.make("cartpole", num_envs=3)
    world.reset()
    assert world.capture(world.step) == world.step
    before = stand_in.calls("cuCtxSynchronize")
    world.step()
    assert stand_in.calls("cuCtxSynchronize") == before + 3  # once before, and after each of two launches


def test_the_variable_says_yes_or_no(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARPWORLD_CUDA_SYNC", "false")
    with pytest.raises(DeviceError, match=r"WARPWORLD_CUDA_SYNC='false': expected 0 or 1"):
        CudaBackend(HostGpu())


def test_a_fault_on_a_stream_of_the_user_s(stand_in: StandIn, tmp_path: Path) -> None:
    world = toy(tmp_path, "")
    stand_in.inject("cuLaunchKernel", 719)
    gpu = world._backend._gpu  # type: ignore[attr-defined]
    with pytest.raises(KernelError, match="noticed at the launch of 'step'"):
        gpu.on_stream(12345, world.step)


def test_a_fault_from_before_the_first_launch_that_is_waited_for(
    stand_in: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WARPWORLD_CUDA_SYNC", "1")
    world = toy(tmp_path, "")
    stand_in.inject("cuCtxSynchronize", 700)
    with pytest.raises(KernelError, match="a kernel that was launched before: it read or wrote memory"):
        world.step()


def test_a_compiler_that_is_too_new_is_passed_over(fresh_driver: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    found = (Nvcc, Path("/new/nvcc"), (13, 0)), (Nvcc, Path("/old/nvcc"), (12, 8))
    monkeypatch.setattr(cuda_compiler, "_nvccs", lambda *places: found)
    assert cuda_compiler.find_cuda_compiler(newest=(12, 4)).path == Path("/old/nvcc")  # minor versions get along
    assert cuda_compiler.find_cuda_compiler(newest=(13, 0)).path == Path("/new/nvcc")
    assert cuda_compiler.find_cuda_compiler().path == Path("/new/nvcc")
