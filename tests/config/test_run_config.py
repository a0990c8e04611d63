"""What a run's YAML may say, what becomes of it, and the configs that come along."""

from __future__ import annotations

from collections.abc import Callable

import pydantic
import pytest
import yaml

from tests.chase import TEXT, changed
from warpworld.config import RunConfig, config_from_dict, load_config, packaged_configs
from warpworld.errors import ConfigError

PACKAGED = tuple(packaged_configs())


def test_given_values_and_defaults(load: Callable[..., RunConfig]) -> None:
    config = load(TEXT)
    assert (config.trainer.num_envs, config.trainer.num_steps, config.trainer.total_env_steps) == (8, 4, 2000)
    assert (config.trainer.device, config.trainer.num_workers) == ("auto", None)
    assert config.policy["chaser"].learning_rate == 1e-3  # YAML 1.1 calls this a text
    assert config.policy["evader"].gamma == 1.0
    assert config.policy["chaser"].groups == ("chaser",)
    assert config.policy["chaser"].model.hidden_sizes == (64, 64)
    assert config.env == {
        "chasers": 3, "evaders": 1, "side": 10.0, "walls": True, "start": "random", "goal": (0, 0), "places": None,
        "title": "chase", "limit": float("inf"), "wide": False,
    }  # fmt: skip
    assert config.saving.directory == "runs"


def test_config_is_frozen(load: Callable[..., RunConfig]) -> None:
    config = load(TEXT)
    with pytest.raises(pydantic.ValidationError):
        config.trainer.num_envs = 4


def test_overrides_are_yaml_and_the_last_wins(load: Callable[..., RunConfig]) -> None:
    config = load(
        TEXT,
        "trainer.num_envs=16",
        "trainer.total_env_steps=2e6",
        "env.places=[1, 2.5]",
        "env.title=off",
        "env.walls=off",
        "policy.chaser.model.hidden_sizes=[32]",
        "saving.directory=a=b",
        "trainer.num_envs=32",
    )
    assert (config.trainer.num_envs, config.trainer.total_env_steps) == (32, 2_000_000)
    assert (config.env["places"], config.env["title"], config.env["walls"]) == ((1.0, 2.5), "off", False)
    assert config.policy["chaser"].model.hidden_sizes == (32,)
    assert config.saving.directory == "a=b"


def test_one_policy_for_both_groups(load: Callable[..., RunConfig]) -> None:
    shared = TEXT[: TEXT.index("policy:")] + "policy:\n  all: {groups: [chaser, evader], num_minibatches: 16}\n"
    assert load(shared).policy["all"].groups == ("chaser", "evader")


def test_anchors_and_merged_keys(load: Callable[..., RunConfig]) -> None:
    text = TEXT[: TEXT.index("policy:")] + (
        "policy:\n  chaser: &learner\n    learning_rate: 1e-2\n    gamma: 0.9\n"
        "  evader:\n    <<: *learner\n    gamma: 0.8\n    groups: [evader]\n"
    )
    config = load(text, "policy.chaser.learning_rate=1")
    assert (config.policy["chaser"].learning_rate, config.policy["chaser"].gamma) == (1.0, 0.9)
    assert (config.policy["evader"].learning_rate, config.policy["evader"].gamma) == (1e-2, 0.8)


def test_an_override_of_an_alias_changes_one_section(load: Callable[..., RunConfig]) -> None:
    text = TEXT[: TEXT.index("policy:")] + "policy: {chaser: &learner {gamma: 0.9}, evader: *learner}\n"
    config = load(text, "policy.evader.gamma=0.5")
    assert [policy.gamma for policy in config.policy.values()] == [0.9, 0.5]


def test_empty_sections_take_their_defaults(load: Callable[..., RunConfig]) -> None:
    text = TEXT.replace("  evader:\n    gamma: 1\n", "  evader:\n    model:\nsaving:\n")
    assert load(text).policy["evader"].gamma == 0.99


def test_resolved_config_reloads_equal(load: Callable[..., RunConfig]) -> None:
    config = load(TEXT, "env.places=[1e-9, 3]", "env.title='1e-3'", "policy.evader.target_kl=1e-17")
    assert load(config.to_yaml()) == config


def test_config_from_dict_follows_the_same_rules() -> None:
    data = yaml.safe_load(TEXT.replace("1e-3", "0.001"))
    assert config_from_dict(data).env["chasers"] == 3
    data["trainer"]["num_envs"] = 0
    with pytest.raises(ConfigError, match=r"^config: trainer.num_envs is 0, expected at least 1$"):
        config_from_dict(data)
    with pytest.raises(ConfigError, match=r"^here: .*expected plain numbers"):
        config_from_dict({"name": object()}, source="here")


def test_config_from_dict_blames_plain_values_only_where_they_are_not_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    def mistaken(name: str) -> None:
        raise TypeError(f"a mistake in our own code, about {name}")

    monkeypatch.setattr("warpworld.config.environment_section.get_environment", mistaken)
    with pytest.raises(TypeError, match=r"^a mistake in our own code"):
        config_from_dict(yaml.safe_load(TEXT.replace("1e-3", "0.001")))


def test_config_from_dict_of_a_dict_in_itself() -> None:
    data: dict = {"name": "x"}
    data["env"] = data
    with pytest.raises(ConfigError, match=r"^config: .*expected plain numbers"):
        config_from_dict(data)


def test_a_frozen_policy_needs_no_minibatches(load: Callable[..., RunConfig]) -> None:
    assert load(changed("gamma: 1", "num_minibatches: 5\n    train: no")).policy["evader"].train is False


# --- the configs that come along


@pytest.mark.parametrize("name", PACKAGED)
def test_packaged_config_loads_and_reloads_equal(name: str, load: Callable[..., RunConfig]) -> None:
    config = load_config(name)
    assert name.startswith(config.name) or config.name == "external"  # ENVIRONMENT, or ENVIRONMENT_ALGORITHM
    assert load(config.to_yaml()) == config
