"""Playing a run's policies."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.trainers.measured import AGENTS, MeasuredEpisodes, expected
from warpworld.cli.main import main
from warpworld.config import config_from_dict, load_config
from warpworld.errors import RunError
from warpworld.runs import Run
from warpworld.trainers import play as playing
from warpworld.trainers import rounds as playing_rounds
from warpworld.trainers.building import build_policies, build_world
from warpworld.trainers.evaluate import evaluate, load_policies

TRAINER = {"num_envs": 4, "num_steps": 4, "total_env_steps": 16}


def run_of(tmp_path: Path, name: str, preferred: Mapping[str, Any], env: Mapping[str, Any] | None = None) -> Run:
    """A run of an env of small_worlds whose policies, one a group, have the given logits whatever they see."""
    policies = {group: {"num_minibatches": 1} for group in preferred}
    data = {"name": f"tests.trainers.small_worlds:{name}", "env": env or {}, "trainer": TRAINER, "policy": policies}
    run = Run.create(config_from_dict(data), tmp_path)
    built = build_policies(run.config, build_world(run.config, num_envs=1).environment, torch.Generator())
    for group, logits in preferred.items():
        last = built[group].model.actor_layers[-1]
        torch.nn.init.zeros_(last.weight)
        last.bias.data.copy_(torch.as_tensor(logits))
    run.save_checkpoint(0, {"policies": {group: policy.state_dict() for group, policy in built.items()}})
    return run


CERTAIN = {"a": [0.0, 1e8, 0.0], "b": [0.0, 1e8, 0.0]}
UNEVEN = {"left": [0.0] * 3, "right": [0.0] * 3}


# --- returns ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("episodes", "max_envs"), [(8, 1024), (24, 8), (21, 8)])
def test_every_env_counts_equally(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, episodes: int, max_envs: int
) -> None:
    monkeypatch.setattr(playing_rounds, "MAX_ENVS", max_envs)
    run = run_of(tmp_path, "Uneven", UNEVEN, env={"ends": [1, 7], "episode_length": 100})
    results = evaluate(run, episodes)
    for key in ("mean_return", "against_random", "random_return"):  # episodes of 1 step count as much as those of 7
        assert results["left"][key] == 4 * 1.5
        assert results["right"][key] == 4 * 4.0
    rounds = -(-episodes // min(episodes, max_envs))
    returns = torch.tensor([4.0, 28.0] * (min(episodes, max_envs) // 2 * rounds))
    expected = 1.96 * returns.std().item() / len(returns) ** 0.5
    assert results["right"]["confidence"] == pytest.approx(expected, rel=1e-4)


def test_lengths_and_returns_of_each_episode(tmp_path: Path) -> None:
    config = run_of(tmp_path, "Uneven", UNEVEN, env={"ends": [3, 5], "episode_length": 9}).config
    played = playing.play(config, {"left": None, "right": None}, episodes=4)
    assert played.lengths.tolist() == [3, 5, 3, 5]  # envs in turn
    assert played.returns["left"].tolist() == [4.5, 7.5, 4.5, 7.5]  # 1 and 2 a step, mean over both agents
    assert played.returns["right"].tolist() == [12.0, 20.0, 12.0, 20.0]


def test_metrics_of_the_environments_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(playing_rounds, "MAX_ENVS", 5)
    policies = {name: {"algorithm": "random"} for name in AGENTS}
    data = {"name": "tests.trainers.measured:Measured", "trainer": TRAINER, "policy": policies}
    played = playing.play(config_from_dict(data), dict.fromkeys(AGENTS), episodes=13, seed=4)  # three of each env
    finished = MeasuredEpisodes(5, seed=4).steps(60)
    of_envs = [[each for each in finished if each[0]["env"] == env][:3] for env in range(5)]
    assert played.metrics == pytest.approx(expected([each for env in of_envs for each in env]), rel=1e-12)
    assert played.lengths.tolist() == [len(each) for env in of_envs for each in env]


def test_each_policy_has_the_metrics_of_its_groups(tmp_path: Path) -> None:
    policies = {name: {"num_minibatches": 1} for name in AGENTS}
    data = {"name": "tests.trainers.measured:Measured", "trainer": TRAINER, "policy": policies}
    run = Run.create(config_from_dict(data), tmp_path)
    built = build_policies(run.config, build_world(run.config, num_envs=1).environment, torch.Generator())
    run.save_checkpoint(0, {"policies": {name: policy.state_dict() for name, policy in built.items()}})
    results = evaluate(run, episodes=8)
    of_env = ["env/score", "env/lucky"]
    for name in AGENTS:
        own = [f"env/{name}/height", f"env/{name}/leaps", *of_env]
        suffixes = "", "/random", "/against_random"
        assert list(results[name])[6:] == [f"{metric}{suffix}" for suffix in suffixes for metric in own]
    assert [results["left"][name] for name in of_env] == [results["right"][name] for name in of_env]
    assert results["left"]["env/score"] > 0


def test_one_episode_has_no_confidence(tmp_path: Path) -> None:
    run = run_of(tmp_path, "Uneven", UNEVEN, env={"ends": [3]})
    results = evaluate(run, episodes=1)
    assert results["left"] == {
        "mean_return": 4.5,
        "confidence": float("inf"),
        "against_random": 4.5,
        "random_return": 4.5,
        "episodes": 1,
        "unfinished": 0,
    }


def test_rewards_of_agents_that_have_left_do_not_count(tmp_path: Path) -> None:
    preferred = {"left": [0.0, -1e8, -1e8, -1e8], "right": [0.0, -1e8, -1e8, 0.0, -1e8]}
    run = run_of(tmp_path, "Relay", preferred, env={"leave_at": 2, "episode_length": 6})
    results = evaluate(run, episodes=8)
    assert results["left"]["mean_return"] == (3 + 36 + 90) / 3
    assert results["right"]["mean_return"] == (201 + 261) / 2
    assert 43.0 < results["left"]["random_return"] < 1000.0


def test_opponents(tmp_path: Path) -> None:
    results = evaluate(run_of(tmp_path, "Duel", CERTAIN), episodes=4000)
    assert results["a"]["mean_return"] == results["b"]["mean_return"] == 1.0
    assert results["a"]["confidence"] == 0.0
    assert results["a"]["against_random"] == pytest.approx(1 / 3, abs=0.03)
    assert results["b"]["against_random"] == 1.0  # b's reward is its own affair
    assert results["a"]["random_return"] == pytest.approx(1 / 9, abs=0.02)
    assert results["b"]["random_return"] == pytest.approx(1 / 3, abs=0.03)


def test_greedy_takes_the_likeliest(tmp_path: Path) -> None:
    run = run_of(tmp_path, "Duel", {"a": [0.0, 1.0, 0.0], "b": [0.0, 0.01, 0.0]})
    drawn, greedy = evaluate(run, 4000), evaluate(run, 4000, greedy=True)
    assert greedy["a"]["mean_return"] == greedy["b"]["mean_return"] == 1.0
    assert drawn["b"]["mean_return"] == pytest.approx(1 / 3, abs=0.03)
    assert drawn["a"]["mean_return"] == pytest.approx(0.576 / 3, abs=0.03)
    assert greedy["a"]["random_return"] == drawn["a"]["random_return"]  # random actions are drawn in any case
    assert greedy["a"]["against_random"] == pytest.approx(1 / 3, abs=0.03)


@pytest.mark.long
def test_the_seed_decides(tmp_path: Path) -> None:
    run = run_of(tmp_path, "Duel", {"a": [0.0] * 3, "b": [0.0] * 3})
    first = evaluate(run, 500, seed=3)
    assert evaluate(run, 500, seed=3) == first
    assert evaluate(run, 500, seed=4) != first


def test_cartpole_at_random(tmp_path: Path) -> None:
    run = Run.create(load_config("cartpole"), tmp_path)
    built = build_policies(
        run.config, build_world(run.config, num_envs=1).environment, torch.Generator().manual_seed(0)
    )
    run.save_checkpoint(0, {"policies": {"agent": built["agent"].state_dict()}})
    result = evaluate(run, episodes=2048)["agent"]
    assert 21.2 < result["random_return"] < 23.4  # 22.3 on average, with a standard deviation of 12 an episode
    assert abs(result["mean_return"] - result["random_return"]) < 3 * result["confidence"]  # not trained yet


# --- checkpoints that cannot be played --------------------------------------------------------------------------------


def test_without_a_checkpoint(tmp_path: Path) -> None:
    run = Run.create(load_config("cartpole"), tmp_path)
    with pytest.raises(RunError, match="has no checkpoint"):
        evaluate(run)


WEIGHT = "model.actor_layers.0.weight"


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({}, "it holds no policies"),
        ({"policies": 5}, "it holds no policies"),
        ({"policies": {"b": {}}}, "the checkpoint has no policy 'a', only 'b'"),
        (
            {"policies": {"a": {WEIGHT: torch.zeros(3, 3)}, "b": {}}},
            rf"policy 'a': {WEIGHT} has shape \(3, 3\) in the checkpoint, \(\d+, \d+\) in the policy that config.yaml "
            "describes",
        ),
        ({"policies": {"a": [1, 2]}}, r"the saved policy 'a' is \[1, 2\], expected a dict of tensors: .*"),
        ({"config": "[", "policies": {}}, "the configuration in its checkpoint, line 1: YAML syntax error: .*"),
        ({"config": "name: x", "policies": {}}, "it was learnt in the environment 'x', and config.yaml names '.*Duel'"),
        ({"config": "a: x", "policies": {}}, "it was learnt in the environment None, and config.yaml names '.*Duel'"),
    ],
)
def test_a_foreign_checkpoint(tmp_path: Path, state: dict[str, Any], message: str) -> None:
    run = run_of(tmp_path, "Duel", CERTAIN)
    run.save_checkpoint(1, state)
    whole = (
        rf"^run '{run.path}': the checkpoint does not fit config.yaml: {message}; play a checkpoint in the run "
        "that wrote it$"
    )
    with pytest.raises(RunError, match=whole) as error:
        evaluate(run)
    assert "\n" not in str(error.value)


def test_a_checkpoint_of_another_environment_with_the_same_shapes(tmp_path: Path) -> None:
    run = run_of(tmp_path, "Duel", CERTAIN)
    state = run.load_checkpoint(0)
    run.save_checkpoint(1, {**state, "config": run.config.to_yaml().replace("Duel", "Other")})
    with pytest.raises(RunError, match=r"it was learnt in the environment '.*Other', and config.yaml names '.*Duel'"):
        evaluate(run)


@pytest.mark.long
def test_the_latest_checkpoint_is_played(tmp_path: Path) -> None:
    run = run_of(tmp_path, "Duel", CERTAIN)
    state = run.load_checkpoint(0)
    for name, value in state["policies"]["b"].items():
        state["policies"]["b"][name] = value * 0
    run.save_checkpoint(30, state)
    policies = load_policies(run)
    assert policies["b"].model.actor_layers[-1].bias.tolist() == [0.0] * 3
    assert policies["a"].model.actor_layers[-1].bias.tolist() == CERTAIN["a"]
    assert evaluate(run, 2000)["a"]["mean_return"] == pytest.approx(1 / 3, abs=0.05)
    assert evaluate(run, 2000, checkpoint=0)["a"]["mean_return"] == 1.0
    with pytest.raises(RunError, match=r"no checkpoint of iteration 31, the nearest is 30$"):
        evaluate(run, checkpoint=31)


@pytest.mark.long
def test_episodes_that_do_not_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(playing_rounds, "PATIENCE", 30)
    run = run_of(tmp_path, "Uneven", UNEVEN, env={"ends": [0, 4], "episode_length": 29})
    assert evaluate(run, episodes=4)["left"]["mean_return"] == 1.5 * (29 + 4) / 2
    run = run_of(tmp_path, "Uneven", UNEVEN, env={"episode_length": 10**6})
    with pytest.raises(
        RunError, match=r"no episode of .*:Uneven ended in 30 steps; give it a time limit, or stop after"
    ):
        evaluate(run, episodes=4)


@pytest.mark.long
def test_a_limit_to_the_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of four envs two end after 2 and 4 of 5 steps, and begin another round; the others never end."""
    monkeypatch.setattr(playing_rounds, "MAX_ENVS", 4)
    run = run_of(tmp_path, "Uneven", UNEVEN, env={"ends": [2, 0, 4, 0], "episode_length": 10**6})
    played = playing.play(run.config, {"left": None, "right": None}, episodes=8, steps=5)
    assert played.lengths.tolist() == [2, 2, 5, 4, 1, 5]
    assert played.returns["left"].tolist() == [1.5 * length for length in (2, 2, 5, 4, 1, 5)]
    assert played.unfinished == 3
    assert evaluate(run, 8, steps=5)["left"]["mean_return"] == 1.5 * 19 / 6
    assert main(["eval", str(run.path), "--episodes", "8", "--steps", "5"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "stopped after 5 steps of each env: 3 of 6 episodes unfinished"
    run = run_of(tmp_path, "Uneven", UNEVEN, env={"ends": [2]})
    assert main(["eval", str(run.path), "--episodes", "8", "--steps", "5"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "all 8 episodes ended within 5 steps of each env"
