"""`python -m benchmarks.stages`: where stages begin, which selves stand for them, and what is printed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.stages import WINDOW, Stage, beginnings, main, smoothed, stages_of
from warpworld.config import config_from_dict
from warpworld.trainers.trainer import Trainer

pytestmark = pytest.mark.cpu_backend


def test_means_of_the_last_values() -> None:
    values = np.random.default_rng(0).uniform(size=3 * WINDOW)
    expected = [values[max(end - WINDOW, 0) : end].mean() for end in range(1, len(values) + 1)]
    np.testing.assert_allclose(smoothed(values), expected, rtol=1e-12)


def test_stages_begin_where_their_metrics_pass_a_mark() -> None:
    """Hidden falls from 0.9 to 0.5 at index 40, below 0.7 at 21; doors before the chase do not count."""
    hidden = np.concatenate([np.linspace(0.9, 0.5, 41), np.full(60, 0.95)])
    covered, sealed = np.zeros(101), np.zeros(101)
    covered[5:8], covered[50:], sealed[60:] = 0.6, 0.5, 0.7
    found = beginnings({"hidden": hidden, "covered": covered, "sealed": sealed})
    assert found == {"start": 0, "chase": 21, "doors": 50, "locks": 60}
    assert beginnings({"hidden": hidden, "covered": covered, "sealed": 0 * sealed}) == {
        "start": 0,
        "chase": 21,
        "doors": 50,
    }
    moved = np.repeat([0.0, 2.9, 3.0], [10, 20, 71])
    in_the_open = {"hidden": hidden, "covered": covered, "sealed": sealed, "box_moved": moved}
    assert beginnings(in_the_open, is_open=True) == {
        "start": 0,
        "chase": 21,
        "shields": 30,
        "shelters": 50,
        "locks": 60,
    }


def test_a_stage_s_self_is_its_last_checkpoint() -> None:
    begin = {"start": 0, "chase": 9, "doors": 50, "locks": 60}
    found = stages_of(begin, range(1, 102), [0, 20, 40, 80, 101])
    assert found == [Stage("start", 1, 0), Stage("chase", 10, 40), Stage("doors", 51, 80), Stage("locks", 61, 101)]


def test_a_run_from_its_start_to_a_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trainer = {"num_envs": 8, "num_steps": 80, "total_env_steps": 1280, "device": "cpu"}
    data = {"name": "hide_and_seek", "trainer": trainer, "policy": {"hider": {}, "seeker": {}}}
    training = Trainer(config_from_dict(data))
    run = training.create_run(tmp_path)
    assert run is not None
    training.train(run)
    run.close()
    main([str(run.path), "seekers_lock=false", "--episodes", "8", "--picture", str(tmp_path / "stages.png")])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["stage", "begins", "self", "of", "iteration"]
    assert lines[1].split() == ["start", "0.00", "M", "env", "steps", "0"]
    assert lines[-1] == str(tmp_path / "stages.png") and (tmp_path / "stages.png").stat().st_size > 10_000
    rates, outcomes = [line.split()[1:] for line in lines if line.split()[:1] == ["start"]][-2:]
    assert 0 <= float(rates[0]) <= 1
    names = lines[lines.index("means over episodes of both teams of a stage") + 1].split()
    found = dict(zip(names, map(float, outcomes), strict=True))
    assert 0 <= found["hidden"] <= 1 and found["seeker_locks"] == 0  # as the game is played
