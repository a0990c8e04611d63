"""What `pytest --stand-in` and `pytest --device cuda` change: worlds that a test makes on "cpu" or "auto" are the cuda
backend's, on the stand-in driver and host memory, or on the GPU.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import shlex
from pathlib import Path

import pytest

from tests.cuda.quick_nvcc import nvrtc_flags, quick_flags
from tests.stand_in.driver import HERE, StandIn, sources
from warpworld.managers.build_cache import cache_folder
from warpworld.managers.cuda.compiler import _nvccs, _nvrtcs
from warpworld.managers.devices import open_backend, register_device

REAL_NVCC, REAL_FLAGS, FRONT_END = "STAND_IN_REAL_NVCC", "STAND_IN_REAL_FLAGS", "STAND_IN_NVRTC"


def use_gpu() -> None:
    """Worlds are on the GPU."""
    register_device("cpu", lambda num_workers: open_backend("cuda", num_workers))


def _folder_with_nvcc(version: str) -> Path:
    """A folder, named by all that the stand-in's nvcc is made of, whose ``nvcc`` is the stand-in."""
    folder = cache_folder() / f"stand-in-{version}"
    folder.mkdir(parents=True, exist_ok=True)
    link = folder / "nvcc"
    if not link.exists():  # or the checkout that it led to is gone
        link.unlink(missing_ok=True)
    with contextlib.suppress(FileExistsError):  # by another run of the tests
        link.symlink_to(HERE / "nvcc")
    return folder


def front_end(version: tuple[int, int]) -> str:
    """Place and flags of the NVRTC of an nvcc's version; empty where there is none."""
    for kind, path, its_version in _nvrtcs(os.environ.get("CUDA_HOME", "")):
        if its_version == version and path.name.startswith("libnvrtc.so"):
            return shlex.join([str(path), *kind(path, version).all_flags(), *nvrtc_flags(version)])
    return ""


def use_stand_in(as_cuda: bool = False, exhaustive: bool = False) -> StandIn:
    """Worlds are on the cuda backend, whose driver is the stand-in.

    All kernels lie in one cache, those of the cpu backend and of other stages of the tests, too: the place of a
    compiler is part of what names its results, and that of the stand-in's nvcc names what it is made of. Where there
    is a real one, it must compile all of it too, but for texts that differ from an earlier one in small numbers. No
    other kernel that these tests build is compiled for a GPU for the first time on a machine that has one. Where NVRTC
    is here, too, a push asks nvcc for what NVRTC does not take and for what needs ptxas.

    Args:
        as_cuda: whether torch is to take host memory for a GPU's.
        exhaustive: ask nvcc for all.
    """
    if importlib.util.find_spec("pycuda") is None:
        raise pytest.UsageError("--stand-in needs PyCUDA, which is not installed: make cuda-tools")
    driver = StandIn()
    if REAL_NVCC not in os.environ:  # else this is a worker of pytest-xdist, which has been given all of them
        nvcc = next(iter(_nvccs(os.environ.get("PATH", ""), os.environ.get("CUDA_HOME", ""))), None)
        os.environ[FRONT_END] = front_end(nvcc[2]) if nvcc and not exhaustive else ""
        asked = repr((nvcc, os.environ[FRONT_END])).encode()
        version = hashlib.sha256(b"".join([*sources(), asked])).hexdigest()[:12]
        os.environ[REAL_NVCC] = str(nvcc[1]) if nvcc else ""
        os.environ[REAL_FLAGS] = " ".join(quick_flags(nvcc[2])) if nvcc else ""
        os.environ["PATH"] = f"{_folder_with_nvcc(version)}{os.pathsep}{os.environ.get('PATH', '')}"

    import pycuda.driver

    from tests.stand_in.as_cuda import make_on_gpu
    from tests.stand_in.host_gpu import HostGpu
    from tests.stand_in.recorded_graph import keep_captured_launches, refuse_other_optimisers
    from tests.stand_in.streams import STREAMS
    from warpworld.managers.cuda.backend import CudaBackend

    keep_captured_launches(pycuda.driver.Function, STREAMS.launch)
    refuse_other_optimisers()

    if as_cuda:
        make_on_gpu()
    for name in ("cpu", "cuda"):
        register_device(name, lambda num_workers: CudaBackend(HostGpu(as_cuda)))
    return driver
