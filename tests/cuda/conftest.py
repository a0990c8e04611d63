"""What tests that compile for GPUs share."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cuda.gpu_compilers import (
    OFTEN,
    SELDOM,
    compile_for,
    compile_with_nvrtc,
    known,
    needs_nvcc,
    needs_nvrtc,
)
from warpworld.managers.cpu.backend import CpuBackend
from warpworld.managers.kernel_source import KernelSource, cuda_entry

# With NVRTC, which has nvcc's front end, the first case of each of these runs in each push; all where there is no nvcc.
FIRST_WITH_NVRTC = (
    *("test_environments", "test_policies_that_act_in_a_kernel", "test_blocks", "test_gradients_of_perceptrons"),
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave other cases with NVRTC to ``make exhaustive``."""
    seen = set[str]()
    for item in items if shutil.which("nvcc") else ():
        name, _, case = item.name.partition("[")
        if name in FIRST_WITH_NVRTC and "NVRTC" in case:
            if name in seen:
                item.add_marker(pytest.mark.exhaustive)
            seen.add(name)


@pytest.fixture
def sources(monkeypatch: pytest.MonkeyPatch) -> list[KernelSource]:
    """What worlds ask their backend to build; nothing is built but what a declaration's floor plans need."""
    asked: list[KernelSource] = []
    real = CpuBackend.build

    def build(self: CpuBackend, source: KernelSource) -> Any:
        asked.append(source)
        return real(self, source) if source.path.name in ("bake.cu", "sights.cu", "ways.cu") else None

    monkeypatch.setattr(CpuBackend, "build", build)
    return asked


WITH_NVCC = [
    pytest.param(OFTEN, id="nvcc", marks=needs_nvcc),
    pytest.param(SELDOM, id="nvcc, other architectures", marks=[needs_nvcc, pytest.mark.exhaustive]),
]


@pytest.fixture(params=[*WITH_NVCC, pytest.param(None, id="NVRTC", marks=needs_nvrtc)])
def check(
    request: pytest.FixtureRequest, tmp_path: Path, record_property: Callable[[str, object], None]
) -> Callable[[KernelSource], None]:
    """Compiles a source with NVRTC, or with nvcc for some architectures."""
    return compile_with_nvrtc if request.param is None else nvcc_for(request.param, tmp_path, record_property)


@pytest.fixture(params=WITH_NVCC)
def check_with_nvcc(
    request: pytest.FixtureRequest, tmp_path: Path, record_property: Callable[[str, object], None]
) -> Callable[[KernelSource], None]:
    """Compiles a source with nvcc for some architectures."""
    return nvcc_for(request.param, tmp_path, record_property)


def nvcc_for(
    architectures: tuple[int, ...], tmp_path: Path, record_property: Callable[[str, object], None]
) -> Callable[[KernelSource], None]:
    """A check that compiles for ``architectures``, adds a source to the summary's table, and refuses spills."""

    def check(source: KernelSource) -> None:
        numbers = known(architectures)
        usage = compile_for(source, tmp_path, numbers)
        packing = f"{source.envs_per_warp}/warp" if source.envs_per_warp else "1/block"
        agents = source.constants["NUM_AGENTS"]
        for signature in source.signatures:
            of_kernel = {number: usage[cuda_entry(signature.name), f"sm_{number}"] for number in sorted(numbers)}
            row = (f"{source.path.name}: {signature.name}", f"{agents} agents, {packing}")
            record_property("kernel_usage", [*row, *(f"sm_{number}: {used}" for number, used in of_kernel.items())])
        assert not [f"{kernel} on {sm}: {used}" for (kernel, sm), used in usage.items() if used.spilled]

    return check
