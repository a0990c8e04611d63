"""What is recorded of a run: its newest checkpoint or the one that is asked for, and the run's metrics as read."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from tests.report.recorded_worlds import Drawn, Plain, recording_of, run_of
from warpworld.drawing import Discs
from warpworld.errors import ConfigError, RunError
from warpworld.report.recording import record_random, record_run
from warpworld.report.replay import read_replay, replay_element, replay_text, write_replay
from warpworld.runs.metrics.metric_files import read_metrics
from warpworld.runs.metrics.points import curve_of, points_of, unbroken


def test_the_newest_checkpoint_is_played(tmp_path: Path) -> None:
    recording = record_run(run_of(Drawn, tmp_path, checkpoints=(0, 7)), episodes=2, seed=3)
    assert recording.about == "iteration 7, actions drawn, seed 3"
    assert (recording.episodes, recording.drawn) == (2, True)


def test_another_checkpoint_greedy_and_overridden(tmp_path: Path) -> None:
    run = run_of(Plain, tmp_path, checkpoints=(1000, 2000))
    recording = record_run(run, ["env.length=5"], greedy=True, checkpoint=1000)
    assert recording.about == "iteration 1,000, likeliest actions, seed 0"
    assert recording.frames[-1].timestep == 5


def test_a_run_without_a_checkpoint_acts_at_random(tmp_path: Path) -> None:
    run = run_of(Drawn, tmp_path, checkpoints=())
    recording, alone = record_run(run, seed=2), record_random(run.config, seed=2)
    assert recording.about == "no checkpoint yet, random actions, seed 2"
    assert alone.about == "random actions, seed 2"
    assert [frame.rewards.tolist() for frame in recording.frames] == [frame.rewards.tolist() for frame in alone.frames]


def test_mistakes(tmp_path: Path) -> None:
    run = run_of(Drawn, tmp_path, checkpoints=(0,))
    with pytest.raises(ConfigError, match=r"env\.lenght.*Did you mean 'length'"):
        record_run(run, ["env.lenght=5"])
    for checkpoints in ((0,), ()):
        with pytest.raises(RunError, match=r"no checkpoint of iteration 4|has no checkpoint"):
            record_run(run_of(Drawn, tmp_path / str(len(checkpoints)), checkpoints), checkpoint=4)


# ---- a replay's page, read again -------------------------------------------------------------------------------------
def test_a_saved_replay_is_read_as_it_was_written(tmp_path: Path) -> None:
    recording = recording_of([Discs([1, 2], 3, 0.5)], [], ends={1: "terminated"}, about='</script> "\u2028')
    page = write_replay(recording, tmp_path / "replay.html")
    assert read_replay(page) == replay_text(recording)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<p>nothing</p>", "holds no replay, expected a page that `warpworld watch` wrote"),
        (replay_element("[1]"), "holds no replay"),
        (replay_element('{"marks": []}'), "holds no replay"),
        (b"\xff\xfe", "cannot be read: "),
    ],
)
def test_a_page_without_a_replay(text: str | bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(RunError, match=message):
        read_replay(path)


# ---- metrics ---------------------------------------------------------------------------------------------------------
def test_a_last_line_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"env_steps": 1}\n{"env_steps": 3}\n{"env_st')
    metrics = read_metrics(path)
    assert metrics.rows == [{"env_steps": 1}, {"env_steps": 3}]
    assert str(metrics.damage) == ""


def test_metrics_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"metrics\.jsonl' cannot be read: No such file"):
        read_metrics(tmp_path / "metrics.jsonl")


def test_only_finite_numbers_are_points() -> None:
    values = [1, 2.5, True, "3", None, math.nan, math.inf, json.loads("1" + 400 * "0"), -4]
    rows = [{"env_steps": 10 * i, "loss": value} for i, value in enumerate(values)]
    assert points_of([*rows, {"loss": 7.0}, {"env_steps": 7.0}], "loss") == [(0, 1), (10, 2.5), (80, -4)]


def test_a_curve_has_gaps_where_what_was_logged_is_no_number() -> None:
    values = [None, 1.0, math.nan, "3", 2.0, None, 3.0]
    rows = [{"env_steps": i, "losses/a/x": value} for i, value in enumerate(values)]
    curve = curve_of([*rows, {"env_steps": 7}, {"env_steps": 8, "losses/a/x": 4.0}], "losses/a/x")
    assert [x for x, _ in curve] == [1, 2, 3, 4, 5, 6, 8]  # from the first number on; a row without it is no gap
    assert unbroken(curve) == [[(1, 1.0)], [(4, 2.0)], [(6, 3.0), (8, 4.0)]]
    assert unbroken([]) == unbroken([(1.0, math.nan)]) == []


@pytest.mark.parametrize("key", ["charts/a/episodic_return", "charts/episodic_length", "env/a/tags"])
def test_a_curve_of_episodes_goes_through_where_none_ended(key: str) -> None:
    rows = [{"env_steps": i, "charts/episodes": count, key: value} for i, count, value in ((1, 200, 5.0), (2, 0, None))]
    assert curve_of([*rows, {"env_steps": 3, "charts/episodes": 100, key: 6.0}], key) == [(1, 5.0), (3, 6.0)]
    assert len(curve_of([*rows, {"env_steps": 3, "charts/episodes": 100, key: None}], key)) == 2


def test_a_loss_that_is_no_number_is_a_gap_where_no_episode_ended() -> None:
    rows = [{"env_steps": i, "charts/episodes": 0, "losses/a/x": value} for i, value in enumerate((1.0, None, 2.0))]
    assert len(unbroken(curve_of(rows, "losses/a/x"))) == 2
