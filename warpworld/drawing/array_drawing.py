"""Pictures of an env that does not draw itself: each of its arrays as a strip of coloured cells."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence

import numpy as np

from warpworld.drawing.marks import Drawing, Image, Mark, Rectangles, Text
from warpworld.drawing.palette import SERIES, rgb

WIDTH, MARGIN = 100.0, 3.0  # of the picture, in units of its own
LABEL, GAP = 4.0, 2.5  # heights: of the line above a strip, and below it
LARGEST_CELL, LOWEST_STRIP, HIGHEST_STRIP = 4.0, 2.5, 30.0
HIDDEN = ("terminated", "truncated", "timestep")  # shown beside the picture anyway

_UNKNOWN = (190, 190, 190)  # nan
_LOW, _MIDDLE, _HIGH = rgb(SERIES[1]), (255, 255, 255), rgb(SERIES[0])


class ArrayDrawer:
    """Draws arrays as strips; colours reach from each array's lowest to its highest value in the recording.

    An array (agents, features) has a row for each agent; one number for each agent, or each env, makes a single row.
    Values are blue above and orange below 0.

    Args:
        frames: the arrays of every step, by name.
    """

    def __init__(self, frames: Sequence[Mapping[str, np.ndarray]]) -> None:
        shown = [name for name in frames[0] if name not in HIDDEN]
        self._ranges = {name: _range([frame[name] for frame in frames]) for name in shown}

    def draw(self, arrays: Mapping[str, np.ndarray]) -> Drawing:
        """The picture of one step."""
        marks: list[Mark] = []
        top = MARGIN
        for name, (low, high) in self._ranges.items():
            cells = _as_rows(arrays[name])
            width, height = _strip_size(*cells.shape)
            value = f" = {float(cells[0, 0]):.4g}" if cells.size == 1 else f"  {_shape(arrays[name])}"
            middle = top + LABEL / 2
            marks.append(Text(MARGIN, middle, f"{name}{value}", 2.4, align="left"))
            extent = f"{low:.3g} to {high:.3g}"
            marks.append(Text(WIDTH - MARGIN, middle, extent, 2.0, fill="muted", align="right"))
            top += LABEL
            marks.append(Image(MARGIN, top, width, height, coloured(cells, low, high), on_paper=True))
            marks.append(Rectangles(MARGIN, top, width, height, fill=None, outline="muted", line_width=0.15))
            top += height + GAP
        return Drawing((0.0, top, WIDTH, 0.0), marks)


def coloured(cells: np.ndarray, low: float, high: float) -> np.ndarray:
    """Values as colours: white at 0, towards blue at the largest magnitude above it, towards orange below it.

    Args:
        cells: (rows, columns) numbers; nan is grey.
        low: the lowest value that there is.
        high: the highest.

    Returns:
        (rows, columns, 3) uint8.
    """
    scale = max(abs(low), abs(high)) or 1.0
    share = np.clip(np.nan_to_num(cells / scale), -1.0, 1.0)[..., None]
    towards = np.where(share < 0, np.array(_LOW), np.array(_HIGH))
    colours = np.array(_MIDDLE) + np.abs(share) * (towards - np.array(_MIDDLE))
    colours[np.isnan(cells)] = _UNKNOWN
    return np.round(colours).astype(np.uint8)


def _range(values: Sequence[np.ndarray]) -> tuple[float, float]:
    """Lowest and highest finite value; 0 and 0 if there is none."""
    numbers = np.stack([np.asarray(value, dtype=np.float64) for value in values])
    numbers[~np.isfinite(numbers)] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # all nan
        low, high = float(np.nanmin(numbers)), float(np.nanmax(numbers))
    return (low, high) if low == low else (0.0, 0.0)


def _as_rows(values: np.ndarray) -> np.ndarray:
    """Convert to (rows, columns) float64: rows are the first dimension, if there are several."""
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.ndim == 2 and numbers.shape[1] == 1:
        numbers = numbers[:, 0]
    return numbers.reshape(1, -1) if numbers.ndim < 2 else numbers.reshape(len(numbers), -1)


def _strip_size(rows: int, columns: int) -> tuple[float, float]:
    cell = min(LARGEST_CELL, (WIDTH - 2 * MARGIN) / columns)
    return cell * columns, min(HIGHEST_STRIP, max(LOWEST_STRIP, cell * rows))


def _shape(values: np.ndarray) -> str:
    return " x ".join(str(size) for size in values.shape)
