"""Drawings and images as PNG files in memory."""

from __future__ import annotations

import io
from collections.abc import Iterable

from PIL import Image

from warpworld.drawing.canvas import paint
from warpworld.drawing.marks import Drawing
from warpworld.drawing.palette import ROLES, colour_table

SIZE = 240  # pixels of the longer side of a drawing


def drawing_png(drawing: Drawing, groups: Iterable[str] | None = None, size: int = SIZE) -> bytes:
    """A drawing as a picture in the colours of a light page.

    Args:
        drawing: what to paint.
        groups: names of the agent groups, in order; None takes the names that its marks use, in the order of the marks.
        size: longer side, pixels.
    """
    named = _colours_named(drawing) if groups is None else groups
    colours = {name: light for name, (light, _) in colour_table(named).items()}
    scale = size / max(drawing.width, drawing.height)
    width, height = (max(round(side * scale), 1) for side in (drawing.width, drawing.height))
    return png_of(paint(drawing, width, height, colours))


def png_of(image: Image.Image) -> bytes:
    """An image as a PNG."""
    file = io.BytesIO()
    image.save(file, "PNG", optimize=True)
    return file.getvalue()


def _colours_named(drawing: Drawing) -> list[str]:
    """Names of a drawing's colours that are neither a role nor ``#rrggbb``: those of groups."""
    used = (getattr(mark, name) for mark in drawing.marks for name in mark.colours)
    return list(dict.fromkeys(name for name in used if name and name not in ROLES and not name.startswith("#")))
