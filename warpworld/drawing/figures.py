"""The frame of every figure that matplotlib draws: one look, no display, and a file that is whole or absent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpworld.drawing.palette import ROLES
from warpworld.drawing.writing import replacing
from warpworld.files import readable
from warpworld.private_folder import keep_matplotlib_quiet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK, GRID, PAPER = (ROLES[name][0] for name in ("ink", "grid", "paper"))

# In place of matplotlib's own defaults and of a user's matplotlibrc.
LOOK: dict[str, Any] = {
    "figure.constrained_layout.use": True,
    "figure.titlesize": 11,
    "font.size": 9,
    "text.color": INK,
    "axes.titlesize": 10,
    "axes.labelsize": 9,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.major.size": 3,
    "ytick.major.size": 3,
    "legend.fontsize": 8,
    "legend.frameon": False,
}


@contextmanager
def figure(path: str | Path, width: float, height: float, title: str = "", dpi: int = 130) -> Iterator[Figure]:
    """An empty figure to draw into, which is then written as a PNG: the same bytes whenever the same is drawn.

    Args:
        path: the PNG; it appears complete or not at all.
        width: in inches.
        height: likewise.
        title: above all axes.
        dpi: pixels of an inch.

    Raises:
        RunError: it cannot be written.
    """
    keep_matplotlib_quiet()
    import matplotlib.style
    from matplotlib.figure import Figure

    with matplotlib.style.context(LOOK, after_reset=True):
        drawn = Figure(figsize=(width, height), dpi=dpi)
        if title:
            drawn.suptitle(readable(title))
        yield drawn
        with replacing(Path(path)) as unfinished:
            drawn.savefig(unfinished, format="png", metadata={"Software": None})
