"""How a run is judged: with the table's parameters of the environment, and beside its scripts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from warpworld.cli.reproduce.playing import EXAMINED_WITH, scores_of
from warpworld.cli.reproduce.sections import Judged
from warpworld.config import config_from_dict, with_env
from warpworld.errors import RunError
from warpworld.runs import Run
from warpworld.trainers import load_policies
from warpworld.trainers.collecting.players import Scripted
from warpworld.trainers.evaluate import evaluate
from warpworld.trainers.evaluations import measures_of
from warpworld.trainers.play import play, play_groups
from warpworld.trainers.trainer import Trainer

CONFIG: dict[str, Any] = {
    "name": "tag_gridworld",
    "env": {"num_taggers": 2, "grid_length": 4, "episode_length": 5},
    "trainer": {"num_envs": 4, "num_steps": 8, "total_env_steps": 64, "device": "cpu"},
    "policy": {"tagger": {"num_minibatches": 1}, "runner": {"num_minibatches": 1}},
}


DUELS: dict[str, Any] = {
    "name": "deathmatch",
    "env": {"plans": "box", "res": 8, "subsample": 1, "fire_cone": 30.0, "kills_to_win": 1, "episode_length": 60},
    "trainer": {"num_envs": 4, "num_steps": 8, "total_env_steps": 64, "device": "cpu"},
    "policy": {
        "fighter": {
            "groups": ["player", "rival"],
            "num_minibatches": 1,
            "self_play": {"groups": ["rival"], "slots": 2, "opponents": ["turret"]},
        }
    },
}


def trained(config: dict[str, Any], folder: Path) -> Run:
    """A run that has learnt for a moment."""
    trainer = Trainer(config_from_dict(config))
    run = trainer.create_run(folder)
    assert run is not None
    trainer.train(run)
    run.close()
    return run


@pytest.mark.long
def test_scores_are_of_the_judged_environment_and_of_scripts_in_place_of_all_who_learn(tmp_path: Path) -> None:
    run = trained(CONFIG, tmp_path)
    how = Judged(metric="runner", episodes=64, env={"episode_length": 30}, references=("greedy",))
    found = scores_of(run, how)
    longer = with_env(run.config, how.env)
    for name, greedy in (("drawn", False), ("greedy", True)):
        played = evaluate(run, 64, EXAMINED_WITH, greedy, played_in=longer)["runner"]
        assert (found[name], found["at_random"]) == (played["mean_return"], played["random_return"])

    scripted = {name: {"algorithm": "script", "script": "greedy"} for name in CONFIG["policy"]}
    by_script = config_from_dict({**CONFIG, "env": longer.env, "policy": scripted})
    returns = play(by_script, {"tagger": None, "runner": None}, 64, EXAMINED_WITH).returns["runner"]
    assert found["references"] == {"greedy": float(returns.mean())}
    assert found["references"]["greedy"] != found["drawn"]


@pytest.mark.long
def test_a_score_against_opponents_is_the_worst_of_those_against_each(tmp_path: Path) -> None:
    """Beside the same duels with a player for each group."""
    run = trained(DUELS, tmp_path)
    how = Judged(metric="fighter", episodes=64, opponents=("walker", "turret"), earlier=0.25)
    found = scores_of(run, how)
    itself = found["against"].pop("itself at 0.25")  # which has not begun to learn
    scripts, policy = run.config.make_environment().scripts(), load_policies(run)["fighter"]
    for greedy in (False, True):
        players = {"player": policy, "rival": load_policies(run, 0)["fighter"]}
        returns = play_groups(run.config, players, 64, EXAMINED_WITH, greedy)["player"]
        assert itself[int(greedy)] == pytest.approx(float(returns.mean()), abs=1e-9)
    for name, greedy in (("walker", False), ("turret", False), ("turret", True)):  # a turret's actions are sure
        players = {"player": policy, "rival": Scripted(name, scripts[name])}
        returns = play_groups(run.config, players, 64, EXAMINED_WITH, greedy)["player"]
        assert found["against"][name][int(greedy)] == pytest.approx(float(returns.mean()), abs=1e-9)
    assert found["drawn"] == min(drawn for drawn, _ in found["against"].values())
    assert found["greedy"] == min(greedy for _, greedy in found["against"].values())
    assert len(set(found["against"].values())) == 2
    least = scores_of(run, how.model_copy(update={"lower_is_better": True, "earlier": None}))
    assert least["drawn"] == max(drawn for drawn, _ in found["against"].values())


def test_what_an_environment_measures_is_a_score(tmp_path: Path) -> None:
    """Measures of drawn, of likeliest and of random actions; the last is Kuhn poker's 11/24."""
    trainer = {"num_envs": 8, "num_steps": 8, "total_env_steps": 64, "device": "cpu"}
    player = {"groups": ["first", "second"], "num_minibatches": 1}
    run = Run.create(
        config_from_dict({"name": "kuhn_poker", "trainer": trainer, "policy": {"player": player}}), tmp_path
    )
    with_weights = Trainer(run.config)
    with_weights.train(run)
    run.close()
    found = scores_of(run, Judged(metric="eval/exploitability"))
    for name, greedy in (("drawn", False), ("greedy", True)):
        measured = measures_of(run.config, run.config.make_environment(), with_weights.policies, greedy)
        assert found[name] == pytest.approx(measured["eval/exploitability"], abs=1e-6)
    assert found["at_random"] == pytest.approx(11 / 24) and found["references"] == {}
    with pytest.raises(RunError, match=r"eval/exploitabilty is not measured. Did you mean 'eval/exploitability'\?"):
        scores_of(run, Judged(metric="eval/exploitabilty"))
