"""A policy that a script plays: in all envs, in training, evaluations and matches; and what cannot be one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from warpworld.config import ScriptConfig, config_from_dict, load_config
from warpworld.errors import ConfigError, RunError
from warpworld.runs import Run
from warpworld.runs.metrics.metric_files import read_metrics
from warpworld.trainers.collecting.players import Scripted
from warpworld.trainers.evaluate import evaluate
from warpworld.trainers.from_python.loading import load_policy
from warpworld.trainers.loaded_policies import load_policies
from warpworld.trainers.play import play, play_groups
from warpworld.trainers.trainer import Trainer

SCRIPTED = {"script": "greedy"}


def tag(runner: dict[str, Any], **saving: Any) -> Any:
    data = {
        "name": "tag_gridworld",
        "trainer": {"num_envs": 8, "num_steps": 16, "total_env_steps": 3 * 8 * 16},
        "policy": {"tagger": {"num_minibatches": 1}, "runner": runner},
        "saving": saving,
    }
    return config_from_dict(data)


@pytest.mark.heavy
def test_it_plays_in_all_envs_in_training_and_after_it(tmp_path: Path) -> None:
    config = tag(SCRIPTED, eval_every=3, eval_episodes=8)
    trainer, run = Trainer(config), Run.create(config, tmp_path)
    trainer.train(run)
    actor = trainer.collector.actors["runner"]
    assert isinstance(actor.policy, Scripted) and actor.policy.name == "greedy" and not actor.is_random
    assert list(trainer.algorithms) == ["tagger"] and trainer.policies["runner"] is None
    assert "eval/tagger/drawn_return" in read_metrics(run.metrics_path).rows[-1]
    # after it: as play_groups with the script, and in every pairing of an evaluation
    policies = load_policies(run)
    script = Scripted("greedy", config.make_environment().scripts()["greedy"])
    both = {"tagger": policies["tagger"], "runner": script}
    expected, played = play_groups(config, both, 16, seed=3), play(config, policies, 16, seed=3)
    assert torch.equal(played.returns["runner"], expected["runner"].mean(1))
    found = evaluate(run, 16, seed=3)
    flees = play_groups(config, {"tagger": None, "runner": script}, 16, seed=3)
    assert found["runner"]["random_return"] == float(flees["runner"].mean())
    assert found["runner"]["random_return"] > float(
        play_groups(config, {"tagger": None, "runner": None}, 16, seed=3)["runner"].mean()
    )
    with pytest.raises(RunError, match=r"policy 'runner' of run .* is played by the script 'greedy': there is nothing"):
        load_policy(run, "runner")


@pytest.mark.heavy
def test_a_run_with_a_script_continues_as_if_it_had_not_stopped(tmp_path: Path) -> None:
    config = tag(SCRIPTED)
    whole, halves = (Run.create(config, tmp_path / name) for name in ("whole", "halves"))
    Trainer(config).train(whole)
    first = Trainer(config)
    first.train(halves, stop=lambda: first.iteration == 1)
    second = Trainer(config)
    second.resume(halves)
    second.train(halves)
    assert read_metrics(halves.metrics_path).rows == read_metrics(whole.metrics_path).rows


@pytest.mark.cpu_backend
def test_overrides_put_a_script_in_the_place_of_a_learner() -> None:
    for words in (["policy.enemy.script=attack"], ["policy.enemy={script: attack}"]):
        found = load_config("skirmish", words).policy["enemy"]
        assert found == ScriptConfig(groups=("enemy",), script="attack")
        assert config_from_dict(load_config("skirmish", words).to_dict()).policy["enemy"] == found


@pytest.mark.cpu_backend
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            ["policy.enemy.script=atack"],
            "command line, policy.enemy.script=atack: policy.enemy.script: skirmish has no script 'atack'. "
            "Did you mean 'attack'? Known: attack",
        ),
        (
            ["policy.enemy.script=attack", "policy.enemy.gamma=0.9"],
            "command line, policy.enemy.gamma=0.9: policy.enemy.gamma is not a known key of script, which does not "
            "learn. Known: groups, algorithm, script",
        ),
        (
            ["policy.enemy={script: attack, self_play: {share: 0.5}}"],
            "command line, policy.enemy={script: attack, self_play: {share: 0.5}}: policy.enemy.self_play is not a "
            "known key of script, which does not learn. Known: groups, algorithm, script",
        ),
        (
            ["policy.enemy={algorithm: random, self_play: {share: 0.5}}"],
            "command line, policy.enemy={algorithm: random, self_play: {share: 0.5}}: policy.enemy.self_play is not a "
            "known key of random, which does not learn. Known: groups, algorithm",
        ),
        (
            ["policy.enemy.algorithm=random", "policy.enemy.self_play.share=0.5"],
            "command line, policy.enemy.self_play.share=0.5: policy.enemy.self_play is not a known key of random, "
            "which does not learn. Known: groups, algorithm",
        ),
        (
            ["policy.enemy={algorithm: dqn, ent_coef: 0.1}"],
            "command line, policy.enemy={algorithm: dqn, ent_coef: 0.1}: policy.enemy.ent_coef is not a known key of "
            "dqn: it is one of ppo, a2c, mappo, which learn on-policy",
        ),
        (
            ["policy.enemy={algorithm: ppo, script: attack}"],
            "command line, policy.enemy={algorithm: ppo, script: attack}: policy.enemy.script is not a known key of "
            "ppo; leave policy.enemy.algorithm out, or set it to script",
        ),
    ],
)
def test_what_was_given_and_cannot_be_used(words: list[str], expected: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config("skirmish", words)
    assert str(caught.value) == expected


@pytest.mark.cpu_backend
def test_an_environment_without_scripts() -> None:
    with pytest.raises(ConfigError, match=r"policy.agent.script: cartpole has no script 'attack'. It has none"):
        load_config("cartpole", ["policy.agent.script=attack"])


@pytest.mark.cpu_backend
def test_settings_of_the_file_are_left_out_with_a_notice(caplog: pytest.LogCaptureFixture) -> None:
    """They were right for the algorithm that the file names; who names another one has not asked for them."""
    caplog.set_level("INFO", "warpworld")
    load_config("skirmish", ["policy.enemy.algorithm=random"])
    assert [record.getMessage() for record in caplog.records] == [
        "policy.enemy.algorithm=random leaves out settings of ppo: self_play, learning_rate"
    ]
