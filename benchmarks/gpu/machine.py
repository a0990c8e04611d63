"""The machine on which the figures are measured."""

from __future__ import annotations

import importlib.metadata
import shutil
import subprocess
from typing import Any

import torch

from .part import Context, SkippedError

PACKAGES = ("torch", "numpy", "pycuda", "gymnasium", "rl-warp-drive", "jax", "gymnax")
QUERY = ("driver_version", "clocks.max.sm", "clocks.max.memory", "power.limit", "persistence_mode")


def report(context: Context) -> None:
    """Device, driver, CUDA, versions."""
    context.report(packages={name: version for name in PACKAGES if (version := _version(name))}, nvcc=_nvcc())
    context.report(float32_matmul_precision=torch.get_float32_matmul_precision(), cuda_of_torch=torch.version.cuda)
    if context.device == "cpu":
        context.report(device="cpu", headline="cpu")
        return
    if not torch.cuda.is_available():
        raise SkippedError("torch sees no CUDA device")
    about = torch.cuda.get_device_properties(0)
    context.report(
        device=about.name,
        compute_capability=f"{about.major}.{about.minor}",
        multiprocessors=about.multi_processor_count,
        memory_gib=round(about.total_memory / 2**30, 1),
        gpu=_nvidia_smi(),
        headline=f"{about.name}, torch {torch.__version__}",
    )


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _nvcc() -> str | None:
    lines = _output(["nvcc", "--version"]).splitlines()
    return next((line.strip() for line in lines if "release" in line), None)


def _nvidia_smi() -> dict[str, Any]:
    line = _output(["nvidia-smi", f"--query-gpu={','.join(QUERY)}", "--format=csv,noheader"])
    return dict(zip(QUERY, (field.strip() for field in line.partition("\n")[0].split(",")), strict=False))


def _output(command: list[str]) -> str:
    if shutil.which(command[0]) is None:
        return ""
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=20).stdout
