"""Evaluations against opponents that are named, the environment's own metrics in them, and parts by a parameter."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.trainers.measured import AGENTS
from tests.trainers.test_evaluate import CERTAIN, run_of
from warpworld.cli.main import main
from warpworld.config import config_from_dict
from warpworld.errors import ConfigError
from warpworld.runs import Run
from warpworld.trainers.building import build_policies, build_world
from warpworld.trainers.evaluate import evaluate
from warpworld.trainers.play import play

TRAINER = {"num_envs": 4, "num_steps": 4, "total_env_steps": 16}


def untrained(folder: Path, name: str, groups: Any, env: Any = None) -> Run:
    """A run whose policies, one a group, are as they were made."""
    policies = {group: {"num_minibatches": 1} for group in groups}
    run = Run.create(config_from_dict({"name": name, "env": env or {}, "trainer": TRAINER, "policy": policies}), folder)
    built = build_policies(run.config, build_world(run.config, num_envs=1).environment, torch.Generator())
    run.save_checkpoint(0, {"policies": {group: policy.state_dict() for group, policy in built.items()}})
    run.close()
    return Run.open(run.path)


# ---- opponents -------------------------------------------------------------------------------------------------------
def test_named_opponents(tmp_path: Path) -> None:
    """Agent a is paid where both choose 1, b where it does so itself."""
    run = run_of(tmp_path / "one", "Duel", CERTAIN)
    other = run_of(tmp_path / "other", "Duel", {"a": [1e8, 0.0, 0.0], "b": [1e8, 0.0, 0.0]})
    other.close()
    results = evaluate(run, episodes=4000, opponents=["random", str(other.path)])
    assert results["a"]["mean_return"] == 1.0 and results["b"]["mean_return"] == 1.0
    assert results["a"][f"against/{other.path.name}"] == 0.0
    assert results["b"][f"against/{other.path.name}"] == 1.0
    assert results["a"]["against/random"] == pytest.approx(1 / 3, abs=0.04)
    assert results["b"]["against/random"] == 1.0


@pytest.mark.parametrize(
    ("opponents", "message"),
    [
        (
            ["rndom"],
            "command line: opponent: 'rndom' is neither a script of the environment nor a run folder. Did you mean "
            "'random'? Known: random, RUN, RUN#NAME",
        ),
    ],
)
def test_opponents_that_there_are_none_of(tmp_path: Path, opponents: list[str], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        evaluate(run_of(tmp_path, "Duel", CERTAIN), episodes=4, opponents=opponents)
    assert str(caught.value) == message


def test_no_group_for_an_opponent(tmp_path: Path) -> None:
    run = untrained(tmp_path, "tests.trainers.levels:Levels", ["climber"])
    with pytest.raises(ConfigError) as caught:
        evaluate(run, episodes=4, opponents=["random"])
    assert str(caught.value) == (
        "command line: opponent: policy 'climber' plays the only group, 'climber', so that there is no group for an "
        "opponent; leave opponents out"
    )


# ---- metrics ---------------------------------------------------------------------------------------------------------
def test_metrics_of_each_pairing(tmp_path: Path) -> None:
    run = untrained(tmp_path, "tests.trainers.measured:Measured", AGENTS)
    results = evaluate(run, episodes=8, seed=3)
    at_random = play(run.config, dict.fromkeys(AGENTS), 8, seed=3).metrics
    for name in AGENTS:
        for metric in ("env/score", "env/lucky", f"env/{name}/height", f"env/{name}/leaps"):
            assert results[name][f"{metric}/random"] == at_random[metric]
            assert f"{metric}/against_random" in results[name]
    assert "env/right/height/random" not in results["left"]


def test_the_command_prints_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = untrained(tmp_path, "tests.trainers.measured:Measured", AGENTS)
    assert main(["eval", str(run.path), "--episodes", "8", "--opponent", "random"]) == 0
    rows = [line.split("  ") for line in capsys.readouterr().out.splitlines()]
    tables = [[text.strip() for text in row if text.strip()] for row in rows]
    assert tables[0][-1] == "against random"
    heading = next(row for row in tables if row[:1] == ["metric"])
    assert heading == ["metric", "mean", "all at random", "left against random", "right against random"]
    heights = next(row for row in tables if row[:1] == ["left: height"])
    assert len(heights) == 5 and heights[-1] == "-"  # of the right policy's games it is none


# ---- parts -----------------------------------------------------------------------------------------------------------
def test_parts_by_a_parameter_of_few_values(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    env = {"randomize": {"level": [1, 3]}}
    run = untrained(tmp_path, "tests.trainers.levels:Levels", ["climber"], env)
    result = evaluate(run, episodes=300, by="level")["climber"]
    for level in (1, 2, 3):
        assert result[f"mean_return/level={level}"] == level
        assert result[f"env/twice/level={level}"] == 2 * level
        assert 60 < result[f"episodes/level={level}"] < 140
    assert sum(result[f"episodes/level={level}"] for level in (1, 2, 3)) == 300
    assert main(["eval", str(run.path), "--episodes", "300", "--by", "level"]) == 0
    table = [line.split() for line in capsys.readouterr().out.split("\n\n")[-1].splitlines()]
    assert table[0] == ["level", "1", "2", "3"] and table[2] == ["climber:", "mean", "return", "1.00", "2.00", "3.00"]
    assert table[3] == ["twice", "2.00", "4.00", "6.00"]


def test_parts_by_a_parameter_of_many_values(tmp_path: Path) -> None:
    env = {"randomize": {"height": [0.0, 4.0]}}
    run = untrained(tmp_path, "tests.trainers.levels:Levels", ["climber"], env)
    result = evaluate(run, episodes=400, by="height")["climber"]
    labels = [key.removeprefix("episodes/height=") for key in result if key.startswith("episodes/height=")]
    assert len(labels) == 4 and sum(result[f"episodes/height={label}"] for label in labels) == 400
    for label in labels:
        low, high = map(float, label.split(" to "))
        assert 1 + low <= result[f"mean_return/height={label}"] <= 1 + high and high - low == pytest.approx(1, abs=0.03)


def test_results_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = untrained(tmp_path, "tests.trainers.levels:Levels", ["climber"])
    assert main(["eval", str(run.path), "--episodes", "1", "--by", "level", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)["policies"]["climber"]
    assert found["mean_return"] == 1.0 and found["confidence"] is None and found["mean_return/level=1"] == 1.0


def test_a_parameter_that_is_not_per_env(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = untrained(tmp_path, "tests.trainers.levels:Levels", ["climber"])
    assert main(["eval", str(run.path), "--by", "levl"]) == 2
    expected = (
        "error: by='levl': expected a parameter of Levels that each env has its own value of. Did you mean 'level'? "
        "Known: level, height\n"
    )
    assert capsys.readouterr().err.endswith(expected)


def test_a_value_that_would_be_drawn_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = untrained(tmp_path, "tests.trainers.levels:Levels", ["climber"], {"randomize": {"level": [1, 3]}})
    assert main(["eval", str(run.path), "env.level=2"]) == 2
    assert capsys.readouterr().err.endswith(
        "error: command line: env.level is drawn from [1, 3] at each reset, so that the value given for it has no "
        "effect; leave it out of env.randomize too, such as by env.randomize={}\n"
    )
    assert main(["eval", str(run.path), "env.level=2", "env.randomize={}", "--episodes", "8"]) == 0
    assert "climber  2.00 " in capsys.readouterr().out
