"""Line charts as SVG, to stand in a page: colours, light and dark, come from its style sheet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from warpworld.drawing import SERIES, escaped
from warpworld.runs import Point, unbroken
from warpworld.text import number

WIDTH, HEIGHT = 360.0, 200.0
LEFT, RIGHT, TOP, BOTTOM = 46.0, 18.0, 8.0, 24.0  # margins, which hold the numbers of the axes
MOST_POINTS = 400  # of a line; longer ones show means of neighbours
NAME_WIDTH = 68.0  # of the words beside random play's line
SMALLEST = 1e-300  # span of an axis; what is smaller is rounding


@dataclass(frozen=True)
class Series:
    """Line of a chart.

    Attributes:
        name: of what it shows, for the legend.
        colour: its place in the palette.
        points: (x, y), x ascending; NaN for y breaks the line.
        band: (x, low, high), x ascending, where the line is a mean of several runs; else nothing. NaN breaks it.
    """

    name: str
    colour: int
    points: Sequence[Point]
    band: Sequence[tuple[float, float, float]] = ()

    @property
    def numbers(self) -> list[float]:
        """Values of the series without gaps."""
        return [y for _, y in self.points if not math.isnan(y)]


@dataclass(frozen=True)
class Panel:
    """A chart: lines over the same axes.

    Attributes:
        heading: what is shown.
        unit: of y.
        series: the lines; those without numbers are left out.
        level: a value to compare with, such as random play, which a dashed line shows; None has no such line.
    """

    heading: str
    unit: str
    series: Sequence[Series]
    level: float | None = None

    @property
    def is_constant(self) -> bool:
        """Whether no line ever leaves its first value."""
        shown = [values for series in self.series if (values := series.numbers)]
        return bool(shown) and all(len(values) > 1 and len(set(values)) == 1 for values in shown)


@dataclass(frozen=True)
class Axis:
    """Axis of values: ``low`` lies at pixel ``start``, ``high`` at pixel ``end``."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """The pixel of a value."""
        return self.start + (value - self.low) / ((self.high - self.low) or 1.0) * (self.end - self.start)

    def ends(self) -> str:
        """Pixel and value of both ends, for charts.js."""
        return f"{self.start:g} {self.low!r} {self.end:g} {self.high!r}"


def panel_figure(panel: Panel, legend: bool = True) -> str:
    """A panel as an HTML figure, with heading and, if there are several lines and it is wanted, a legend."""
    shown = [series for series in panel.series if series.numbers]
    below = legend_of(shown) if legend and len(shown) > 1 else ""
    body = chart(shown, panel.level) if shown else '<p class="nothing">nothing logged</p>'
    unit = f' <span class="quiet">{escaped(panel.unit)}</span>' if panel.unit else ""
    return f'<figure class="panel"><figcaption>{escaped(panel.heading)}{unit}</figcaption>{body}{below}</figure>'


def legend_of(series: Sequence[Series]) -> str:
    """Names beside spots of their lines' colours."""
    entries = (f'<span><i class="spot c{_colour(line)}"></i>{escaped(line.name)}</span>' for line in series)
    return f'<div class="legend">{"".join(entries)}</div>'


def chart(series: Sequence[Series], level: float | None = None) -> str:
    """Lines over common axes, as SVG, and a dashed one at ``level``."""
    # lines, bands and the range of their values
    lines = [thinned(line.points, MOST_POINTS) for line in series]
    bands = [_thinned_band(line) for line in series]
    heights = [y for line in lines for _, y in line] + [y for band in bands for _, *bounds in band for y in bounds]
    values = [y for y in heights if not math.isnan(y)] + ([] if level is None else [level])
    furthest, lowest, highest = max(x for line in lines for x, _ in line), min(values), max(values)
    # axes that end at a tick
    x_ticks, y_ticks = ticks(0.0, furthest, 4), ticks(lowest, highest, 4)
    x_axis = Axis(0.0, max(x_ticks[-1], furthest), LEFT, WIDTH - RIGHT)
    y_axis = Axis(min(y_ticks[0], lowest), max(y_ticks[-1], highest), HEIGHT - BOTTOM, TOP)
    ends = f'data-x="{x_axis.ends()}" data-y="{y_axis.ends()}"'
    parts = [f'<svg class="chart" viewBox="0 0 {WIDTH:g} {HEIGHT:g}" role="img" {ends}>']
    # ticks, below everything
    for tick in y_ticks:
        y = y_axis.at(tick)
        parts.append(f'<line class="rule" x1="{LEFT:g}" x2="{WIDTH - RIGHT:g}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text class="tick end" x="{LEFT - 6:g}" y="{y + 3.5:.1f}">{number(tick)}</text>')
    for tick in x_ticks:
        anchor = "" if tick else " start"
        parts.append(f'<text class="tick{anchor}" x="{x_axis.at(tick):.1f}" y="{HEIGHT - 6:g}">{number(tick)}</text>')
    # bands, then lines above them
    for line, band in zip(series, bands, strict=True):
        for part in unbroken(band):
            corners = [(x, high) for x, _, high in part] + [(x, low) for x, low, _ in reversed(part)]
            shape = " ".join(f"{x_axis.at(x):.1f},{y_axis.at(y):.1f}" for x, y in corners)
            parts.append(f'<polygon class="band c{_colour(line)}" points="{shape}"/>')
    drawn = [[(x_axis.at(x), y_axis.at(y)) for x, y in points] for points in lines]
    parts += map(_line, series, drawn)
    if level is not None:
        parts.append(_level(y_axis.at(level), drawn))
    return "".join([*parts, "</svg>"])


def ticks(low: float, high: float, count: int) -> list[float]:
    """About ``count`` round numbers that reach from at most ``low`` to at least the last below ``high``."""
    span = next(size for size in (high - low, abs(high), 1.0) if size > SMALLEST)
    raw = span / count
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1.0, 2.0, 5.0, 10.0) if factor * power >= raw * 0.999)
    first, last = math.floor(low / step + 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{i * step:.12g}") for i in range(first, max(last, first + 1) + 1)]


def thinned(points: Sequence[Point], most: int) -> list[Point]:
    """Thin points to at most ``most``, each the mean of equally many neighbours (the last of the rest).

    A gap stays one where all neighbours are gaps.
    """
    size = math.ceil(len(points) / most)
    chunks = [points[i : i + size] for i in range(0, len(points), size)]
    return [(_mean([x for x, _ in chunk]), _mean([y for _, y in chunk if not math.isnan(y)])) for chunk in chunks]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else math.nan


def _thinned_band(series: Series) -> list[tuple[float, float, float]]:
    """The band with as many points as its line is drawn with."""
    if not series.band:
        return []
    lows = thinned([(x, low) for x, low, _ in series.band], MOST_POINTS)
    highs = thinned([(x, high) for x, _, high in series.band], MOST_POINTS)
    return [(x, low, high) for (x, low), (_, high) in zip(lows, highs, strict=True)]


def _line(series: Series, points: Sequence[Point]) -> str:
    """A group with a polyline for each part of the line, and dots where it ends and where a point stands alone."""
    colour, segments = f"c{_colour(series)}", unbroken(points)
    title = f"<title>{escaped(series.name)}: {number(series.numbers[-1])} at last</title>"
    drawn = []
    for segment in segments:
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in segment)
        drawn.append(f'<polyline class="line {colour}" points="{path}"/>')
    dots = [(1.2, segment[0]) for segment in segments[:-1] if len(segment) == 1] + [(2.6, segments[-1][-1])]
    drawn += [f'<circle class="{colour}" cx="{x:.1f}" cy="{y:.1f}" r="{radius}"/>' for radius, (x, y) in dots]
    return f'<g class="curve {colour}">{title}{"".join(drawn)}</g>'


def _level(y: float, lines: Sequence[Sequence[Point]]) -> str:
    """The dashed line of random play, and its name where it covers least: above it or below, at either end."""
    places = [place for line in lines for place in _along(line)]

    def covered(name: Point) -> int:
        return sum(0 <= x - name[0] <= NAME_WIDTH and -11 <= height - name[1] <= 3 for x, height in places)

    heights = [height for height in (y - 5, y + 12) if TOP + 8 <= height <= HEIGHT - BOTTOM]
    starts = (WIDTH - RIGHT - NAME_WIDTH, LEFT)
    x, height = min(((start, height) for start in starts for height in heights), key=covered)
    line = f'<line class="level" x1="{LEFT:g}" x2="{WIDTH - RIGHT:g}" y1="{y:.1f}" y2="{y:.1f}"/>'
    return f'{line}<text class="tick start name" x="{x:g}" y="{height:.1f}">random play</text>'


def _along(line: Sequence[Point]) -> list[Point]:
    """Places on a line, eight of each stretch between two of its points."""
    return [
        (x + (to_x - x) * k / 8, y + (to_y - y) * k / 8)
        for (x, y), (to_x, to_y) in pairwise([*line, line[-1]])
        for k in range(8)
    ]


def _colour(series: Series) -> int:
    return series.colour % len(SERIES)
