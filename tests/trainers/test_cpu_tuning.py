"""Settings of the whole process; each test puts back what it found."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
import torch

from warpworld.trainers import cpu_tuning
from warpworld.trainers.cpu_tuning import keep_freed_memory, quick_products, tune_for_cpu

pytestmark = pytest.mark.cpu_backend


@pytest.fixture(autouse=True)
def precision() -> Iterator[None]:
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    yield
    torch.set_float32_matmul_precision(before)


def test_products_stay_exact() -> None:
    if quick_products():
        assert torch.get_float32_matmul_precision() == "medium"
    else:
        assert torch.get_float32_matmul_precision() == "highest"
    generator = torch.Generator().manual_seed(1)
    a, b = torch.randn(300, 80, generator=generator), torch.randn(80, 50, generator=generator)
    exact = a.double() @ b.double()
    assert ((a @ b) - exact).norm() / exact.norm() < 1e-6


def test_a_processor_that_rounds_keeps_its_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.nn.functional, "linear", lambda x, weight: (x.bfloat16() @ weight.bfloat16().t()).float())
    assert not quick_products()
    assert torch.get_float32_matmul_precision() == "highest"


@pytest.mark.parametrize(("device", "tunes"), [("cpu", True), ("cuda:0", False)])
def test_a_gpu_is_left_alone(device: str, tunes: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """There the setting would round products to TF32."""
    called: list[str] = []
    for name in ("quick_products", "keep_freed_memory"):
        monkeypatch.setattr(cpu_tuning, name, lambda name=name: called.append(name))
    tune_for_cpu(torch.device(device))
    assert called == (["quick_products", "keep_freed_memory"] if tunes else [])


def test_a_c_library_without_mallopt_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    assert not keep_freed_memory()


@pytest.mark.heavy
@pytest.mark.long
def test_freed_memory_is_kept() -> None:
    """In a process of its own: page faults of allocating 8 times 16 MiB again and again."""
    program = (
        "import resource, sys, torch\n"
        "from warpworld.trainers.cpu_tuning import keep_freed_memory\n"
        "told = sys.argv[1] == 'told' and keep_freed_memory()\n"
        "faults = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_minflt\n"
        "for _ in range(10): [torch.ones(4 << 20) for _ in range(8)]\n"
        "before = faults()\n"
        "for _ in range(10): [torch.ones(4 << 20) for _ in range(8)]\n"
        "print(int(told), faults() - before)\n"
    )
    # glibc's own default, but said: else it may raise its limits by itself, as the order of frees will have it
    environment = {**os.environ, "MALLOC_TRIM_THRESHOLD_": str(128 << 10)}
    results = {}
    for how in ("told", "not told"):
        command = [sys.executable, "-c", program, how]
        told, faults = subprocess.run(
            command, capture_output=True, text=True, check=True, env=environment
        ).stdout.split()
        results[how] = int(faults)
        if how == "told" and told == "0":
            pytest.skip("not glibc")
    assert results["told"] < 1000 < results["not told"]


@pytest.mark.long
def test_importing_sets_nothing() -> None:
    program = "import torch; b = torch.get_float32_matmul_precision(); import warpworld.trainers.trainer as t; "
    program += "assert torch.get_float32_matmul_precision() == b == 'highest'"
    subprocess.run([sys.executable, "-c", program], check=True)
