"""Learning curves as a PNG."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from warpworld.drawing import SERIES, figure
from warpworld.runs.metrics import Point, curve_of, of_episodes, own_metrics, read_metrics, unbroken

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_RETURN = re.compile(r"charts/(.+)/episodic_return\Z")
_LENGTH = "charts/episodic_length"


def draw_curves(metrics_path: str | Path, png_path: str | Path, title: str | None = None) -> Path:
    """Draw every policy's episodic return, the episodes' length and the environment's own metrics against env steps.

    Args:
        metrics_path: a run's ``metrics.jsonl``.
        png_path: the picture; it appears complete or not at all.
        title: above the panels; None takes the name of the folder that holds the metrics.

    Returns:
        ``png_path``.

    Raises:
        RunError: the metrics cannot be read, or the picture cannot be written.
    """
    # panels, by what the metrics hold
    rows = read_metrics(metrics_path).rows
    policies = list(dict.fromkeys(match[1] for row in rows for name in row if (match := _RETURN.match(name))))
    panels = [
        (f"{name}: return", "rewards per agent and episode", f"charts/{name}/episodic_return") for name in policies
    ]
    panels.append(("episode length", "steps", _LENGTH))
    own = own_metrics(dict.fromkeys(name for row in rows for name in row))
    units = {name: "mean of an episode" if of_episodes(name) else "" for name in own}
    panels += [(heading, units[name], name) for name, heading in own.items()]

    # the picture
    with figure(png_path, 4.4 * len(panels), 3.6, title or Path(metrics_path).resolve().parent.name) as drawn:
        axes = drawn.subplots(1, len(panels), squeeze=False)[0]
        for index, (axis, (heading, unit, key)) in enumerate(zip(axes, panels, strict=True)):
            colour = SERIES[index % (len(SERIES) - 1)] if _RETURN.match(key) else SERIES[-1 if key == _LENGTH else -2]
            axis.set(title=heading, xlabel="env steps", ylabel=unit)
            _draw_points(axis, curve_of(rows, key), colour)
    return Path(png_path)


def _draw_points(axis: Axes, points: Sequence[Point], colour: str) -> None:
    from matplotlib.ticker import EngFormatter

    axis.xaxis.set_major_formatter(EngFormatter(sep=""))
    parts = unbroken(points)
    if parts:
        steps, values = zip(*points, strict=True)
        axis.plot(steps, values, color=colour, linewidth=1.6, marker="o" if len(points) < 3 else "")
        lone = [part[0] for part in parts if len(part) == 1]
        if lone and len(points) >= 3:
            axis.plot(*zip(*lone, strict=True), color=colour, linestyle="", marker="o", markersize=3)
        axis.set_xlim(left=0)
    else:
        axis.text(0.5, 0.5, "no episode has ended", transform=axis.transAxes, ha="center")
