"""Paints drawings with Pillow: what marks.js does in a browser, for GIFs and videos."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from PIL import Image as Pillow
from PIL import ImageDraw, ImageFont

from warpworld.drawing import marks
from warpworld.drawing.palette import rgb

SMOOTH = 3  # painted so many times larger and then reduced, so that edges are smooth

Place = Callable[[Any, Any], np.ndarray]


def paint(drawing: marks.Drawing, width: int, height: int, colours: Mapping[str, str]) -> Pillow.Image:
    """A drawing as pixels.

    Args:
        drawing: what to paint; its view is fitted into the middle.
        width: of the picture, pixels.
        height: of the picture, pixels.
        colours: ``#rrggbb`` of each role and group.

    Returns:
        An RGB image on "paper".
    """
    canvas = _Canvas(drawing, width * SMOOTH, height * SMOOTH, colours)
    for mark in drawing.marks:
        canvas.add(mark)
    return canvas.image.reduce(SMOOTH)


@lru_cache(maxsize=32)
def font(size: int) -> Any:
    """Pillow's own font at a size in pixels."""
    return ImageFont.load_default(size)


class _Canvas:
    def __init__(self, drawing: marks.Drawing, width: int, height: int, colours: Mapping[str, str]) -> None:
        self.image = Pillow.new("RGB", (width, height), colours["paper"])
        self._draw = ImageDraw.Draw(self.image, "RGBA")
        self._colours = colours
        left, bottom, right, top = drawing.view
        self._scale = min(width / drawing.width, height / drawing.height)
        self._flip = np.array([1.0, -1.0 if top > bottom else 1.0]) * self._scale
        self._origin = np.array([width, height]) / 2 - self._flip * np.array([left + right, bottom + top]) / 2

    def add(self, mark: marks.Mark) -> None:
        """Paint a mark over what is there."""
        if isinstance(mark, marks.Text):
            self._text(mark)
        elif isinstance(mark, marks.Image):
            self._pixels(mark)
        elif isinstance(mark, marks.Discs):
            self._discs(mark)
        elif isinstance(mark, marks.Polyline):
            self._lines(mark, np.stack([mark.x, mark.y], -1)[None])
        elif isinstance(mark, marks.Segments):
            ends = np.stack([mark.x, mark.y, mark.to_x, mark.to_y], -1)
            self._lines(mark, ends.reshape(-1, 2, 2))
        else:
            for corners in _CORNERS[type(mark)](mark):
                self._polygon(mark, corners)

    def _discs(self, mark: marks.Discs) -> None:
        fill, outline, line_width = self._style(mark)
        for centre, radius in zip(self._pixel(np.stack([mark.x, mark.y], -1)), mark.radius * self._scale, strict=True):
            if fill:
                self._draw.ellipse([*(centre - radius), *(centre + radius)], fill=fill)
            if outline:
                outer = radius + line_width / 2
                self._draw.ellipse([*(centre - outer), *(centre + outer)], outline=outline, width=line_width)

    def _polygon(self, mark: marks.Mark, corners: np.ndarray) -> None:
        fill, outline, line_width = self._style(mark)
        points = [tuple(point) for point in self._pixel(corners)]
        if fill and len(points) > 1:
            self._draw.polygon(points, fill=fill)
        if outline and len(points) > 1:
            self._draw.line([*points, *points[:2]], fill=outline, width=line_width, joint="curve")

    def _lines(self, mark: marks.Mark, lines: np.ndarray) -> None:
        """(lines, points, 2)."""
        _, outline, line_width = self._style(mark)
        for line in lines if outline else ():
            points = [tuple(point) for point in self._pixel(line)]
            self._draw.line(points, fill=outline, width=line_width, joint="curve")

    def _text(self, mark: marks.Text) -> None:
        if mark.fill is None or not len(mark.x) or not mark.text:
            return
        (point,) = self._pixel(np.stack([mark.x, mark.y], -1)[:1])
        anchor = {"left": "lm", "center": "mm", "right": "rm"}[mark.align]
        size = max(round(mark.size * self._scale), 1)
        self._draw.text(tuple(point), mark.text, fill=self._colour(mark.fill, mark), font=font(size), anchor=anchor)

    def _pixels(self, mark: marks.Image) -> None:
        for x, y, width, height in zip(mark.x, mark.y, mark.width, mark.height, strict=True):
            corners = self._pixel(np.array([[x, y], [x + width, y + height]]))
            (left, top), (right, bottom) = np.round([corners.min(0), corners.max(0)]).astype(int).tolist()
            size = max(right - left, 1), max(bottom - top, 1)
            image = Pillow.fromarray(mark.pixels).resize(size, Pillow.Resampling.NEAREST)
            self.image.paste(image, (left, top), Pillow.new("L", size, round(255 * min(mark.opacity, 1.0))))

    def _pixel(self, points: np.ndarray) -> np.ndarray:
        """Convert from the env's coordinates, (count, 2), to pixels."""
        return self._origin + points * self._flip

    def _style(self, mark: Any) -> tuple[Any, Any, int]:
        fill, outline = getattr(mark, "fill", None), mark.outline
        line_width = max(round(mark.line_width * self._scale), SMOOTH)
        return fill and self._colour(fill, mark), outline and self._colour(outline, mark), line_width

    def _colour(self, name: str, mark: Any) -> tuple[int, int, int, int]:
        return (*rgb(self._colours.get(name, name)), round(255 * min(mark.opacity, 1.0)))


# ---- corners of shapes, (things, corners, 2) -------------------------------------------------------------------------
def _of_polygon(mark: marks.Polygon) -> np.ndarray:
    return np.stack([mark.x, mark.y], -1)[None]


def _of_rectangles(mark: marks.Rectangles) -> np.ndarray:
    corners = np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
    sizes = np.stack([mark.width, mark.height], -1)
    return np.stack([mark.x, mark.y], -1)[:, None] + corners * sizes[:, None]


def _of_arrowheads(mark: marks.Arrowheads) -> np.ndarray:
    corners = np.array([[0.6, 0.0], [-0.4, 0.36], [-0.2, 0.0], [-0.4, -0.36]])  # ahead and aside, as in marks.js
    along = np.stack([np.cos(mark.direction), np.sin(mark.direction)], -1)
    aside = np.stack([-along[:, 1], along[:, 0]], -1)
    turned = corners @ np.stack([along, aside], 1)
    return np.stack([mark.x, mark.y], -1)[:, None] + mark.length[:, None, None] * turned


def _of_wedges(mark: marks.Wedges) -> np.ndarray:
    angles = mark.direction[:, None] + mark.angle[:, None] * np.linspace(-0.5, 0.5, 49)
    arc = np.stack([np.cos(angles), np.sin(angles)], -1) * mark.radius[:, None, None]
    middle = np.stack([mark.x, mark.y], -1)[:, None]
    return np.concatenate([middle, middle + arc], 1)


_CORNERS: dict[type[marks.Mark], Callable[[Any], np.ndarray]] = {
    marks.Polygon: _of_polygon,
    marks.Rectangles: _of_rectangles,
    marks.Arrowheads: _of_arrowheads,
    marks.Wedges: _of_wedges,
}
