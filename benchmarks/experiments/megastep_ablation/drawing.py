"""The curves of all arms in one picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from warpworld.drawing.figures import INK, figure
from warpworld.drawing.palette import ROLES, SERIES

from .arms import ARMS
from .results import Results
from .table import FIRST, GOOD, multiple

DASHES = ("-", "--", ":")  # as there are more arms than colours
PANELS = (("own", "random", "by the arm's own rules"), ("common", "common_random", "by common rules"))


def draw(results: Results, path: Path) -> None:
    """Draw how many times as often as a random agent each arm hits, over the time of its training.

    Args:
        results: by arm.
        path: the PNG.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with figure(path, 6.4, 8.0, dpi=150) as drawn:
        axes = drawn.subplots(len(PANELS), 1)
        for axis, (whose, random, title) in zip(axes, PANELS, strict=True):
            for i, name in enumerate(ARMS):
                if name in results and results[name][random] is not None:
                    _draw_arm(axis, name, results[name], whose, random, _style(name, i))
            axis.axhline(1.0, color=ROLES["muted"][0], linewidth=0.8)
            axis.axhline(GOOD, color=ROLES["muted"][0], linewidth=0.8, linestyle=":")
            axis.set(title=title, xlabel="seconds of a core", ylabel="hits, times a random agent's")
        drawn.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)


def _style(name: str, index: int) -> dict[str, Any]:
    if name == FIRST:
        return {"color": INK, "linewidth": 2.0}
    return {"color": SERIES[index % len(SERIES)], "linestyle": DASHES[index // len(SERIES)], "linewidth": 1.2}


def _draw_arm(axis: Any, name: str, arm: dict[str, Any], whose: str, random: str, style: dict[str, Any]) -> None:
    values, errors = zip(*(multiple(point[whose], arm[random]) for point in arm["curve"]), strict=True)
    axis.errorbar([point["seconds"] for point in arm["curve"]], values, errors, elinewidth=0.6, label=name, **style)
