"""PyCUDA on the stand-in driver, and kernels that the stand-in nvcc has compiled."""

from __future__ import annotations

import functools
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


def build(text: str, folder: Path, arch: str = "sm_90", flags: Sequence[str] = ()) -> bytes:
    """What the stand-in nvcc makes of a CUDA text, which is written into ``folder``."""
    source, cubin = folder / "kernels.cu", folder / "kernels.cubin"
    source.write_text(text)
    result = nvcc("-cubin", f"-arch={arch}", "-O3", "-lineinfo", *flags, "-o", cubin, source)
    assert result.returncode == 0, result.stderr
    return cubin.read_bytes()


@pytest.fixture
def load(drv: Any, tmp_path: Path) -> Load:
    """Compiles a CUDA text and loads it."""
    return lambda text, arch="sm_90": drv.module_from_buffer(build(text, tmp_path, arch))


@pytest.fixture(scope="session")
def build_once(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., bytes]:
    """Compiles a CUDA text with a tuple of flags, unless a test before did."""
    return functools.cache(lambda text, flags: build(text, tmp_path_factory.mktemp("kernels"), flags=flags))


@pytest.fixture
def load_anew(drv: Any, build_once: Callable[..., bytes]) -> Load:
    """Loads a CUDA text as a module of its own, compiled once."""
    return lambda text, *flags: drv.module_from_buffer(build_once(text, flags))
