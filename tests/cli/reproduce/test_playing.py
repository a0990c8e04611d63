"""How a run is judged: with the table's parameters of the environment, and beside its scripts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from warpworld.cli.reproduce.playing import EXAMINED_WITH, scores_of
from warpworld.cli.reproduce.sections import Judged
from warpworld.config import config_from_dict, with_env
from warpworld.trainers.evaluate import evaluate
from warpworld.trainers.play import play
from warpworld.trainers.trainer import Trainer

CONFIG: dict[str, Any] = {
    "name": "tag_gridworld",
    "env": {"num_taggers": 2, "grid_length": 4, "episode_length": 5},
    "trainer": {"num_envs": 4, "num_steps": 8, "total_env_steps": 64, "device": "cpu"},
    "policy": {"tagger": {"num_minibatches": 1}, "runner": {"num_minibatches": 1}},
}


@pytest.mark.long
def test_scores_are_of_the_judged_environment_and_of_scripts_in_place_of_all_who_learn(tmp_path: Path) -> None:
    trainer = Trainer(config_from_dict(CONFIG))
    run = trainer.create_run(tmp_path)
    assert run is not None
    trainer.train(run)
    run.close()

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
