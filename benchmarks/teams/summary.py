"""What the runs say together: per task, and over all tasks, by interquartile means with bootstrap intervals.

Agarwal et al., "Deep Reinforcement Learning at the Edge of the Statistical Precipice", arXiv:2108.13264: scores are
normalised by task, 0 being random play and 1 the best run of any algorithm; the interval of the interquartile mean over
all tasks draws seeds again within each task.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from warpworld.runs.metrics.intervals import LEVEL, Values, bootstrap_interval, mean, stratified_interval

from .tasks import TASKS

Runs = Mapping[str, Mapping[str, Sequence[Mapping[str, Any]]]]  # by task and algorithm, one for each seed


def scores(runs: Sequence[Mapping[str, Any]]) -> Values:
    """[seeds]: what each run has earned at the end."""
    return np.array([run["figures"]["score"] for run in runs], np.float64)


def normalised(results: Runs, at_random: Mapping[str, float]) -> dict[str, Values]:
    """By algorithm [tasks, seeds]: 0 is random play, 1 the best run of any algorithm.

    Args:
        results: every algorithm with as many seeds on every task.
        at_random: the score of random play by task.
    """
    best = {task: max(scores(runs).max() for runs in found.values()) for task, found in results.items()}
    algorithms = next(iter(results.values()))
    return {
        algorithm: np.stack(
            [
                (scores(found[algorithm]) - at_random[task]) / (best[task] - at_random[task])
                for task, found in results.items()
            ]
        )
        for algorithm in algorithms
    }


def print_summary(results: Runs, at_random: Mapping[str, float]) -> None:
    """A table of the tasks, and a line of each algorithm over those that all have learnt from as many seeds."""
    console = Console()
    table = Table("task", "env steps", "algorithm", "scores", "mean", f"{LEVEL:.0%} interval", "CPU s", box=None)
    for task, found in results.items():
        about = TASKS[task]
        table.add_row(f"{task}: {about.measures}", f"{about.env_steps:,}", "random", "", _short(at_random[task]))
        for algorithm, runs in found.items():
            values = scores(runs)
            interval = _interval(*map(float, bootstrap_interval(values, mean))) if len(values) > 1 else ""
            spent = f"{np.mean([run['figures']['cpu_seconds'] for run in runs]):.0f}"
            table.add_row("", "", algorithm, ", ".join(map(_short, values)), _short(values.mean()), interval, spent)
    console.print(table, soft_wrap=True)
    complete = _complete(results)
    if complete:
        together = Table(f"{', '.join(complete)}: normalised", "interquartile mean", f"{LEVEL:.0%} interval", box=None)
        for algorithm, values in normalised(complete, at_random).items():
            middle, low, high = stratified_interval(list(values))
            together.add_row(algorithm, _short(middle), _interval(low, high))
        console.print(together, soft_wrap=True)


def _complete(results: Runs) -> Runs:
    """The tasks that all algorithms have learnt from as many seeds."""
    algorithms = {algorithm for found in results.values() for algorithm in found}
    seeds = max(len(runs) for found in results.values() for runs in found.values())
    return {
        task: found
        for task, found in results.items()
        if set(found) == algorithms and {len(runs) for runs in found.values()} == {seeds}
    }


def _interval(low: float, high: float) -> str:
    return f"{_short(low)} to {_short(high)}"


def _short(value: float) -> str:
    return f"{value:.3g}"
