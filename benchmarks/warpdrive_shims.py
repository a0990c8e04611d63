"""What WarpDrive 2.7.1 needs to run beside a present torch, NumPy and CUDA.

It is used as it was published; what is said here happens around it, at run time, and none of it is in what is timed.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

PACKAGES = ("warp_drive", "example_envs")  # what the distribution rl-warp-drive holds
HEAP_BYTES = 512 * 2**20  # of the device; 8 MB are CUDA's default


def is_installed() -> bool:
    """Whether rl-warp-drive can be imported."""
    return all(importlib.util.find_spec(name) is not None for name in PACKAGES)


def prepare() -> list[str]:
    """Make it importable, before anything of it is imported. Returns what was done, in words."""
    return [said for step in (_copy, _gym, _curand) if (said := step())]


def raise_heap_limit() -> str:
    """Room for its random states, once its context is there and before its kernels are.

    Each agent's state is allocated by itself on the device's heap, whose default size ends at some 100,000 agents.
    """
    driver = importlib.import_module("pycuda.driver")
    try:
        driver.Context.set_limit(driver.limit.MALLOC_HEAP_SIZE, HEAP_BYTES)
    except driver.Error as error:
        return f"the device's heap is as it was: {error}"
    return f"the device's heap has {HEAP_BYTES >> 20} MB, for a random state per agent"


def remember_first_observation(wrapper: Any) -> str:
    """Let the Python env make its first observation once instead of once per env; its start is the same for all."""
    first = wrapper.obs_at_reset()
    wrapper.obs_at_reset = lambda: first
    return "the observation at the start is made once, not once per env"


def _copy() -> str:
    """A copy of the package in a folder of its own: it writes sources and binaries into its own folder."""
    folder = Path(tempfile.mkdtemp(prefix="warpdrive-"))
    for name in PACKAGES:
        spec = importlib.util.find_spec(name)
        assert spec is not None and spec.submodule_search_locations
        shutil.copytree(spec.submodule_search_locations[0], folder / name)
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    return "runs from a copy, since it builds inside its own package"


def _gym() -> str:
    """The package gym does not support NumPy 2; of it only the spaces are used, which gymnasium has."""
    gymnasium = importlib.import_module("gymnasium")
    sys.modules["gym"], sys.modules["gym.spaces"] = gymnasium, gymnasium.spaces
    return "gymnasium's spaces stand for gym's"


def _curand() -> str:
    """nvcc finds curand_kernel.h, which toolkits may lack, where NVIDIA's wheels put it."""
    nvcc = shutil.which("nvcc")
    own = [Path(nvcc).resolve().parents[1] / "include"] if nvcc else []
    if any((folder / "curand_kernel.h").is_file() for folder in own):
        return ""
    for root in map(Path, sys.path):
        for header in sorted(root.glob("nvidia/*/include/curand_kernel.h")):
            flags = os.environ.get("NVCC_APPEND_FLAGS", "")
            os.environ["NVCC_APPEND_FLAGS"] = f"{flags} -I{header.parent}".strip()
            return "cuRAND's headers are those of NVIDIA's wheel"
    raise FileNotFoundError("curand_kernel.h, which its sampler includes: pip install nvidia-curand")
