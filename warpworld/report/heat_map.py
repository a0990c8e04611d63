"""The table of who beats whom as a PNG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from warpworld.drawing.palette import ROLES
from warpworld.drawing.writing import replacing
from warpworld.files import readable
from warpworld.private_folder import keep_matplotlib_quiet

_INK, _PAPER = ROLES["ink"][0], ROLES["paper"][0]


def draw_win_rates(
    path: str | Path,
    win_rates: np.ndarray,
    rows: Sequence[str],
    columns: Sequence[str],
    title: str,
    labels: tuple[str, str],
) -> Path:
    """Draw win rates as coloured squares with their numbers.

    Args:
        path: the picture; it appears complete or not at all.
        win_rates: (rows, columns) in [0, 1]; NaN stays empty.
        rows: their names.
        columns: likewise.
        title: above the table.
        labels: what rows and columns are.

    Returns:
        ``path``.

    Raises:
        RunError: it cannot be written.
    """
    keep_matplotlib_quiet()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    size = 0.62 * len(columns) + 3.2, 0.5 * len(rows) + 2.2
    figure = Figure(figsize=size, dpi=130, layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(readable(title), color=_INK, fontsize=11)
    axis = figure.subplots()
    image = axis.imshow(win_rates, cmap="RdBu", vmin=0.0, vmax=1.0, aspect="auto")
    axis.set_xticks(range(len(columns)), columns, rotation=45, ha="right", rotation_mode="anchor")
    axis.set_yticks(range(len(rows)), rows)
    axis.tick_params(colors=_INK, labelsize=8, length=0)
    axis.set_ylabel(labels[0], color=_INK, fontsize=9)
    axis.set_xlabel(labels[1], color=_INK, fontsize=9)
    axis.spines[:].set_visible(False)
    for (i, j), rate in np.ndenumerate(win_rates):
        if not math.isnan(rate):
            colour = _PAPER if abs(rate - 0.5) > 0.3 else _INK
            axis.text(j, i, f"{rate:.2f}", ha="center", va="center", color=colour, fontsize=8)
    bar = figure.colorbar(image, ax=axis, shrink=0.8)
    bar.set_label("win rate of the row", color=_INK, fontsize=9)
    bar.ax.tick_params(colors=_INK, labelsize=8)
    bar.outline.set_visible(False)
    with replacing(Path(path)) as unfinished:
        figure.savefig(unfinished, format="png")
    return Path(path)
