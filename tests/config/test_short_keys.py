"""Overrides with short keys: accepted where there is one meaning, and otherwise answered with the right key."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from warpworld.config import RunConfig, load_config
from warpworld.errors import ConfigError


def value_of(config: RunConfig, key: str) -> object:
    found: object = config.to_dict()
    for part in key.split("."):
        assert isinstance(found, dict)
        found = found[part]
    return found


@pytest.mark.parametrize(
    ("name", "words", "expected"),
    [
        ("tag_gridworld", ["num_taggers=3"], {"env.num_taggers": 3}),
        ("cartpole", ["num_envs=8", "seed=7"], {"trainer.num_envs": 8, "trainer.seed": 7}),
        ("cartpole", ["learning_rate=1e-3"], {"policy.agent.learning_rate": 1e-3}),
        ("cartpole", ["hidden_sizes=[8]"], {"policy.agent.model.hidden_sizes": [8]}),
        ("cartpole", ["model.recurrent=gru"], {"policy.agent.model.recurrent": "gru"}),
        (
            "cartpole",
            ["eval_every=5", "stop_when.agent=475"],
            {"saving.eval_every": 5, "trainer.stop_when": {"agent": 475}},
        ),
        ("cartpole", ["log_every=5"], {"saving.log_every": 5}),
        ("tag_gridworld", ["tagger.gamma=0.5"], {"policy.tagger.gamma": 0.5, "policy.runner.gamma": 0.99}),
        ("tag_gridworld", ["policy.*.gamma=0.5"], {"policy.tagger.gamma": 0.5, "policy.runner.gamma": 0.5}),
        ("cartpole", ["num_envs=8", "trainer.num_envs=16"], {"trainer.num_envs": 16}),
        ("cartpole", ["trainer.num_envs=16", "num_envs=8"], {"trainer.num_envs": 8}),
        ("tag_gridworld", ["gamma=0.5", "policy.tagger.algorithm=random"], {"policy.runner.gamma": 0.5}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_keys_with_one_meaning(name: str, words: list[str], expected: dict[str, object]) -> None:
    config = load_config(name, words)
    found = {key: value_of(config, key) for key in expected}
    assert {key: list(value) if isinstance(value, tuple) else value for key, value in found.items()} == expected


@pytest.mark.parametrize(
    ("name", "word", "message"),
    [
        (
            "tag_gridworld",
            "gamma=0.5",
            "gamma is a key of several sections: policy.tagger.gamma, policy.runner.gamma; for all of them: "
            "policy.*.gamma=0.5",
        ),
        ("cartpole", "type=mlp.x", "policy.agent.model.type: model type 'mlp.x', expected one of mlp, multi_input, "),
        ("cartpole", "lerning_rate=1", "lerning_rate is not a known key. Did you mean 'policy.agent.learning_rate'?"),
        ("cartpole", "lr=1", "lr is not a known key. Did you mean 'policy.agent.learning_rate'?"),
        ("tag_gridworld", "num_tagers=3", "num_tagers is not a known key. Did you mean 'env.num_taggers'?"),
        ("cartpole", "zzz=3", "zzz is not a known key. Known: name, env, trainer, schedules, curriculum, policy,"),
        ("cartpole", "policy.*.gama=1", "no policy has the key 'gama'. Did you mean 'gamma'?"),
        ("cartpole", "policy.*.zzz=1", "no policy has the key 'zzz'"),
        ("cartpole", "num_envs=0", "trainer.num_envs is 0, expected at least 1"),
    ],
    ids=lambda value: value if isinstance(value, str) and "=" in value[:20] else "",
)
def test_keys_with_none_or_several(name: str, word: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(name, [word])
    assert str(caught.value).startswith("command line, ")
    assert message in str(caught.value)


def test_a_key_of_two_sections(tmp_path: Path) -> None:
    (tmp_path / "seeded.py").write_text(
        "from dataclasses import dataclass\nfrom warpworld.envs.cartpole.cartpole import CartPole\n"
        "class Seeded(CartPole):\n    @dataclass(frozen=True)\n    class Params(CartPole.Params):\n"
        "        seed: int = 0\n"
    )
    text = (Path(__file__).parents[2] / "configs" / "cartpole.yaml").read_text()
    (tmp_path / "run.yaml").write_text(text.replace("name: cartpole", "name: seeded.py"))
    with pytest.raises(ConfigError) as caught:
        load_config(tmp_path / "run.yaml", ["seed=3"])
    assert str(caught.value) == (
        "command line, seed=3: seed is a key of several sections: env.seed, trainer.seed; expected one of them in full"
    )


def test_an_environment_that_is_missing_is_reported_as_such() -> None:
    with pytest.raises(ConfigError, match=r"name: unknown environment 'cartpol'\. Did you mean 'cartpole'\?"):
        load_config("cartpole", ["name=cartpol", "num_envs=3"])


@pytest.mark.parametrize(
    ("algorithm", "dropped"),
    [("random", "model, learning_rate, num_minibatches, ent_coef"), ("dqn", "num_minibatches, ent_coef")],
)
def test_another_algorithm_leaves_the_former_settings(
    algorithm: str, dropped: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "warpworld"):
        config = load_config("tag_gridworld", [f"policy.tagger.algorithm={algorithm}", "num_envs=40"])
    assert config.policy["tagger"].algorithm == algorithm
    assert [record.message for record in caplog.records] == [
        f"policy.tagger.algorithm={algorithm} leaves out settings of ppo: {dropped}"
    ]


def test_what_an_override_says_of_another_algorithm_is_still_a_mistake() -> None:
    with pytest.raises(ConfigError, match=r"policy.tagger.clip_coef is not a known key of dqn: it is one of ppo"):
        load_config("tag_gridworld", ["policy.tagger.algorithm=dqn", "policy.tagger.clip_coef=0.1"])


@pytest.mark.parametrize("given", ["../up", "a b", "", ".hidden", "-x", "a/b", "<b>", "é", "x" * 101, "a\n"])
def test_hostile_names(given: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config("cartpole", [f"saving.name={given!r}"] if "'" not in given else [])
    expected = "expected up to 100 letters, digits, '.', '-' and '_', a letter or digit first"
    assert str(caught.value).endswith(expected)
