"""PyCUDA on the stand-in driver, and kernels that the stand-in nvcc has compiled."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.stand_in.driver import HERE, StandIn

Load = Callable[..., Any]


def nvcc(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the stand-in for nvcc."""
    return subprocess.run([HERE / "nvcc", *words], capture_output=True, text=True, check=False)


@pytest.fixture(scope="session")
def context() -> Iterator[None]:
    """One for the process: PyCUDA leaves a context that it releases on the driver's stack."""
    import pycuda.driver

    pycuda.driver.init()
    context = pycuda.driver.Device(0).retain_primary_context()
    context.push()
    yield
    context.pop()


@pytest.fixture
def drv(stand_in: StandIn, context: None) -> Any:
    """``pycuda.driver`` with a context."""
    import pycuda.driver

    return pycuda.driver


@pytest.fixture
def load(drv: Any, tmp_path: Path) -> Load:
    """Compiles a CUDA text and loads it."""

    def load(text: str, arch: str = "sm_90", flags: Sequence[str] = ()) -> Any:
        source, cubin = tmp_path / "kernels.cu", tmp_path / "kernels.cubin"
        source.write_text(text)
        result = nvcc("-cubin", f"-arch={arch}", "-O3", "-lineinfo", *flags, "-o", cubin, source)
        assert result.returncode == 0, result.stderr
        return drv.module_from_buffer(cubin.read_bytes())

    return load
