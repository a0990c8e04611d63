"""The curves of all arms in one picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from warpworld.report.palette import ROLES, SERIES

from .arms import ARMS
from .results import Results
from .table import GOOD, multiple

FIRST = "published"  # which the others stand beside


def draw(results: Results, path: Path) -> None:
    """Draw how many times as often as a random agent each arm hits, over the time of its training.

    Args:
        results: by arm.
        path: the PNG.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    others = [name for name in ARMS if name in results and name != FIRST]
    half = max(1, -(-len(others) // 2))
    panels = [others[:half], others[half:]]
    figure = Figure(figsize=(10.0, 3.8), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    for axis, names in zip(figure.subplots(1, len(panels), sharey=True), panels, strict=True):
        if FIRST in results:
            _draw_arm(axis, FIRST, results[FIRST], ROLES["ink"][0], width=2.0)
        for name, colour in zip(names, SERIES, strict=False):
            _draw_arm(axis, name, results[name], colour)
        axis.axhline(1.0, color=ROLES["muted"][0], linewidth=0.8)
        axis.axhline(GOOD, color=ROLES["muted"][0], linewidth=0.8, linestyle=":")
        axis.set_xlabel("seconds of training on one core", fontsize=8)
        axis.tick_params(labelsize=8)
        axis.grid(color=ROLES["grid"][0], linewidth=0.8)
        axis.spines[["top", "right"]].set_visible(False)
        if axis.lines:
            axis.legend(fontsize=7, frameon=False)
    figure.axes[0].set_title("hits, as a multiple of a random agent's by the same rules", fontsize=10, loc="left")
    figure.savefig(path)


def _draw_arm(axis: Any, name: str, arm: dict[str, Any], colour: str, width: float = 1.2) -> None:
    values, errors = zip(*(multiple(point, arm["random"]) for point in arm["curve"]), strict=True)
    seconds = [point["seconds"] for point in arm["curve"]]
    axis.errorbar(seconds, values, errors, color=colour, linewidth=width, elinewidth=0.6, label=name)
