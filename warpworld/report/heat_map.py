"""The table of who beats whom as a PNG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from warpworld.drawing import INK, PAPER, figure


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
    with figure(path, 0.62 * len(columns) + 3.2, 0.5 * len(rows) + 2.2, title) as drawn:
        axis = drawn.subplots()
        image = axis.imshow(win_rates, cmap="RdBu", vmin=0.0, vmax=1.0, aspect="auto")
        axis.set_xticks(range(len(columns)), columns, rotation=45, ha="right", rotation_mode="anchor")
        axis.set_yticks(range(len(rows)), rows)
        axis.set(ylabel=labels[0], xlabel=labels[1])
        axis.tick_params(length=0)
        axis.grid(visible=False)
        axis.spines[:].set_visible(False)
        for (i, j), rate in np.ndenumerate(win_rates):
            if not math.isnan(rate):
                colour = PAPER if abs(rate - 0.5) > 0.3 else INK
                axis.text(j, i, f"{rate:.2f}", ha="center", va="center", color=colour, fontsize=8)
        bar = drawn.colorbar(image, ax=axis, shrink=0.8, label="win rate of the row")
        bar.outline.set_visible(False)
    return Path(path)
