"""Line charts at their limits, and what the pictures of curves and win rates show."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from warpworld.drawing.palette import ROLES, SERIES
from warpworld.report.charts import MOST_POINTS, Panel, Series, chart, panel_figure, thinned, ticks
from warpworld.report.heat_map import draw_win_rates
from warpworld.runs.curve import draw_curves
from warpworld.text import number


@pytest.mark.parametrize(
    ("value", "text"),
    [(999.0, "999"), (1e3, "1k"), (-1e3, "-1k"), (999e3, "999k"), (1e6, "1M"), (999e6, "999M"), (1e9, "1G")],
)
def test_a_limit_has_the_larger_unit(value: float, text: str) -> None:
    assert number(value) == text


def test_ticks_are_as_fine_where_rounding_makes_a_span_longer() -> None:
    """1.1 - 0.7 is a little more than 0.4 in binary; four steps of 0.1 still fit."""
    assert ticks(0.7, 1.1, 4) == [0.7, 0.8, 0.9, 1.0, 1.1]
    assert ticks(0.0, 0.4, 4) == [0.0, 0.1, 0.2, 0.3, 0.4]


def drawn_points(count: int) -> int:
    svg = chart([Series("line", 0, [(float(i), float(i % 7)) for i in range(count)])])
    (points,) = re.findall(r'<polyline class="line c0" points="([^"]*)"', svg)
    return len(points.split())


def test_a_line_is_thinned_above_400_points() -> None:
    assert MOST_POINTS == 400
    assert drawn_points(400) == 400
    assert drawn_points(401) == 201


def test_a_gap_breaks_a_line_and_a_point_between_two_is_a_dot() -> None:
    heights = [0.0, 1.0, math.nan, 2.0, math.nan, 1.0, 0.0]
    svg = chart([Series("line", 0, [(float(i), y) for i, y in enumerate(heights)])])
    parts = re.findall(r'<polyline class="line c0" points="([^"]*)"', svg)
    assert [len(part.split()) for part in parts] == [2, 1, 2]
    dots = re.findall(r'<circle class="c0" cx="([^"]*)" cy="([^"]*)" r="([^"]*)"', svg)
    assert dots == [(*parts[1].split(","), "1.2"), (*parts[2].split()[-1].split(","), "2.6")]
    assert "line: 0 at last" in svg and "nan" not in svg


def test_a_gap_breaks_a_band() -> None:
    heights = (1.0, 2.0, math.nan, 3.0, 4.0)
    band = [(float(i), y, y + 1) for i, y in enumerate(heights)]
    svg = chart([Series("mean", 0, [(x, low) for x, low, _ in band], band)])
    assert [len(part.split()) for part in re.findall(r'class="band c0" points="([^"]*)"', svg)] == [4, 4]


def test_means_of_neighbours_are_of_their_numbers() -> None:
    points = [(float(i), y) for i, y in enumerate((1.0, math.nan, math.nan, math.nan, 3.0, 5.0))]
    assert thinned(points, 3)[::2] == [(0.5, 1.0), (4.5, 4.0)]
    assert math.isnan(thinned(points, 3)[1][1])


def test_a_line_without_numbers_is_left_out() -> None:
    nothing = Series("nothing", 1, [(0.0, math.nan)])
    assert "nothing logged" in panel_figure(Panel("heading", "", [nothing]))
    assert "legend" not in panel_figure(Panel("heading", "", [Series("line", 0, [(0.0, 1.0)]), nothing]))


@pytest.mark.parametrize(("level", "line"), [(5.0, 9.0), (5.0, 5.6), (10.0, 1.0), (-10.0, 1.0)])
def test_the_name_of_random_play_stands_beside_its_line(level: float, line: float) -> None:
    """Neither its own line nor the curve strikes it through, not even at the chart's edge."""
    svg = chart([Series("line", 0, [(0.0, 0.0), (10.0, line), (100.0, line)])], level)
    (own,) = (float(y) for y in re.findall(r'class="level"[^>]* y1="([^"]*)"', svg))
    ((x, y),) = re.findall(r'class="tick start name" x="([^"]*)" y="([^"]*)">random play', svg)
    top, bottom = float(y) - 9, float(y) + 3
    (points,) = re.findall(r'<polyline class="line c0" points="([^"]*)"', svg)
    curve = float(points.split()[-1].split(",")[1])
    assert not top <= own <= bottom and not top <= curve <= bottom
    assert top >= 0 and bottom <= 180 and float(x) < 300


def test_colours_begin_anew_behind_the_last() -> None:
    lines = [Series(f"line {i}", i, [(0.0, 0.0), (1.0, 1.0)]) for i in (0, 5, 6, -1)]
    assert re.findall(r'polyline class="line (c\d)"', chart(lines)) == ["c0", "c5", "c0", "c5"]


def test_several_lines_have_a_legend_and_a_single_one_has_none() -> None:
    lines = [Series(name, i, [(0.0, 0.0), (1.0, 1.0)]) for i, name in enumerate(("first", "second"))]
    assert "legend" not in panel_figure(Panel("heading", "", lines[:1]))
    assert "legend" not in panel_figure(Panel("heading", "", [lines[0], Series("empty", 1, ())]))
    assert re.findall(r'spot (c\d)"></i>(\w+)', panel_figure(Panel("heading", "", lines))) == [
        ("c0", "first"),
        ("c1", "second"),
    ]


# --- pictures ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    """Every figure that is written."""
    written: list[Figure] = []
    save = Figure.savefig

    def remember(figure: Figure, *args: Any, **options: Any) -> None:
        written.append(figure)
        save(figure, *args, **options)

    monkeypatch.setattr(Figure, "savefig", remember)
    return written


def curves_of(rows: Sequence[Mapping[str, Any]], folder: Path) -> None:
    metrics = folder / "metrics.jsonl"
    metrics.write_text("".join(json.dumps(row) + "\n" for row in rows))
    draw_curves(metrics, folder / "curve.png", "a title")


def row(iteration: int, **returns: float) -> dict[str, Any]:
    found = {f"charts/{name}/episodic_return": value for name, value in returns.items()}
    return {"iteration": iteration, "env_steps": 100 * iteration, "charts/episodic_length": 7.0, **found}


@pytest.mark.long
def test_curves_show_each_policy_against_env_steps(figures: list[Figure], tmp_path: Path) -> None:
    curves_of([row(i, left=2.0 * i, right=-1.0 * i) for i in (1, 2, 3)], tmp_path)
    (figure,) = figures
    assert figure.get_suptitle() == "a title"
    assert [axis.get_title() for axis in figure.axes] == ["left: return", "right: return", "episode length"]
    assert [axis.get_ylabel() for axis in figure.axes] == ["rewards per agent and episode"] * 2 + ["steps"]
    for axis, values, colour in zip(
        figure.axes, ([2, 4, 6], [-1, -2, -3], [7, 7, 7]), (SERIES[0], SERIES[1], SERIES[-1]), strict=True
    ):
        (line,) = axis.get_lines()
        assert axis.get_xlabel() == "env steps"
        assert line.get_xdata().tolist() == [100, 200, 300]
        assert line.get_ydata().tolist() == values
        assert line.get_color() == colour
        assert axis.get_xlim()[0] == 0.0


@pytest.mark.long
def test_curves_show_the_environments_own_metrics(figures: list[Figure], tmp_path: Path) -> None:
    own = [{"env/num_runners": None}, {"env/num_runners": 3.0, "env/left/tags_made": 0.5}]
    curves_of([{**row(i, left=1.0), **own[i - 1]} for i in (1, 2)], tmp_path)
    axes = figures[0].axes[2:]
    assert [axis.get_title() for axis in axes] == ["num runners", "left: tags made"]
    assert [axis.get_ylabel() for axis in axes] == ["mean of an episode"] * 2
    for axis, value in zip(axes, (3.0, 0.5), strict=True):
        (line,) = axis.get_lines()
        assert (line.get_xdata().tolist(), line.get_ydata().tolist()) == ([200], [value])


@pytest.mark.parametrize(("points", "marker"), [(1, "o"), (2, "o"), (3, "")])
def test_curves_of_few_points_show_them_as_dots(
    points: int, marker: str, figures: list[Figure], tmp_path: Path
) -> None:
    curves_of([row(i, left=1.0) for i in range(1, points + 1)], tmp_path)
    assert figures[0].axes[0].get_lines()[0].get_marker() == marker


def test_curves_have_gaps_where_there_is_no_number(figures: list[Figure], tmp_path: Path) -> None:
    curves_of(
        [row(i, left=value) for i, value in enumerate((1.0, 2.0, math.nan, 3.0, math.nan, 4.0, 5.0), 1)], tmp_path
    )
    line, dots = figures[0].axes[0].get_lines()
    assert np.isnan(line.get_ydata()).tolist() == [False, False, True, False, True, False, False]
    assert (dots.get_xdata().tolist(), dots.get_ydata().tolist()) == ([400], [3.0])
    assert (dots.get_linestyle(), dots.get_color()) == ("None", line.get_color())


def test_win_rates_stand_in_the_row_of_who_won(figures: list[Figure], tmp_path: Path) -> None:
    """From red for 0 to blue for 1, with numbers that can be read on either."""
    rates = np.array([[np.nan, 0.25, 1.0], [0.75, 0.5, 0.0]])
    draw_win_rates(tmp_path / "league.png", rates, ["one", "two"], ["a", "b", "c"], "a title", ("rows", "columns"))
    axis = figures[0].axes[0]
    assert [label.get_text() for label in axis.get_yticklabels()] == ["one", "two"]
    assert [label.get_text() for label in axis.get_xticklabels()] == ["a", "b", "c"]
    assert (axis.get_ylabel(), axis.get_xlabel()) == ("rows", "columns")
    (image,) = axis.get_images()
    assert (image.norm.vmin, image.norm.vmax) == (0.0, 1.0)
    assert np.array_equal(np.asarray(image.get_array().filled(np.nan)), rates, equal_nan=True)
    found = {text.get_position(): (text.get_text(), text.get_color()) for text in axis.texts}
    ink, paper = ROLES["ink"][0], ROLES["paper"][0]
    assert found == {
        (1, 0): ("0.25", ink),
        (2, 0): ("1.00", paper),
        (0, 1): ("0.75", ink),
        (1, 1): ("0.50", ink),
        (2, 1): ("0.00", paper),
    }
    lost, won = (to_hex(image.cmap(image.norm(rate))) for rate in (0.0, 1.0))
    assert int(lost[1:3], 16) > int(lost[5:7], 16)
    assert int(won[5:7], 16) > int(won[1:3], 16)
