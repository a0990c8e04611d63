"""The learning curves of teams: a panel a task, a line an algorithm, its seeds as a band."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from warpworld.drawing.figures import figure
from warpworld.drawing.palette import SERIES

from .summary import Runs
from .tasks import ALGORITHMS, TASKS

POINTS = 60  # of a line
PER_ROW = 2  # panels, so that they can be read on a phone


def draw(results: Runs, path: Path) -> None:
    """Draw means over seeds against env steps, and the range from the least seed to the best."""
    rows = -(-len(results) // PER_ROW)
    with figure(path, 3.4 * PER_ROW, 2.8 * rows, dpi=150) as drawn:
        axes = drawn.subplots(rows, PER_ROW, squeeze=False).flat
        for axis in list(axes)[len(results) :]:
            axis.set_visible(False)
        for axis, (task, found) in zip(drawn.axes, results.items(), strict=False):
            about = TASKS[task]
            for algorithm, runs in found.items():
                colour = SERIES[ALGORITHMS.index(algorithm)]
                steps = np.linspace(0, about.env_steps, POINTS + 1)[1:]
                values = np.array([_values(run["curve"], about.curve, steps) for run in runs])
                axis.plot(steps / 1e6, values.mean(0), color=colour, linewidth=1.4, label=algorithm.upper())
                axis.fill_between(steps / 1e6, values.min(0), values.max(0), color=colour, alpha=0.2, linewidth=0)
            axis.set(title=task, ylabel=f"{about.measures}, exploring", xlabel="million env steps")
        drawn.axes[0].legend()


def _values(curve: list[Any], metric: str, steps: Any) -> Any:
    """The curve at ``steps``, straight between its points."""
    points = [(step, values[metric]) for _, step, values in curve if values[metric] is not None]
    return np.interp(steps, [step for step, _ in points], [value for _, value in points])
