"""``initial_data``: policies begin with the actions of a data set; what cannot be learnt from is refused."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from warpworld.cli.rollout.formats import write_npz
from warpworld.config import RunConfig, config_from_dict
from warpworld.errors import RunError
from warpworld.policies import Policy
from warpworld.trainers.evaluate import evaluate
from warpworld.trainers.from_python import Episode, played_episodes
from warpworld.trainers.trainer import Trainer

pytestmark = pytest.mark.cpu_backend


def config(name: str = "cartpole", group: str = "agent", env: dict[str, Any] | None = None, **entry: Any) -> RunConfig:
    """A run of one policy that learns, with others at random."""
    others = {"tag_continuous": {"tagger": {"algorithm": "random"}}}.get(name, {})
    settings: dict[str, Any] = {
        "name": name,
        "env": env or {},
        "trainer": {"num_envs": 8, "num_steps": 16, "total_env_steps": 256, "device": "cpu"},
        "policy": {group: {"algorithm": "ppo", "num_minibatches": 1, **entry}, **others},
    }
    return config_from_dict(settings)


def written(run: RunConfig, target: Path, rule: Any = None, episodes: int = 40) -> list[Episode]:
    """Write episodes of random actions, with those of a rule in their place where there is one."""
    played = played_episodes(run, dict.fromkeys(run.policy), episodes, seed=1)
    if rule is not None:
        of_rule = [{group: rule(seen[:-1]) for group, seen in each.observations.items()} for each in played]
        played = [dataclasses.replace(each, actions=done) for each, done in zip(played, of_rule, strict=True)]
    write_npz(played, run.make_environment().groups(), {"environment": run.title}, target)
    return played


def lean(seen: np.ndarray) -> np.ndarray:
    """A rule that keeps CartPole's pole up: push to where it falls."""
    return (seen[..., 2] + seen[..., 3] > 0).astype(np.int64)


def policy_of(run: RunConfig, name: str = "agent") -> Policy:
    policy = Trainer(run).policies[name]
    assert policy is not None
    return policy


@pytest.mark.parametrize("normalised", [False, True])
def test_a_policy_begins_as_the_rule_that_the_data_show(normalised: bool, tmp_path: Path) -> None:
    data = tmp_path / "rule.npz"
    played = written(config(), data, lean)
    seen = np.concatenate([each.observations["agent"][:-1, 0] for each in played])
    cloned = policy_of(config(initial_data=str(data), initial_epochs=20, model={"normalise_observations": normalised}))
    agree = cloned.act(seen, greedy=True) == lean(seen)
    assert agree.mean() > 0.95
    if normalised:
        assert cloned.normaliser is not None
        np.testing.assert_allclose(cloned.normaliser.mean, seen.mean(0, dtype=np.float64), atol=1e-6)


@pytest.mark.heavy
@pytest.mark.long
def test_training_begins_above_random_play_and_resumes_without_the_data(tmp_path: Path) -> None:
    data = tmp_path / "rule.npz"
    run_config = config(initial_data=str(data), initial_epochs=20, learning_rate=1e-12)  # PPO changes next to nothing
    written(config(), data, lean)
    trainer = Trainer(run_config)
    run = trainer.create_run(tmp_path / "runs")
    assert run is not None
    trainer.train(run, stop=lambda: trainer.iteration == 1)
    result = evaluate(run, episodes=50, greedy=True)["agent"]
    assert result["mean_return"] > 5 * result["random_return"]
    data.unlink()
    resumed = Trainer(run_config, initial_weights=False)
    resumed.resume(run)
    resumed.train(run)
    run.close()
    assert resumed.is_finished


def test_the_same_seed_gives_the_same_weights(tmp_path: Path) -> None:
    data = tmp_path / "rule.npz"
    written(config(), data, lean, episodes=8)
    one, other = (policy_of(config(initial_data=str(data))) for _ in range(2))
    assert all(torch.equal(mine, theirs) for mine, theirs in zip(one.parameters(), other.parameters(), strict=True))


def test_numbers_are_cloned_by_their_density(tmp_path: Path) -> None:
    data, env = tmp_path / "rule.npz", {"episode_length": 20}

    def against(seen: np.ndarray) -> np.ndarray:
        return -seen[..., 1:2]

    played = written(config("pendulum", env=env), data, against)
    seen = np.concatenate([each.observations["agent"][:-1, 0] for each in played])
    entry = {"initial_data": str(data), "initial_epochs": 300}
    error = policy_of(config("pendulum", env=env, **entry)).act(seen, greedy=True) - against(seen)
    assert np.abs(error).mean() < 0.25 * np.abs(against(seen)).mean()


@pytest.mark.heavy
@pytest.mark.long
def test_rows_that_do_not_count_teach_nothing(tmp_path: Path) -> None:
    """What agents that take no part saw and did is changed, and the weights are the same."""
    env = {"episode_length": 60}
    weights = []
    for changed in (False, True):
        data = tmp_path / f"{changed}.npz"
        run = config("tag_continuous", "runner", env)
        played = played_episodes(run, dict.fromkeys(run.policy), 8, seed=1)
        assert any(not each.agent_mask["runner"].all() for each in played)
        if changed:
            for each in played:
                each.actions["runner"][~each.agent_mask["runner"]] = 0
                each.observations["runner"][:-1][~each.agent_mask["runner"]] = 7.0
        write_npz(played, run.make_environment().groups(), {"environment": run.title}, data)
        weights.append(
            policy_of(config("tag_continuous", "runner", env, initial_data=str(data)), "runner").state_dict()
        )
    assert all(torch.equal(weights[0][key], weights[1][key]) for key in weights[0])


def test_players_who_wait_for_their_turn_teach_nothing(tmp_path: Path) -> None:
    """Half of the rows of a board game are of the player whose turn it is not."""
    data = tmp_path / "games.npz"
    settings: dict[str, Any] = {
        "name": "tic_tac_toe",
        "trainer": {"num_envs": 8, "num_steps": 16, "total_env_steps": 256, "device": "cpu"},
        "policy": {"both": {"algorithm": "ppo", "groups": ["first", "second"], "num_minibatches": 1}},
    }
    run = config_from_dict(settings)
    played = played_episodes(run, {"both": None}, 8, seed=1)
    groups = run.make_environment().groups()
    weights = []
    for other in (False, True):
        if other:  # what a waiting player does is ignored
            for each in played:
                for group in ("first", "second"):
                    each.actions[group][~each.action_mask[group].any(axis=2)] = 8
        write_npz(played, groups, {"environment": run.title}, data)
        settings["policy"]["both"]["initial_data"] = str(data)
        weights.append(policy_of(config_from_dict(settings), "both").state_dict())
    assert all(torch.equal(weights[0][key], weights[1][key]) for key in weights[0])


def test_a_game_that_was_saved_by_hand_is_data(tmp_path: Path) -> None:
    from tests.cli.play.named_worlds import Walkers, game_of
    from warpworld.cli.play.game_data import data_of

    game, data = game_of(Walkers, "right", length=40), tmp_path / "game.npz"
    while not game.has_ended:
        game.step([1])
    data.write_bytes(data_of(game))
    right = {"algorithm": "ppo", "num_minibatches": 1, "initial_data": str(data), "initial_epochs": 60}
    settings: dict[str, Any] = {
        "name": f"{Walkers.__module__}:Walkers",
        "trainer": {"num_envs": 2, "num_steps": 4, "total_env_steps": 80, "device": "cpu"},
        "policy": {"right": right, "left": {"algorithm": "random"}},
    }
    cloned = policy_of(config_from_dict(settings), "right")
    assert cloned.act(np.full((4, 1), 30.0, np.float32), greedy=True).tolist() == [1] * 4


def refuse(run: RunConfig, message: str) -> None:
    with pytest.raises(RunError, match=message):
        Trainer(run)


def test_what_cannot_be_learnt_from_is_refused(tmp_path: Path) -> None:
    data, other = tmp_path / "rule.npz", tmp_path / "other.npz"
    written(config(), data, lean, episodes=8)
    where = rf"^policy\.agent\.initial_data is '{data}'"
    refuse(config(initial_data="none.npz"), "'none.npz', which cannot be read: .*; write one with `warpworld")
    refuse(
        config(initial_data=str(tmp_path)), f"is '{tmp_path}', a folder; expected an npz file, such as {tmp_path}/data/"
    )
    (tmp_path / "text.npz").write_text("no archive")
    refuse(config(initial_data=str(tmp_path / "text.npz")), "text.npz', which cannot be read")
    np.savez(other, a=np.zeros(3))
    refuse(config(initial_data=str(other)), "other.npz', which is no data set; write one")
    refuse(config("pendulum", initial_data=str(data)), f"{where}: observations of group 'agent' are not the env")
    with np.load(data) as kept:
        arrays = {key: array.copy() for key, array in kept.items()}
    arrays["agent/actions"] = arrays["agent/actions"] + 5
    np.savez(other, **arrays)
    refuse(config(initial_data=str(other)), r"actions of group 'agent' are int64\(\), expected Discrete\(2\)")
    renamed = {key.replace("agent/", "agnet/"): array for key, array in arrays.items()}
    np.savez(other, **renamed)
    refuse(config(initial_data=str(other)), "data of groups agnet; expected group 'agent'. Did you mean 'agnet'")
    fits = {key: array for key, array in np.load(data).items()}
    np.savez(other, **(fits | {"lengths": fits["lengths"] + 1}))
    refuse(config(initial_data=str(other)), r"lengths of \d+ steps, but \d+ of group 'agent'")
    np.savez(other, **fits, **{"agent/agent_mask": np.zeros(fits["agent/rewards"].shape, dtype=bool)})
    refuse(config(initial_data=str(other)), "no row of group 'agent' counts in it")
    last = fits["agent/actions"].copy()
    last[-1] = 6
    np.savez(other, **(fits | {"agent/actions": last}))
    refuse(config(initial_data=str(other)), r"actions of group 'agent' are int64\(\), expected Discrete\(2\)")
    refuse(config(initial_data=str(data), model={"recurrent": "gru"}), f"{where}: expected a policy without memory")
    dqn = {"algorithm": "dqn", "initial_data": str(data)}
    entry = config().model_dump()
    entry["policy"] = {"agent": dqn}
    refuse(config_from_dict(entry), f"{where}: expected a policy that draws its actions")
