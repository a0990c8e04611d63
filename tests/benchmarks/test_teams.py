"""The comparison of team learners: what is trained, and what is made of the scores."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from benchmarks.experiments import experiment
from benchmarks.teams import ALGORITHMS, TASKS, main, tasks
from benchmarks.teams.summary import normalised, print_summary


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("name", TASKS)
def test_algorithms_share_task_steps_and_discount(name: str, algorithm: str) -> None:
    task = TASKS[name]
    config = task.experiment(algorithm).config(seed=12)
    entry = config.policy[task.policy]
    assert (config.name, config.trainer.total_env_steps, config.trainer.seed) == (name, task.env_steps, 12)
    assert (entry.algorithm, entry.gamma) == (algorithm, task.gamma)
    others = {key: value for key, value in config.policy.items() if key != task.policy}
    assert all(other.algorithm == "ppo" for other in others.values())


def runs(*scores: float) -> list[dict[str, Any]]:
    return [{"figures": {"score": score, "cpu_seconds": 1.0}} for score in scores]


def test_scores_are_normalised_by_chance_and_the_best_run() -> None:
    results = {
        "a": {"ppo": runs(2.0, 4.0), "vdn": runs(0.0, 1.0)},
        "b": {"ppo": runs(-5.0, -10.0), "vdn": runs(-6.0, 0.0)},
    }
    found = normalised(results, {"a": 0.0, "b": -10.0})
    np.testing.assert_allclose(found["ppo"], [[0.5, 1.0], [0.5, 0.0]])
    np.testing.assert_allclose(found["vdn"], [[0.0, 0.25], [0.4, 1.0]])


def test_what_was_saved_is_shown_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for seed, score in enumerate((0.1, 0.4)):
        curve = [
            (1.0, 100, {"charts/player/episodic_return": None}),
            (2.0, 900_000, {"charts/player/episodic_return": score}),
        ]
        found = {algorithm: [{**run, "seed": seed, "curve": curve} for run in runs(score)] for algorithm in ALGORITHMS}
        held = {"results": {"foraging": found}, "at_random": {"foraging": 0.0}}
        (tmp_path / f"{seed}.json").write_text(json.dumps(held))
    files = [str(tmp_path / f"{seed}.json") for seed in range(2)]
    main.main(["--load", *files, "--draw", str(tmp_path / "curves.png")])
    printed = capsys.readouterr().out
    assert printed.count("0.1, 0.4") == len(ALGORITHMS) and "interquartile mean" in printed
    assert Image.open(tmp_path / "curves.png").size[0] > 300


def test_tasks_that_an_algorithm_has_not_learnt_are_left_out_together(capsys: pytest.CaptureFixture[str]) -> None:
    whole = {"ppo": runs(0.1, 0.2), "vdn": runs(0.3, 0.4)}
    results = {"foraging": whole, "overcooked": {"ppo": runs(9.0, 9.0)}, "skirmish": {**whole, "vdn": runs(0.5)}}
    print_summary(results, dict.fromkeys(results, 0.0))
    printed = capsys.readouterr().out
    assert "foraging: normalised" in printed and printed.count("overcooked") == 1


@pytest.mark.cpu_backend
@pytest.mark.heavy
def test_a_short_training_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "EPISODES", 16)
    monkeypatch.setattr(experiment, "EPISODES", 16)
    monkeypatch.setitem(TASKS, "particles_spread", dataclasses.replace(TASKS["particles_spread"], env_steps=13_000))
    words = ["particles_spread", "--algorithms", "ppo", "vdn", "--seeds", "1", "--save", str(tmp_path / "kept.json")]
    main.main(words)
    kept = json.loads((tmp_path / "kept.json").read_text())
    assert [run["seed"] for found in kept["results"]["particles_spread"].values() for run in found] == [11, 11]
    assert kept["at_random"]["particles_spread"] < -15


def test_a_task_that_there_is_not() -> None:
    with pytest.raises(SystemExit, match="error: no task chess; there are particles_spread, foraging"):
        main.main(["chess"])
