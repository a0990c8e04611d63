"""What `pytest --stand-in` and `pytest --device cuda` change: worlds that a test makes on "cpu" or "auto" are the cuda
backend's, on the stand-in driver and host memory, or on the GPU.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
from collections.abc import Callable

import pytest

import warpworld.managers.backend
import warpworld.world.world
from tests.stand_in.driver import HERE, StandIn, sources
from warpworld.managers.backend import Backend, open_backend


def _put_in_place(open_instead: Callable[[str, int | None], Backend]) -> None:
    for module in (warpworld.managers.backend, warpworld.world.world):
        assert module.open_backend is open_backend, f"{module.__name__} takes its backend from elsewhere now"
        module.open_backend = open_instead  # type: ignore[attr-defined]


def use_gpu() -> None:
    """Worlds are on the GPU."""

    def on_gpu(device: str = "auto", num_workers: int | None = None) -> Backend:
        return open_backend("cuda" if device == "cpu" else device, num_workers)

    _put_in_place(on_gpu)


def use_stand_in(as_cuda: bool = False) -> StandIn:
    """Worlds are on the cuda backend, whose driver is the stand-in.

    What its nvcc compiles is kept apart from what a real one does.

    Args:
        as_cuda: whether torch is to take host memory for a GPU's.
    """
    if importlib.util.find_spec("pycuda") is None:
        raise pytest.UsageError("--stand-in needs PyCUDA, which is not installed: make cuda-tools")
    driver = StandIn()
    version = hashlib.sha256(b"".join(sources())).hexdigest()[:12]
    os.environ["WARPWORLD_CACHE"] = os.path.join(os.environ["WARPWORLD_CACHE"], f"stand-in-{version}")
    os.environ["PATH"] = f"{HERE}{os.pathsep}{os.environ.get('PATH', '')}"

    import pycuda.driver

    from tests.stand_in.as_cuda import make_on_gpu
    from tests.stand_in.host_gpu import HostGpu
    from tests.stand_in.recorded_graph import keep_captured_launches
    from warpworld.managers.cuda.backend import CudaBackend

    keep_captured_launches(pycuda.driver.Function)

    def on_stand_in(device: str = "auto", num_workers: int | None = None) -> Backend:
        if device in ("cpu", "auto"):
            return CudaBackend(HostGpu(as_cuda))
        return open_backend(device, num_workers)

    if as_cuda:
        make_on_gpu()
    _put_in_place(on_stand_in)
    return driver
