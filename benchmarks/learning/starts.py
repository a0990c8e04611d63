"""How long ``warpworld train CONFIG`` takes to the end of its first update, with kernels in the cache."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from ..rows import StartRow

CONFIGS = "cartpole", "tag_gridworld"
REPEATS = 5
PATIENCE = 600.0  # seconds, for kernels that are yet to be built


def rows(cores: int) -> Iterator[StartRow]:
    """Measure each config on the cores that this process may use."""
    for config in CONFIGS:
        _started(config)  # which fills the cache
        walls, cpus = zip(*(_started(config) for _ in range(REPEATS)), strict=True)
        middle = statistics.median(walls)
        yield StartRow(config, cores, middle, statistics.median(cpus), (max(walls) - min(walls)) / middle)


def _started(config: str) -> tuple[float, float]:
    """Seconds of wall time and of CPU time until a process has logged the first update; then it is ended."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        command = [sys.executable, "-m", "warpworld", "train", config, "--run", str(run), "trainer.device=cpu"]
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            while not _has_logged(run / "metrics.jsonl"):
                if process.poll() is not None or time.perf_counter() - start > PATIENCE:
                    raise RuntimeError(f"{' '.join(command)}: no update was logged")
                time.sleep(0.001)
            return time.perf_counter() - start, cpu_seconds(process.pid)
        finally:
            process.kill()
            process.wait()


def _has_logged(path: Path) -> bool:
    return path.exists() and path.stat().st_size > 0


def cpu_seconds(pid: int) -> float:
    """Of a process and of the children that it has waited for, from Linux's ``/proc``."""
    columns = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, columns[11:15])) / os.sysconf("SC_CLK_TCK")
