"""The learning experiments: what they ask, and that they run."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
import torch

from benchmarks.experiments import (
    CARTPOLE,
    DEATHMATCH,
    EXPERIMENTS,
    EXPLORER,
    POINT_GOAL,
    TAG_CONTINUOUS,
    TAG_GRIDWORLD,
    WAYPOINT,
    deathmatch,
    experiment,
    greedy,
)
from benchmarks.experiments import main as experiments_main
from benchmarks.experiments.main import main
from benchmarks.experiments.recent_return import RecentReturn
from benchmarks.experiments.training import POINTS, thinned
from warpworld.runs import Run
from warpworld.trainers.evaluate import load_policies


def test_the_recent_return_takes_whole_iterations_from_the_last_back() -> None:
    recent = RecentReturn()

    def after(episodes: int, value: float) -> float | None:
        return recent.after({"charts/episodes": episodes, "charts/agent/episodic_return": value})

    assert after(40, 10.0) is None
    assert after(0, float("nan")) is None
    assert after(70, 20.0) == pytest.approx((70 * 20 + 40 * 10) / 110)
    assert after(60, 30.0) == pytest.approx((60 * 30 + 70 * 20) / 130)  # the first 40 are too long ago
    assert after(0, float("nan")) == pytest.approx((60 * 30 + 70 * 20) / 130)


def test_changes_are_merged_and_another_algorithm_replaces_the_entry() -> None:
    config = TAG_GRIDWORLD.config(seed=7)
    assert config.trainer.seed == 7
    assert config.policy["runner"].algorithm == "random"
    assert config.policy["tagger"].gamma == 0.95
    assert config.policy["tagger"].update_epochs == 4  # of the packaged config
    plane = TAG_CONTINUOUS.config(seed=1)
    assert (plane.env["num_taggers"], plane.env["num_runners"]) == (5, 20)


def test_claims() -> None:
    assert CARTPOLE.holds({"seconds_to_475": 59.0})
    assert not CARTPOLE.holds({"seconds_to_475": 61.0})
    assert not CARTPOLE.holds({"seconds_to_475": None})
    assert TAG_GRIDWORLD.holds({"steps": 39.0, "steps_of_random_taggers": 80.0, "seconds": 100.0})
    assert not TAG_GRIDWORLD.holds({"steps": 41.0, "steps_of_random_taggers": 80.0, "seconds": 100.0})
    assert not TAG_GRIDWORLD.holds({"steps": 39.0, "steps_of_random_taggers": 80.0, "seconds": 181.0})
    pairs = {("trained", "trained"): (5.0, -2.0), ("trained", "random"): (9.0, -4.0)}
    pairs |= {("random", "trained"): (1.0, 0.0), ("random", "random"): (3.0, -1.0)}
    figures = {
        f"{name}_when_{tagger}_meets_{runner}": values[i]
        for (tagger, runner), values in pairs.items()
        for i, name in enumerate(("tagger", "runner"))
    }
    assert TAG_CONTINUOUS.holds(figures)
    for worse in ("tagger_when_trained_meets_random", "tagger_when_trained_meets_trained"):
        assert not TAG_CONTINUOUS.holds({**figures, worse: 0.5})
    for worse in ("runner_when_trained_meets_trained", "runner_when_random_meets_trained"):
        assert not TAG_CONTINUOUS.holds({**figures, worse: -5.0})

    assert EXPLORER.holds({"ratio": 2.0, "cpu_seconds": 600.0})
    assert not EXPLORER.holds({"ratio": 1.99, "cpu_seconds": 100.0})
    assert not EXPLORER.holds({"ratio": 3.0, "cpu_seconds": 601.0})
    assert POINT_GOAL.holds({"solved": 0.5, "solved_at_random": 0.25, "cpu_seconds": 600.0})
    assert not POINT_GOAL.holds({"solved": 0.49, "solved_at_random": 0.25, "cpu_seconds": 100.0})
    assert not POINT_GOAL.holds({"solved": 0.5, "solved_at_random": 0.25, "cpu_seconds": 601.0})
    assert WAYPOINT.holds({"solved": 0.9, "seconds": 1800.0})
    assert not WAYPOINT.holds({"solved": 0.89, "seconds": 100.0})
    duels = {"beats_walker": 0.9, "beats_turret": 0.9, "beats_itself_at_a_quarter": 0.7, "seconds": 1800.0}
    assert DEATHMATCH.holds(duels)
    for name, value in (("beats_walker", 0.89), ("beats_turret", 0.5), ("beats_itself_at_a_quarter", 0.69)):
        assert not DEATHMATCH.holds({**duels, name: value})
    assert not DEATHMATCH.holds({**duels, "seconds": 1801.0})


def test_long_curves_are_thinned_to_means() -> None:
    short = [(1.0, 8, {"return": 2.0}), (2.0, 16, {"return": None})]
    assert thinned(short) == short
    long = [(float(i), 8 * i, {"return": float(i) if i % 2 else None}) for i in range(2 * POINTS)]
    assert thinned(long) == [(2.0 * i + 1, 8 * (2 * i + 1), {"return": 2.0 * i + 1}) for i in range(POINTS)]


def test_deathmatch_is_learnt_from_a_turret_too() -> None:
    opponents = DEATHMATCH.config(seed=1).policy["fighter"].self_play
    assert opponents is not None
    assert set(opponents.opponents) == {"turret"}  # the walker is met in the examination alone


def test_only_kills_win_duels(monkeypatch: pytest.MonkeyPatch) -> None:
    """1.25 is a kill with three shots taken, 0.75 three shots at the time limit."""
    returns = torch.tensor([[2.0], [1.25], [0.75], [-2.0]])
    monkeypatch.setattr(deathmatch, "play_groups", lambda config, players, *_, **__: dict.fromkeys(players, returns))
    trained = experiment.Trained(DEATHMATCH.config(seed=1), {}, {}, [], 0.0)
    assert deathmatch.wins(trained.config, None, None) == 0.5


@pytest.mark.slow
@pytest.mark.parametrize("which", EXPERIMENTS.values(), ids=EXPERIMENTS)
def test_a_short_one(
    which: experiment.Experiment,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    trainer = {"num_envs": 16, "num_steps": 40, "total_env_steps": 1920}
    has_limit = "episode_length" in which.config(seed=1).env
    env = {"episode_length": 30} if has_limit and which is not CARTPOLE else {}
    monkeypatch.setattr(deathmatch, "DUEL", {"kills_to_win": 1, "episode_length": 30})
    changes = {**which.changes, "trainer": trainer, "saving": {"log_every": 1}}
    changes["env"] = {**which.changes.get("env", {}), **env}
    monkeypatch.setitem(EXPERIMENTS, which.name, dataclasses.replace(which, changes=changes))
    monkeypatch.setattr(experiment, "EPISODES", 16)
    saved, picture = tmp_path / "saved.json", tmp_path / "curves.png"
    kept = tmp_path / "kept"
    main([which.name, "--seeds", "2", "--save", str(saved), "--draw", str(picture), "--keep", str(kept)])
    runs = json.loads(saved.read_text())["results"][which.name]
    assert [run["seed"] for run in runs] == [1, 2]
    assert [steps for _, steps, _ in runs[0]["curve"]] == [640, 1280, 1920]
    assert set(runs[0]["curve"][0][2]) == set(which.curves)
    assert picture.read_bytes().startswith(b"\x89PNG")
    run = Run.open(kept / which.name)
    assert run.config.trainer.seed == 1
    assert set(load_policies(run, "best")) == set(run.config.policy)
    printed = capsys.readouterr().out
    assert which.claim in printed
    assert "seed 2" in printed
    again = tmp_path / "new" / "curves.png"
    main(["--load", str(saved), "--draw", str(again)])
    assert capsys.readouterr().out == printed
    assert again.read_bytes() == picture.read_bytes()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["chess"], "no experiment chess; there are cartpole, tag_gridworld, tag_continuous, explorer, waypoint"),
        (["--seeds", "0"], "--seeds: 0, expected at least 1"),
        (["--first-seed", "0"], "--first-seed: 0, expected at least 1"),
        (["cartpole", "--load", "saved.json"], "--load trains nothing: give neither experiments nor --save"),
        (["--keep", "runs", "--load", "saved.json"], "nor --save nor --keep"),
        (["--load", "missing.json"], "missing.json cannot be read as results of these experiments"),
        (["--load", "others.json"], "others.json holds results of chess, expected cartpole"),
    ],
)
def test_what_cannot_be_run(
    arguments: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("others.json").write_text('{"results": {"chess": []}}')
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    assert said in capsys.readouterr().err


def test_seeds_are_kept_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What has been trained is there when a later seed fails."""

    def run_seed(which: experiment.Experiment, seed: int, kept: Path | None) -> dict[str, object]:
        if seed == 6:
            raise KeyboardInterrupt
        return {"seed": seed, "figures": {}, "holds": True, "curve": []}

    monkeypatch.setattr(experiments_main, "run_seed", run_seed)
    saved = tmp_path / "new" / "saved.json"
    with pytest.raises(KeyboardInterrupt):
        main(["cartpole", "--first-seed", "4", "--save", str(saved)])
    assert [run["seed"] for run in json.loads(saved.read_text())["results"]["cartpole"]] == [4, 5]


def test_an_examination_compares_learnt_policies_with_random_ones() -> None:
    wanted = greedy.Wanted({"agent": 20.0}, cpu_seconds=60, episodes=20)
    claim = greedy.learns("cartpole", "episodes of 20 steps", wanted)
    assert claim.curves == {"charts/agent/episodic_return": "agent: mean return while exploring"}
    trained = experiment.Trained(claim.config(seed=1), {"agent": None}, {}, [(2.0, 1000, {})], 1.5)
    figures = claim.judge(trained)
    assert figures["agent_greedy_return"] == figures["agent_random_return"]  # None plays at random in both
    assert (figures["seconds"], figures["cpu_seconds"]) == (2.0, 1.5)
    assert claim.holds({"agent_greedy_return": 20.0, "cpu_seconds": 60.0})
    assert not claim.holds({"agent_greedy_return": 19.9, "cpu_seconds": 60.0})
    assert not claim.holds({"agent_greedy_return": 20.0, "cpu_seconds": 60.1})
    assert not claim.holds({"agent_greedy_return": None, "cpu_seconds": 1.0})
