"""What a search has measured as a picture: env steps per second over the number of envs."""

from __future__ import annotations

from pathlib import Path

from warpworld.cli.tune.choice import KINDS
from warpworld.cli.tune.search import Found
from warpworld.drawing.palette import ROLES, SERIES
from warpworld.drawing.writing import replacing
from warpworld.private_folder import keep_matplotlib_quiet

_INK, _GRID = ROLES["ink"][0], ROLES["grid"][0]


def draw_search(found: Found, name: str, path: Path) -> Path:
    """Draw a curve for simulation, rollout and training each, and mark the size to take.

    Args:
        found: with at least one size.
        name: of the config.
        path: the PNG; it appears complete or not at all.

    Returns:
        ``path``.

    Raises:
        RunError: it cannot be written.
    """
    keep_matplotlib_quiet()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.0), dpi=130, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    sizes = [tried.changes["num_envs"] for tried in found.sizes]
    for kind, colour in zip(KINDS, SERIES, strict=False):
        rates = [getattr(tried.speeds, kind) for tried in found.sizes]
        axes.plot(sizes, rates, marker="o", markersize=4, color=colour, label=kind)
    axes.axvline(found.best["num_envs"], color=_INK, linewidth=1, linestyle=":")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("num_envs", color=_INK)
    axes.set_ylabel("env steps per second", color=_INK)
    axes.set_title(name, color=_INK, fontsize=11)
    axes.grid(color=_GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.minorticks_off()
    figure.legend(loc="outside lower center", ncols=len(KINDS), frameon=False)
    with replacing(path) as unfinished:
        figure.savefig(unfinished, format="png")
    return path
