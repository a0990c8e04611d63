"""What a config may say of evaluations, and the messages where it makes no sense."""

from __future__ import annotations

import pytest

from warpworld.config import config_from_dict, load_config
from warpworld.errors import ConfigError
from warpworld.runs.resume import FREE_KEYS

EVERY = "saving.eval_every=5"


def test_everything_at_once() -> None:
    words = [EVERY, "trainer.stop_when={tagger: 3, runner: -0.5}", "trainer.patience=4", "saving.eval_seed=9"]
    config = load_config("tag_gridworld", [*words, "saving.eval_opponents=[greedy, random]", "saving.eval_episodes=7"])
    saving, trainer = config.saving, config.trainer
    assert (saving.eval_every, saving.eval_episodes, saving.eval_seed) == (5, 7, 9)
    assert saving.eval_opponents == ("greedy", "random")
    assert (trainer.stop_when, trainer.patience) == ({"tagger": 3.0, "runner": -0.5}, 4)


def test_a_score_for_one_policy_is_a_key_of_its_own() -> None:
    assert load_config("cartpole", [EVERY, "trainer.stop_when.agent=475"]).trainer.stop_when == {"agent": 475.0}


def test_seconds_need_no_evaluations_and_may_stand_beside_scores() -> None:
    alone = load_config("cartpole", ["stop_when.seconds=600"]).trainer
    assert (alone.stop_seconds, alone.stop_scores) == (600.0, {})
    both = load_config("cartpole", [EVERY, "trainer.stop_when={agent: 475, seconds: 0.5}"]).trainer
    assert (both.stop_seconds, both.stop_scores) == (0.5, {"agent": 475.0})
    assert load_config("cartpole").trainer.stop_seconds is None


def test_a_policy_named_seconds() -> None:
    data = {**load_config("cartpole").to_dict(), "policy": {"seconds": {"groups": ["agent"]}}}
    config_from_dict(data)
    data["trainer"] |= {"stop_when": {"seconds": 9}}
    with pytest.raises(ConfigError) as error:
        config_from_dict(data)
    assert str(error.value).endswith(
        "trainer.stop_when.seconds is a time of training, but a policy is named 'seconds'; give the policy another name"
    )


def test_nothing_is_evaluated_by_default() -> None:
    config = load_config("cartpole")
    assert config.saving.eval_every is config.trainer.patience is None
    assert config.trainer.stop_when == {}


def test_paths_of_runs_hold_from_anywhere(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("elsewhere")
    monkeypatch.chdir(folder)
    config = load_config("tag_gridworld", [EVERY, "saving.eval_opponents=[runs/old#tagger, greedy]"])
    assert config.saving.eval_opponents == (str(folder / "runs" / "old#tagger"), "greedy")


NEEDS = "{} needs evaluations, and saving.eval_every is null; set saving.eval_every=20 to evaluate every 20 iterations"


@pytest.mark.parametrize(
    ("name", "words", "message"),
    [
        ("cartpole", ["saving.eval_every=0"], "saving.eval_every is 0, expected at least 1"),
        ("cartpole", ["saving.eval_episodes=0"], "saving.eval_episodes is 0, expected at least 1"),
        ("cartpole", ["saving.eval_episodes=200000"], "saving.eval_episodes is 200000, expected at most 100000"),
        ("cartpole", ["saving.eval_seed=-1"], "saving.eval_seed is -1, expected at least 0"),
        ("cartpole", ["trainer.patience=0"], "trainer.patience is 0, expected at least 1"),
        ("cartpole", ["trainer.patience=3"], NEEDS.format("trainer.patience")),
        ("cartpole", ["trainer.stop_when.agent=475"], NEEDS.format("trainer.stop_when")),
        ("tag_gridworld", ["saving.eval_opponents=[greedy]"], NEEDS.format("saving.eval_opponents")),
        ("chain", ["saving.eval_env={length: 8}"], NEEDS.format("saving.eval_env")),
        (
            "cartpole",
            [EVERY, "trainer.stop_when=475"],
            "trainer.stop_when is 475, expected a score for a policy or a time, such as trainer.stop_when.agent=475 or "
            "trainer.stop_when.seconds=600",
        ),
        (
            "tag_gridworld",
            ["trainer.stop_when=foo"],
            'trainer.stop_when is "foo", expected a score for a policy or a time, such as trainer.stop_when.tagger=3 '
            "or trainer.stop_when.runner=3 or trainer.stop_when.seconds=600",
        ),
        (
            "cartpole",
            [EVERY, "trainer.stop_when.agent=high"],
            "trainer.stop_when.agent is 'high', expected a number",
        ),
        (
            "tag_gridworld",
            [EVERY, "trainer.stop_when.taggr=1"],
            "trainer.stop_when: no policy 'taggr' is trained. Did you mean 'tagger'? Known: tagger, runner, seconds",
        ),
        (
            "cartpole",
            ["trainer.stop_when.second=600"],
            "trainer.stop_when: no policy 'second' is trained. Did you mean 'seconds'? Known: agent, seconds",
        ),
        ("cartpole", ["trainer.stop_when.seconds=0"], "trainer.stop_when.seconds is 0, expected more than 0"),
        ("cartpole", ["trainer.stop_when.seconds=-5"], "trainer.stop_when.seconds is -5, expected more than 0"),
        ("cartpole", ["trainer.stop_when.seconds=.inf"], "trainer.stop_when.seconds is inf, expected a finite number"),
        ("cartpole", ["trainer.stop_when.seconds=10m"], "trainer.stop_when.seconds is '10m', expected a number"),
        (
            "tag_gridworld",
            [EVERY, "saving.eval_opponents=[gredy]"],
            "saving.eval_opponents: 'gredy' is neither a script of the environment nor a run folder. "
            "Did you mean 'greedy'? Known: greedy, random, RUN, RUN#NAME",
        ),
        (
            "tag_gridworld",
            [EVERY, "saving.eval_opponents=[random, random]"],
            "saving.eval_opponents names an opponent twice",
        ),
        (
            "cartpole",
            [EVERY, "saving.eval_opponents=[random]"],
            "saving.eval_opponents: policy 'agent' plays the only group, 'agent', so that there is no group for an "
            "opponent; leave opponents out",
        ),
    ],
)
def test_refusals(name: str, words: list[str], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        load_config(name, words)
    assert str(error.value) == f"command line, {words[-1]}: {message}"


def test_what_a_resumed_run_may_change() -> None:
    assert {"trainer.stop_when", "trainer.patience", "saving.eval_every"} <= set(FREE_KEYS)
    assert not {"saving.eval_episodes", "saving.eval_seed", "saving.eval_opponents"} & set(FREE_KEYS)
