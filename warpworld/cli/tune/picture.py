"""Picture of a search's measurements: env steps per second over the number of envs."""

from __future__ import annotations

from pathlib import Path

from warpworld.cli.tune.choice import KINDS
from warpworld.cli.tune.search import Found
from warpworld.drawing import INK, SERIES, figure


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
    sizes = [tried.changes["num_envs"] for tried in found.sizes]
    with figure(path, 6.4, 4.0, name) as drawn:
        axes = drawn.subplots()
        for kind, colour in zip(KINDS, SERIES, strict=False):
            rates = [getattr(tried.speeds, kind) for tried in found.sizes]
            axes.plot(sizes, rates, marker="o", markersize=4, color=colour, label=kind)
        axes.axvline(found.best["num_envs"], color=INK, linewidth=1, linestyle=":")
        axes.set_xscale("log", base=2)
        axes.set(yscale="log", xlabel="num_envs", ylabel="env steps per second")
        axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
        axes.minorticks_off()
        drawn.legend(loc="outside lower center", ncols=len(KINDS))
    return path
