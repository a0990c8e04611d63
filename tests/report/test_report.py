"""The page about runs: its figures and curves are those of the metrics, and it needs nothing else."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.report.recorded_worlds import Drawn, config_of, recording_of
from warpworld.drawing import Discs
from warpworld.errors import RunError
from warpworld.report.charts import SMALLEST, Series, chart, thinned, ticks
from warpworld.report.replay import replay_text
from warpworld.report.report import write_report
from warpworld.runs import Run
from warpworld.runs.run_data import read_run
from warpworld.text import number

ROWS: list[dict[str, Any]] = [
    {
        "iteration": i,
        "env_steps": 8 * i,
        "time": 1.5 * i,
        "charts/left/episodic_return": None if i == 1 else 10.0 * i,
        "charts/right/episodic_return": -1.0 * i,
        "charts/episodic_length": 3.0,
        "losses/left/policy_loss": 0.1 * i,
        "charts/left/learning_rate": 1e-3,
        "perf/env_steps_per_s": 1000.0 * i,
        "perf/agent_steps_per_s": 3000.0 * i,
        "perf/rollout_s": 1.0,
        "perf/update_s": 3.0,
    }
    for i in (1, 2, 3)
]
MACHINE = {"device": "cpu", "cpu": "abacus & co", "cores": 2}


def run_with(folder: Path, rows: Sequence[Mapping[str, Any]] = ROWS, **env: Any) -> Run:
    """A run folder that holds these metrics."""
    run = Run.create(config_of(Drawn, **env), folder)
    for row in rows:
        run.log(row)
    run.close()
    return run


def text_of(page: str) -> str:
    """What a reader sees: tags and scripts taken out, blanks joined."""
    page = re.sub(r"<(script|style).*?</\1>", " ", page, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def written(runs: Sequence[Run], path: Path, **options: Any) -> str:
    return write_report(runs, path, **options).read_text(encoding="utf-8")


def test_a_run(tmp_path: Path) -> None:
    run = run_with(tmp_path)
    (run.path / "machine.json").write_text(json.dumps(MACHINE))
    page = written([run], run.path / "report.html", replays={run.path: replay_text(recording_of([Discs(5, 5, 1)]))})
    text = text_of(page)
    assert (
        f"{run.path.name} A run of tests.report.recorded_worlds:Drawn that trained left (ppo), right (ppo) in 2 envs"
        in text
    )
    assert "24 of 80 env steps" in text
    assert "left: mean return 30.00 over the last tenth, 20.00 at first" in text
    assert "right: mean return -3.00 over the last tenth, -1.00 at first" in text
    assert "episode length 3.0 steps, over the last tenth" in text
    assert "time 0:00:04" in text
    assert "env steps per second 2,000 median" in text
    assert "rollouts 25% updates 75%" in text
    assert "cpu abacus & co cores 2" in text
    assert "num_envs 2 num_steps 4 total_env_steps 80" in text
    assert "length 3" in text
    assert "policy loss" in text
    assert "learning rate" in text
    assert page.count('class="replay"') == 1
    assert '<a href="config.yaml">' in page
    assert '<a href="metrics.jsonl">' in page
    assert "no checkpoint" in text


def test_a_run_with_opponents(tmp_path: Path) -> None:
    names = "elo", "win_rate/past", "games"
    ratings = [{f"league/left/{name}": 1000.0 + 5 * i for name in names} for i in (1, 2, 3)]
    run = run_with(tmp_path, [{**row, **more} for row, more in zip(ROWS, ratings, strict=True)])
    page = written([run], tmp_path / "report.html")
    section = text_of(next(part for part in page.split("<section") if "Self-play" in part))
    assert "elo" in section and "win rate, past" in section and "games" not in section
    elo = next(part for part in page.split("<figure") if "elo" in part)
    assert [len(points.split()) for points in re.findall(r'class="line c\d" points="([^"]*)"', elo)] == [3]
    assert "Self-play" not in written([run_with(tmp_path / "other")], tmp_path / "other.html")


def test_the_environments_own_metrics(tmp_path: Path) -> None:
    own = [{"env/left/tags_made": 0.5 * i, "env/num_runners": 2.0 if i > 1 else None} for i in (1, 2, 3)]
    run = run_with(tmp_path, [{**row, **more} for row, more in zip(ROWS, own, strict=True)])
    page = written([run], tmp_path / "report.html")
    curves = next(part for part in page.split("<section") if "<h2>Curves" in part)
    for heading, points in (("left: tags made", 3), ("num runners", 2)):
        figure = next(part for part in curves.split("<figure") if f"<figcaption>{heading}" in part)
        assert [len(line.split()) for line in re.findall(r'class="line c\d" points="([^"]*)"', figure)] == [points]


def test_several_runs(tmp_path: Path) -> None:
    first, second = run_with(tmp_path / "a"), run_with(tmp_path / "b", ROWS[:2], length=4)
    page = written([first, second], tmp_path / "report.html")
    text = text_of(page)
    assert text.startswith("2 runs of tests.report.recorded_worlds:Drawn")
    changed = [text_of(row) for row in re.findall(r'<tr class="changed">.*?</tr>', page)]
    assert changed == ["env.length 3 4"]
    assert "length 3 30.00 -3.00 3.0 24 0:00:04 2,000" in text
    assert "length 4 20.00 -2.00 3.0 16 0:00:03 1,500" in text
    assert page.count(">length 3</span>") == 1, "there is one legend"
    assert f"length 4 ({second.path.name}) : config.yaml" in text
    figure = next(part for part in page.split("<figure") if "left: return" in part)
    lines = re.findall(r'class="line (c\d)" points="([^"]*)"', figure)
    assert [(colour, len(points.split())) for colour, points in lines] == [("c0", 2), ("c1", 1)]
    assert '<a href="a/' in page
    assert "Machine" not in text
    assert "Replay" not in text


def test_key_figures_are_means_over_the_last_tenth(tmp_path: Path) -> None:
    rows = [{"iteration": i, "env_steps": i, "charts/left/episodic_return": float(i)} for i in range(1, 101)]
    text = text_of(written([run_with(tmp_path, rows)], tmp_path / "report.html"))
    assert "left: mean return 95.00 over the last tenth, 1.00 at first" in text  # of 90 to 100


def test_random_play_is_a_dashed_line(tmp_path: Path) -> None:
    run = run_with(tmp_path)
    page = written([run], tmp_path / "report.html", random_returns={"left": 45.0})
    left, right = (
        next(part for part in page.split("<figure") if f"{name}: return" in part) for name in ("left", "right")
    )
    (y,) = re.findall(r'<line class="level"[^>]* y1="([\d.]+)"', left)
    heights = dict(zip(re.findall(r'class="tick end" x="40"[^>]*>([^<]*)<', left), rules(left), strict=True))
    assert float(y) == pytest.approx(heights["40"] + (heights["40"] - heights["20"]) / 4, abs=0.1)
    assert "random play" in left and "random play" not in right


def rules(figure: str) -> list[float]:
    return [float(y) for y in re.findall(r'class="rule"[^>]* y1="([\d.]+)"', figure)]


def test_curves_that_never_change_are_folded_away(tmp_path: Path) -> None:
    page = written([run_with(tmp_path)], tmp_path / "report.html")
    folded = re.findall(r"<details class=\"constant\"><summary>([^<]*)</summary>", page)
    assert folded == ["never changes: episode length", "never changes: learning rate"]


def test_a_run_that_still_trains_reloads_its_page(tmp_path: Path) -> None:
    run = Run.create(config_of(Drawn), tmp_path)
    page = written([run], tmp_path / "report.html")
    assert '<meta http-equiv="refresh" content="30">' in page
    still = "It still trains: this page reloads by itself, and `warpworld report --watch` keeps it up to date."
    assert still in text_of(page)
    run.close()
    assert "refresh" not in written([run], tmp_path / "report.html")


def seeded(folder: Path, seed: int, factor: float, **env: Any) -> Run:
    config = config_of(Drawn, **env)
    run = Run.create(config.model_copy(update={"trainer": config.trainer.model_copy(update={"seed": seed})}), folder)
    for i in (1, 2):
        run.log({"iteration": i, "env_steps": 8 * i, "charts/left/episodic_return": factor * i})
    run.close()
    return run


def test_runs_of_three_seeds_are_a_mean_in_a_band(tmp_path: Path) -> None:
    runs = [seeded(tmp_path / str(seed), seed, factor) for seed, factor in ((1, 10.0), (2, 20.0), (3, 60.0))]
    page = written(runs, tmp_path / "report.html")
    assert "interquartile mean and 95% interval of 3 seeds" in text_of(page)
    figure = next(part for part in page.split("<figure") if "left: return" in part)
    (line,) = re.findall(r'class="line c0" points="([^"]*)"', figure)
    (band,) = re.findall(r'class="band c0" points="([^"]*)"', figure)
    (start, low, end, high) = map(float, re.findall(r'data-y="([^"]*)"', figure)[0].split())
    values = [low + (float(point.split(",")[1]) - start) / (end - start) * (high - low) for point in line.split()]
    bounds = [low + (float(point.split(",")[1]) - start) / (end - start) * (high - low) for point in band.split()]
    assert values == pytest.approx([30.0, 60.0], abs=0.5)
    assert bounds == pytest.approx([60.0, 120.0, 20.0, 10.0], abs=0.5)
    assert "Over seeds 95% bootstrap interval in brackets" in text_of(page)
    assert "left, 3 runs 60.00 [20.00, 120.00] 60.00 [20.00, 120.00]" in text_of(page)
    pair = written(runs[:2], tmp_path / "pair.html")
    assert 'class="band' not in pair and "seed 1 seed 2" in text_of(pair)
    mixed = [*runs, seeded(tmp_path / "other", 1, 5.0, length=4)]
    assert "length 3, 3 seeds" in text_of(written(mixed, tmp_path / "mixed.html"))


def test_a_mean_of_seeds_breaks_where_one_of_them_does(tmp_path: Path) -> None:
    runs = [seeded(tmp_path / str(seed), seed, 10.0 * seed) for seed in (1, 2, 3)]
    for i, run in enumerate(runs):
        rows = [
            {"env_steps": 8 * n, "charts/left/episodic_return": None if i == 0 and n == 3 else n} for n in range(1, 6)
        ]
        run.metrics_path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    page = written(runs, tmp_path / "report.html")
    figure = next(part for part in page.split("<figure") if "left: return" in part)
    for kind, counts in (("line", [2, 2]), ("band", [4, 4])):
        assert [len(part.split()) for part in re.findall(rf'class="{kind} c0" points="([^"]*)"', figure)] == counts


def test_a_run_without_metrics_hides_no_band(tmp_path: Path) -> None:
    runs = [seeded(tmp_path / str(seed), seed, 10.0 * seed) for seed in (1, 2, 3, 4)]
    runs[3].metrics_path.write_text("")
    page = written(runs, tmp_path / "report.html")
    assert 'class="band c0"' in page and "3 seeds" in text_of(page)
    runs[2].metrics_path.write_text(runs[2].metrics_path.read_text().splitlines(keepends=True)[0])
    figure = next(part for part in written(runs, tmp_path / "short.html").split("<figure") if "left: return" in part)
    (line,) = re.findall(r'class="line c0" points="([^"]*)"', figure)
    assert len(line.split()) == 2  # the second point is of the two runs that have got there


def test_runs_of_one_seed_are_not_called_seeds(tmp_path: Path) -> None:
    runs = [seeded(tmp_path / str(number), 1, 10.0) for number in range(3)]
    assert "interquartile mean and 95% interval of 3 runs" in text_of(written(runs, tmp_path / "report.html"))


def test_a_run_that_has_logged_nothing(tmp_path: Path) -> None:
    run = run_with(tmp_path, rows=[])
    text = text_of(written([run], tmp_path / "report.html"))
    assert "0 of 80 env steps" in text
    assert "left: mean return - over the last tenth, - at first" in text
    assert "nothing logged" in text
    assert "Speed" not in text


def test_timing_may_lie_in_a_file_of_its_own(tmp_path: Path) -> None:
    apart = [
        {key: value for key, value in row.items() if not key.startswith("perf/") and key != "time"} for row in ROWS
    ]
    run = run_with(tmp_path, apart)
    (run.path / "timing.jsonl").write_text("".join(json.dumps(row) + "\n" for row in reversed(ROWS)))
    together = run_with(tmp_path / "other")
    for key in ("perf/env_steps_per_s", "perf/update_s", "time", "charts/left/episodic_return"):
        assert read_run(run).points(key) == read_run(together).points(key)


@pytest.mark.parametrize(
    ("text", "expected"),
    [(json.dumps(MACHINE), MACHINE), (json.dumps([{"cores": 1}, MACHINE]), MACHINE), ("[]", {}), ("3", {})],
)
def test_machines(tmp_path: Path, text: str, expected: dict[str, Any]) -> None:
    run = run_with(tmp_path)
    (run.path / "machine.json").write_text(text)
    assert read_run(run).machine == expected


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    run = run_with(tmp_path)
    (run.path / "machine.json").write_text("{")
    with pytest.raises(RunError, match=r"machine.json' cannot be read: "):
        read_run(run)


def test_the_page_loads_nothing(tmp_path: Path) -> None:
    run = run_with(tmp_path)
    page = written([run], run.path / "report.html", replays={run.path: replay_text(recording_of([Discs(5, 5, 1)]))})
    assert re.findall(r"https?:|@import|url\(", page) == []
    assert re.findall(r'src="', page) == []
    assert all(not link.startswith(("/", ".")) for link in re.findall(r'href="([^"]*)"', page))


def test_names_cannot_break_out(tmp_path: Path) -> None:
    trap = '<img src="x" onerror="alert(1)">&'
    run = run_with(tmp_path, [{**ROWS[0], f"losses/{trap.replace('/', '')}/{trap}": 1.0}])
    renamed = Run(run.path.rename(tmp_path / trap), run.config)
    (renamed.path / "machine.json").write_text(json.dumps({trap: trap}))
    page = written([renamed, renamed], tmp_path / "report.html")
    assert "<img" not in page
    assert text_of(page).count(trap) > 5


def test_links_lead_to_the_files(tmp_path: Path) -> None:
    run = run_with(tmp_path / "run s#1")
    (tmp_path / "pages").mkdir()
    page = written([run], tmp_path / "pages" / "report.html")
    assert f'<a href="../run%20s%231/{run.path.name}/config.yaml">' in page


# --- charts -----------------------------------------------------------------------------------------------------------


def test_a_chart_draws_the_points_where_they_belong() -> None:
    svg = chart([Series("line", 1, [(0.0, 0.0), (50.0, 1.0), (100.0, 0.5)])])
    (points,) = re.findall(r'<polyline class="line c1" points="([^"]*)"', svg)
    places = [tuple(map(float, point.split(","))) for point in points.split()]
    rules = [float(y) for y in re.findall(r'class="rule"[^>]* y1="([\d.]+)"', svg)]
    labels = re.findall(r'<text class="tick end"[^>]*>([^<]*)</text>', svg)
    heights = dict(zip(labels, rules, strict=True))
    assert places[0][1] == heights["0"]
    assert places[1][1] == heights["1"]
    assert places[2][1] == pytest.approx((heights["0"] + heights["1"]) / 2, abs=0.1)
    assert places[1][0] == pytest.approx((places[0][0] + places[2][0]) / 2, abs=0.1)
    assert heights["0"] > heights["1"]  # larger values stand higher
    assert places[0][0] < places[1][0] < places[2][0]
    assert "line: 0.5 at last" in svg
    for axis, coordinate, value in (("x", 0, 50.0), ("y", 1, 1.0)):  # what charts.js reads values from
        (ends,) = re.findall(rf'data-{axis}="([^"]*)"', svg)
        start, low, end, high = map(float, ends.split())
        assert low + (places[1][coordinate] - start) / (end - start) * (high - low) == pytest.approx(value, rel=1e-3)


@given(low=st.floats(-1e6, 1e6), digits=st.integers(-6, 9), share=st.floats(0, 1))
def test_ticks(low: float, digits: int, share: float) -> None:
    high = low + 10.0**digits * share
    found = ticks(low, high, 4)
    steps = [after - before for before, after in pairwise(found)]
    slack = 1e-6 * max(abs(low), abs(high), high - low) + SMALLEST
    assert 2 <= len(found) <= 6
    assert found[0] <= low + slack
    assert found[-1] + steps[-1] >= high - slack
    assert steps == pytest.approx([steps[0]] * len(steps), abs=slack + 1e-12)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (1500.0, "1.5k"), (2e6, "2M"), (-3e9, "-3G"), (0.001, "0.001"), (-0.25, "-0.25"), (999.0, "999")],
)
def test_numbers_on_axes(value: float, text: str) -> None:
    assert number(value) == text


def test_long_lines_show_means_of_neighbours() -> None:
    points = [(float(i), float(i % 2)) for i in range(1000)]
    found = thinned(points, 250)
    assert len(found) == 250
    assert found[0] == (1.5, 0.5)
    assert thinned(points[:250], 250) == points[:250]
