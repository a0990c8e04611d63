"""The curves of the learning experiments as a picture: one panel a metric, one line a seed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from warpworld.drawing.figures import figure
from warpworld.drawing.palette import SERIES

PER_ROW = 2  # panels, so that they can be read on a phone


def draw(axes: Mapping[str, Mapping[str, str]], results: Mapping[str, list[dict[str, Any]]], path: Path) -> None:
    """Draw against wall time.

    Args:
        axes: for each experiment, metric -> what its axis says.
        results: for each experiment, what ``run_seed`` gave for each seed.
        path: the PNG.
    """
    panels = [(name, metric, unit) for name, metrics in axes.items() for metric, unit in metrics.items()]
    rows = -(-len(panels) // PER_ROW)
    with figure(path, 3.4 * min(len(panels), PER_ROW), 2.8 * rows, dpi=150) as drawn:
        places = drawn.subplots(rows, min(len(panels), PER_ROW), squeeze=False).flat
        for axis in list(places)[len(panels) :]:
            axis.set_visible(False)
        for axis, (name, metric, unit) in zip(drawn.axes, panels, strict=False):
            for run, colour in zip(results[name], SERIES, strict=False):
                points = [(time, found[metric]) for time, _, found in run["curve"] if found[metric] is not None]
                times, values = ([point[i] for point in points] for i in (0, 1))
                axis.plot(times, values, color=colour, linewidth=1.2, label=f"seed {run['seed']}")
            several = len(axes[name]) > 1  # then the titles say which is which
            axis.set(title=f"{name}: {metric.split('/')[1]}" if several else name, ylabel=unit, xlabel="seconds")
            if metric == list(axes[name])[-1]:  # each experiment has seeds of its own
                axis.legend()
