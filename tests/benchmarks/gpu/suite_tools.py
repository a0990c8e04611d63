"""Parts for the suite that gpu_parts.py has, and processes that they leave."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.gpu.part import Part

ROOT = Path(__file__).resolve().parents[3]


def part(name: str, **options: Any) -> Part:
    """The part that runs a function of gpu_parts.py."""
    function = f"tests.benchmarks.gpu.gpu_parts:{name}"
    return Part(name, name, function, 60, environment={"PYTHONPATH": str(ROOT)}, **options)


def alive(process: int) -> bool:
    """Whether a process runs; one that has ended and is not waited for does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
