"""Line charts as SVG, to stand in a page: colours, light and dark, come from its style sheet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from warpworld.report.numbers import number
from warpworld.report.pages import escaped
from warpworld.report.palette import SERIES
from warpworld.runs.metrics import Point

WIDTH, HEIGHT = 360.0, 200.0
LEFT, RIGHT, TOP, BOTTOM = 46.0, 18.0, 8.0, 24.0  # margins, which hold the numbers of the axes
MOST_POINTS = 400  # of a line; longer ones show means of neighbours
SMALLEST = 1e-300  # span of an axis; what is smaller is rounding


@dataclass(frozen=True)
class Series:
    """A line.

    Attributes:
        name: of what it shows, for the legend.
        colour: its place in the palette.
        points: (x, y), x ascending.
        band: (x, lowest, highest), x ascending, where the line is a mean of several runs; else nothing.
    """

    name: str
    colour: int
    points: Sequence[Point]
    band: Sequence[tuple[float, float, float]] = ()


@dataclass(frozen=True)
class Panel:
    """A chart: lines over the same axes.

    Attributes:
        heading: what is shown.
        unit: of y.
        series: the lines; those without points are left out.
        level: a value to compare with, such as random play, which a dashed line shows; None has no such line.
    """

    heading: str
    unit: str
    series: Sequence[Series]
    level: float | None = None

    @property
    def is_constant(self) -> bool:
        """Whether no line ever leaves its first value."""
        shown = [series.points for series in self.series if series.points]
        return bool(shown) and all(len(points) > 1 and len({y for _, y in points}) == 1 for points in shown)


@dataclass(frozen=True)
class Axis:
    """Where values lie: ``low`` at pixel ``start``, ``high`` at pixel ``end``."""

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
    shown = [series for series in panel.series if series.points]
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
    lines = [thinned(line.points, MOST_POINTS) for line in series]
    bands = [_thinned_band(line) for line in series]
    values = [y for line in lines for _, y in line] + ([] if level is None else [level])
    values += [y for band in bands for _, *bounds in band for y in bounds]
    furthest, lowest, highest = max(x for line in lines for x, _ in line), min(values), max(values)
    x_ticks, y_ticks = ticks(0.0, furthest, 4), ticks(lowest, highest, 4)
    x_axis = Axis(0.0, max(x_ticks[-1], furthest), LEFT, WIDTH - RIGHT)
    y_axis = Axis(min(y_ticks[0], lowest), max(y_ticks[-1], highest), HEIGHT - BOTTOM, TOP)
    ends = f'data-x="{x_axis.ends()}" data-y="{y_axis.ends()}"'
    parts = [f'<svg class="chart" viewBox="0 0 {WIDTH:g} {HEIGHT:g}" role="img" {ends}>']
    for tick in y_ticks:
        y = y_axis.at(tick)
        parts.append(f'<line class="rule" x1="{LEFT:g}" x2="{WIDTH - RIGHT:g}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text class="tick end" x="{LEFT - 6:g}" y="{y + 3.5:.1f}">{number(tick)}</text>')
    for tick in x_ticks:
        anchor = "" if tick else " start"
        parts.append(f'<text class="tick{anchor}" x="{x_axis.at(tick):.1f}" y="{HEIGHT - 6:g}">{number(tick)}</text>')
    if level is not None:
        y = y_axis.at(level)
        parts.append(f'<line class="level" x1="{LEFT:g}" x2="{WIDTH - RIGHT:g}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text class="tick end" x="{WIDTH - RIGHT:g}" y="{y - 3:.1f}">random play</text>')
    for line, band in zip(series, bands, strict=True):
        corners = [(x, high) for x, _, high in band] + [(x, low) for x, low, _ in reversed(band)]
        shape = " ".join(f"{x_axis.at(x):.1f},{y_axis.at(y):.1f}" for x, y in corners)
        parts.append(f'<polygon class="band c{_colour(line)}" points="{shape}"/>' if band else "")
    for line, points in zip(series, lines, strict=True):
        parts.append(_line(line, [(x_axis.at(x), y_axis.at(y)) for x, y in points]))
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
    """At most ``most`` points, each the mean of equally many neighbours (the last of the rest)."""
    size = math.ceil(len(points) / most)
    chunks = [points[i : i + size] for i in range(0, len(points), size)]
    return [(sum(x for x, _ in chunk) / len(chunk), sum(y for _, y in chunk) / len(chunk)) for chunk in chunks]


def _thinned_band(series: Series) -> list[tuple[float, float, float]]:
    """The band with as many points as its line is drawn with."""
    if not series.band:
        return []
    lows = thinned([(x, low) for x, low, _ in series.band], MOST_POINTS)
    highs = thinned([(x, high) for x, _, high in series.band], MOST_POINTS)
    return [(x, low, high) for (x, low), (_, high) in zip(lows, highs, strict=True)]


def _line(series: Series, points: Sequence[Point]) -> str:
    colour = f"c{_colour(series)}"
    x, y = points[-1]
    title = f"<title>{escaped(series.name)}: {number(series.points[-1][1])} at last</title>"
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dot = f'<circle class="{colour}" cx="{x:.1f}" cy="{y:.1f}" r="2.6">{title}</circle>'
    return f'<polyline class="line {colour}" points="{path}">{title}</polyline>{dot}'


def _colour(series: Series) -> int:
    return series.colour % len(SERIES)
