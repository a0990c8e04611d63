"""The cpu backend before any kernel runs: how many workers, and where it can be."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from warpworld.errors import DeviceError
from warpworld.managers.cpu import backend as cpu_backend
from warpworld.managers.cpu import workers as cpu_workers
from warpworld.managers.cpu.backend import CpuBackend
from warpworld.managers.cpu.workers import MAX_WORKERS, available_cores

pytestmark = pytest.mark.cpu_backend


@pytest.mark.parametrize(
    ("quota", "cores"),
    [("150000 100000", 2), ("50000 100000", 1), ("800000 100000", 8), ("max 100000", 12), ("nonsense", 12), (None, 12)],
)
def test_cores_of_a_container(quota: str | None, cores: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(12)))
    monkeypatch.setattr(cpu_workers, "CPU_QUOTA", tmp_path / "cpu.max")
    if quota is not None:
        (tmp_path / "cpu.max").write_text(quota + "\n")
    assert available_cores() == cores


def test_a_worker_per_core(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu_backend, "available_cores", lambda: 7)
    assert CpuBackend().num_workers == 7
    assert CpuBackend(3).num_workers == 3
    monkeypatch.setattr(cpu_backend, "available_cores", lambda: 1000)
    assert CpuBackend().num_workers == MAX_WORKERS


@pytest.mark.parametrize("workers", [0, -1, MAX_WORKERS + 1, 1.5, "two"])
def test_impossible_numbers_of_workers(workers: Any) -> None:
    with pytest.raises(DeviceError, match=rf"num_workers={workers!r}: expected 1 to {MAX_WORKERS}"):
        CpuBackend(workers)


def test_other_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(DeviceError, match="the cpu backend runs on Linux, not on darwin"):
        CpuBackend()


def test_blocks_start_at_a_page() -> None:
    block = CpuBackend(1).allocate(1000)
    assert block.numel() == 1000
    assert block.data_ptr() % 4096 == 0
    assert not block.any()
