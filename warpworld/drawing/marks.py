"""Parts of a picture of one env: marks in the env's own units, and the part of the plane that is seen.

An environment's ``draw`` puts them together, once for each recorded step; replays, GIFs and videos show them. A mark
holds many of its kind at once, so the arrays of a world go into it as they are.

A colour is the name of an agent group (its colour in all pictures), ``#rrggbb``, or a role, which suits light and dark
pages: "paper", "ground" (a floor), "grid", "muted", "ink" (text and outlines), "alarm".
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from warpworld.errors import DeclarationError, suggest

_HEX = re.compile(r"#[0-9a-fA-F]{6}\Z")
_ALIGNMENTS = ("left", "center", "right")


@dataclass(frozen=True, eq=False, kw_only=True)
class Mark:
    """Something drawn. All lengths are in the env's own units, line widths too; numbers must be finite.

    Attributes:
        columns: fields that hold one number for each thing drawn; a single number stands for all.
        colours: fields that name a colour; None leaves that part out.
        lengths: fields that hold one number of at least 0.
        opacity: 0 is not seen, 1 hides what is below.
    """

    columns: ClassVar[tuple[str, ...]] = ()
    colours: ClassVar[tuple[str, ...]] = ()
    lengths: ClassVar[tuple[str, ...]] = ("opacity",)
    opacity: float = 1.0

    def __post_init__(self) -> None:
        # columns, all of one length
        columns = {name: _numbers(self, name) for name in self.columns}
        try:
            together = np.broadcast_arrays(*columns.values())
        except ValueError:
            sizes = ", ".join(f"{name} {len(values)}" for name, values in columns.items())
            raise DeclarationError(f"{self.kind}: columns of different lengths: {sizes}") from None
        for name, values in zip(columns, together, strict=True):
            object.__setattr__(self, name, values)
        # lengths and colours
        for name in self.lengths:
            object.__setattr__(self, name, _length(self, name))
        for name in self.colours:
            colour = getattr(self, name)
            if colour is not None and not isinstance(colour, str):
                raise DeclarationError(f"{self.kind}: {name}={colour!r}, expected a colour's name or None")

    @property
    def kind(self) -> str:
        """The class's name."""
        return type(self).__name__


@dataclass(frozen=True, eq=False, kw_only=True)
class Line(Mark):
    """A mark of lines alone."""

    colours: ClassVar[tuple[str, ...]] = ("outline",)
    lengths: ClassVar[tuple[str, ...]] = ("line_width", "opacity")
    outline: str | None = "ink"
    line_width: float = 0.0


@dataclass(frozen=True, eq=False, kw_only=True)
class Shape(Line):
    """A mark with an inside; its outline is left out unless it has a colour."""

    colours = ("fill", "outline")
    fill: str | None = "ink"
    outline: str | None = None


@dataclass(frozen=True, eq=False)
class Discs(Shape):
    """Discs, or rings where only ``outline`` is given. Columns: centre ``x``, ``y`` and ``radius``."""

    columns = ("x", "y", "radius")
    x: Any
    y: Any
    radius: Any


@dataclass(frozen=True, eq=False)
class Rectangles(Shape):
    """Upright rectangles. Columns: the corner of lowest ``x`` and ``y``, ``width`` and ``height``."""

    columns = ("x", "y", "width", "height")
    x: Any
    y: Any
    width: Any
    height: Any


@dataclass(frozen=True, eq=False)
class Arrowheads(Shape):
    """Darts that show a heading. Columns: ``x``, ``y`` of the middle, ``length``, ``direction``.

    ``direction`` is in radians: 0 along x, growing from x towards y.
    """

    columns = ("x", "y", "length", "direction")
    x: Any
    y: Any
    length: Any
    direction: Any


@dataclass(frozen=True, eq=False)
class Wedges(Shape):
    """Sectors of a disc, such as fields of view. Columns: ``x``, ``y``, ``radius``, ``direction``, ``angle``.

    ``direction`` is that of the middle, ``angle`` the whole opening, both in radians.
    """

    columns = ("x", "y", "radius", "direction", "angle")
    x: Any
    y: Any
    radius: Any
    direction: Any
    angle: Any


@dataclass(frozen=True, eq=False)
class Segments(Line):
    """Straight lines, each from (``x``, ``y``) to (``to_x``, ``to_y``)."""

    columns = ("x", "y", "to_x", "to_y")
    x: Any
    y: Any
    to_x: Any
    to_y: Any


@dataclass(frozen=True, eq=False)
class Polyline(Line):
    """One line through the points (``x``, ``y``)."""

    columns = ("x", "y")
    x: Any
    y: Any


@dataclass(frozen=True, eq=False)
class Polygon(Shape):
    """One closed shape with corners (``x``, ``y``)."""

    columns = ("x", "y")
    x: Any
    y: Any


@dataclass(frozen=True, eq=False)
class Text(Mark):
    """One line of text, its middle at height ``y``; ``align`` is "left", "center" or "right" of ``x``."""

    columns = ("x", "y")
    colours = ("fill",)
    lengths = ("size", "opacity")
    x: Any
    y: Any
    text: str
    size: float
    _: KW_ONLY
    fill: str | None = "ink"
    align: str = "center"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "text", str(self.text))
        if self.align not in _ALIGNMENTS:
            raise DeclarationError(f"Text: align={self.align!r}, expected one of {', '.join(_ALIGNMENTS)}")


@dataclass(frozen=True, eq=False)
class Image(Mark):
    """Pixels in the rectangle from (``x``, ``y``), its lowest corner, of ``width`` and ``height``.

    ``pixels`` is (rows, columns, 3) uint8, the top row first, wherever y points. A diagram on white paper has
    ``on_paper=True``: a dark page shows it with light and dark exchanged. What a camera sees is the same everywhere.
    """

    columns = ("x", "y", "width", "height")
    x: Any
    y: Any
    width: Any
    height: Any
    pixels: Any
    _: KW_ONLY
    on_paper: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        pixels = np.asarray(self.pixels)
        if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] != 3 or 0 in pixels.shape:
            raise DeclarationError(
                f"Image: pixels of shape {pixels.shape} and dtype {pixels.dtype}, expected (rows, columns, 3) uint8"
            )
        object.__setattr__(self, "pixels", pixels.copy())


@dataclass(frozen=True, eq=False)
class Drawing:
    """Picture of one env at one step.

    Attributes:
        view: (left, bottom, right, top), the env's coordinates at the picture's edges. Where bottom > top, y grows
            downwards; units are as wide as they are high.
        marks: from the lowest to the topmost.
        seconds: how long a step is shown at normal speed.
        places: x and y of every agent, each (num_agents,) or one number for all, which replays follow and point at; NaN
            for an agent that is nowhere. None where agents have no places.
        choices: (choices, 4) left, bottom, right and top of the rectangle that stands for each choice of a Discrete
            action, NaN where none does: a tap there takes the choice in ``warpworld play``. None without such.

    Raises:
        DeclarationError: a wrong type, a number that is not finite, an empty view.
    """

    view: tuple[float, float, float, float]
    marks: Sequence[Mark]
    seconds: float = 0.1
    places: Any = None
    choices: Any = None

    def __post_init__(self) -> None:
        # the view
        try:
            left, bottom, right, top = view = tuple(float(edge) for edge in self.view)
        except (TypeError, ValueError):
            raise DeclarationError(f"Drawing: view={self.view!r}, expected (left, bottom, right, top)") from None
        if not np.isfinite(view).all() or left >= right or bottom == top:
            raise DeclarationError(f"Drawing: view={view}, expected left < right and bottom other than top, all finite")
        # marks and time
        marks = self.marks if isinstance(self.marks, (list, tuple)) else [self.marks]
        for mark in marks:
            if not isinstance(mark, Mark):
                raise DeclarationError(f"Drawing: a mark is {mark!r}, expected one of {', '.join(sorted(MARKS))}")
        if not (isinstance(self.seconds, (int, float)) and 0 < self.seconds < float("inf")):
            raise DeclarationError(f"Drawing: seconds={self.seconds!r}, expected a number above 0")
        # values in the form that readers expect
        object.__setattr__(self, "view", view)
        object.__setattr__(self, "marks", tuple(marks))
        if self.places is not None:
            object.__setattr__(self, "places", _places(self.places))
        if self.choices is not None:
            object.__setattr__(self, "choices", _choices(self.choices))

    def __repr__(self) -> str:
        return f"<Drawing: {len(self.marks)} mark{'s' * (len(self.marks) != 1)} in view {self.view}>"

    def _repr_png_(self) -> bytes:
        """A picture in a notebook."""
        from warpworld.drawing.png import drawing_png  # which paints, and is loaded by notebooks alone

        return drawing_png(self)

    @property
    def width(self) -> float:
        """Width of the view."""
        return self.view[2] - self.view[0]

    @property
    def height(self) -> float:
        """Height of the view."""
        return abs(self.view[3] - self.view[1])


# Every kind of mark by name.
MARKS: dict[str, type[Mark]] = {
    cls.__name__: cls for cls in (Discs, Rectangles, Arrowheads, Wedges, Segments, Polyline, Polygon, Text, Image)
}


def check_colours(drawing: Drawing, known: Collection[str]) -> None:
    """Refuse a colour that is neither ``#rrggbb`` nor among ``known``.

    Raises:
        DeclarationError: names the mark and the nearest known colour.
    """
    for mark in drawing.marks:
        for name in mark.colours:
            colour = getattr(mark, name)
            if colour is not None and colour not in known and not _HEX.match(colour):
                raise DeclarationError(
                    f"{mark.kind}: {name}='{colour}' is no colour.{suggest(colour, known)} "
                    f"Known: #rrggbb, {', '.join(known)}"
                )


def _numbers(mark: Mark, name: str) -> np.ndarray:
    """A column as (count,) float64."""
    value = getattr(mark, name)
    try:
        values = np.array(value, dtype=np.float64, ndmin=1)
    except (TypeError, ValueError):
        raise DeclarationError(f"{mark.kind}: {name}={value!r}, expected numbers") from None
    if values.ndim != 1:
        raise DeclarationError(f"{mark.kind}: {name} has shape {values.shape}, expected one number or a row of them")
    if not np.isfinite(values).all():
        at = int(np.flatnonzero(~np.isfinite(values))[0])
        raise DeclarationError(f"{mark.kind}: {name}[{at}] is {values[at]}, expected a finite number")
    return values


def _length(mark: Mark, name: str) -> float:
    value = getattr(mark, name)
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not 0 <= number < float("inf"):
        raise DeclarationError(f"{mark.kind}: {name}={value!r}, expected a number of at least 0")
    return number


def _places(value: Any) -> np.ndarray:
    """(2, num_agents) float64: x and y."""
    try:
        x, y = (np.array(column, dtype=np.float64, ndmin=1) for column in value)
        places = np.stack(np.broadcast_arrays(x, y))
    except (TypeError, ValueError):
        raise DeclarationError(f"Drawing: places={value!r}, expected (x, y) with a number for each agent") from None
    if places.ndim != 2 or np.isinf(places).any():
        raise DeclarationError(f"Drawing: places={value!r}, expected (x, y) with a finite number or NaN for each agent")
    return places


def _choices(value: Any) -> np.ndarray:
    """(choices, 4) float64: left, bottom, right and top."""
    try:
        choices = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        choices = np.empty(0)
    if choices.ndim != 2 or choices.shape[1] != 4 or np.isinf(choices).any():
        raise DeclarationError(f"Drawing: choices={value!r}, expected 4 finite numbers or NaN for each choice")
    return choices
