"""How soon CartPole is solved, from the command's start.

``python -m benchmarks.solving [CONFIG ...] [--seeds 20] [--first-seed 2001]`` runs ``warpworld train CONFIG`` once for
each seed, one after the other, and follows the metrics that it writes. It prints when the mean return of the last 100
episodes of the training, with actions as they are drawn, first reached 475, in seconds since the process was started,
and when the command ended. CPU seconds are of all threads, and hardly depend on what else the machine does.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from .experiments.cartpole import SOLVED
from .experiments.recent_return import RecentReturn
from .learning.starts import cpu_seconds

CONFIGS = ("cartpole", "cartpole_fast")
FIRST_SEED = 2001  # no setting was chosen by this seed and those behind it
POLL_SECONDS = 0.001


@dataclass(frozen=True)
class Solved:
    """A command's way to 475; NaN where it did not get there.

    Attributes:
        seed: of the run.
        env_steps: until then.
        seconds: of wall time until then, from the start of the process.
        cpu_seconds: of all its threads until then.
        ended: seconds of wall time to the end of the process.
        ended_cpu: CPU seconds of the whole process.
    """

    seed: int
    env_steps: float
    seconds: float
    cpu_seconds: float
    ended: float
    ended_cpu: float


def main(argv: Sequence[str] | None = None) -> None:
    """Run the commands, and print a table of each config."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.solving", description=__doc__)
    parser.add_argument("configs", nargs="*", metavar="CONFIG", default=list(CONFIGS), help="of cartpole")
    parser.add_argument("--seeds", type=int, default=20, help="how many (default: 20)")
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED, help=f"the first (default: {FIRST_SEED})")
    given = parser.parse_args(argv)
    solved(given.configs[0], 1)  # which fills the cache of kernels
    for config in given.configs:
        print_rows(config, [solved(config, given.first_seed + i) for i in range(given.seeds)])


def solved(config: str, seed: int) -> Solved:
    """Run a command to its end."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        command = [sys.executable, "-m", "warpworld", "train", config, "--run", str(run), f"trainer.seed={seed}"]
        start = time.perf_counter()
        process = subprocess.Popen([*command, "trainer.device=cpu"], stdout=subprocess.DEVNULL)
        env_steps = seconds = cpu = float("nan")
        recent = RecentReturn()
        for metrics in _followed(run / "metrics.jsonl", process):
            if seconds != seconds and (recent.after(metrics) or 0.0) >= SOLVED:
                env_steps, seconds = float(metrics["env_steps"]), time.perf_counter() - start
                cpu = cpu_seconds(process.pid)
        ended, ended_cpu = time.perf_counter() - start, cpu_seconds(process.pid)
        process.wait()
    return Solved(seed, env_steps, seconds, cpu, ended, ended_cpu)


def print_rows(config: str, rows: Sequence[Solved]) -> None:
    """A line for each seed, then medians."""
    names = [field.name.replace("_", " ") for field in fields(Solved)]
    table = Table(box=None, title=f"{config}: {sum(row.seconds == row.seconds for row in rows)} of {len(rows)} solved")
    for name in names:
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(*(_shown(value) for value in astuple(row)))
    columns = [[astuple(row)[i] for row in rows] for i in range(1, len(names))]
    table.add_row("median", *(_shown(_median(column)) for column in columns))
    Console().print(table)


def _median(column: Sequence[float]) -> float:
    """The median, where a command that did not get there comes last."""
    return statistics.median(float("inf") if value != value else value for value in column)


def _shown(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"


def _followed(path: Path, process: subprocess.Popen[bytes]) -> Iterator[dict[str, Any]]:
    """Lines of a file that a process writes, as soon as they are there, until it has ended."""
    held, position = b"", 0
    while True:
        is_over = _has_ended(process)
        if path.exists():
            with path.open("rb") as file:
                file.seek(position)
                new = file.read()
            position += len(new)
            *lines, held = (held + new).split(b"\n")
            yield from map(json.loads, lines)
        if is_over:
            return
        time.sleep(POLL_SECONDS)


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Whether a process has ended; Linux keeps its CPU seconds until it is waited for."""
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


if __name__ == "__main__":
    main()
