"""The curves of the learning experiments as a picture: one panel a metric, one line a seed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from warpworld.drawing.palette import ROLES, SERIES

PER_ROW = 3  # panels, so that a page's width leaves them readable


def draw(axes: Mapping[str, Mapping[str, str]], results: Mapping[str, list[dict[str, Any]]], path: Path) -> None:
    """Draw against wall time.

    Args:
        axes: for each experiment, metric -> what its axis says.
        results: for each experiment, what ``run_seed`` gave for each seed.
        path: the PNG.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    panels = [(name, metric, unit) for name, metrics in axes.items() for metric, unit in metrics.items()]
    rows = -(-len(panels) // PER_ROW)
    figure = Figure(figsize=(3.4 * min(len(panels), PER_ROW), 2.8 * rows), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    places = figure.subplots(rows, min(len(panels), PER_ROW), squeeze=False).flat
    for axis in list(places)[len(panels) :]:
        axis.set_visible(False)
    for axis, (name, metric, unit) in zip(figure.axes, panels, strict=False):
        for run, colour in zip(results[name], SERIES, strict=False):
            points = [(seconds, values[metric]) for seconds, _, values in run["curve"] if values[metric] is not None]
            axis.plot(
                [x for x, _ in points], [y for _, y in points], color=colour, linewidth=1.2, label=f"seed {run['seed']}"
            )
        several = len(axes[name]) > 1  # then the titles say which is which
        axis.set_title(f"{name}: {metric.split('/')[1]}" if several else name, fontsize=10, loc="left")
        axis.set_ylabel(unit, fontsize=8)
        axis.set_xlabel("seconds", fontsize=8)
        axis.tick_params(labelsize=8)
        axis.grid(color=ROLES["grid"][0], linewidth=0.8)
        axis.spines[["top", "right"]].set_visible(False)
        if metric == list(axes[name])[-1]:  # each experiment has seeds of its own
            axis.legend(fontsize=7, frameon=False)
    figure.savefig(path)
