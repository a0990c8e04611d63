"""The ``population`` section: what it takes, and what it refuses in one line."""

from __future__ import annotations

from typing import Any

import pytest

from warpworld.config import config_from_dict, load_config
from warpworld.config.population_settings import settings_that_change
from warpworld.errors import ConfigError
from warpworld.trainers.algorithms import get_algorithm

RATES = {"learning_rate": [1e-4, 1e-2]}
TRAINER = {"num_envs": 8, "num_steps": 4, "total_env_steps": 8 * 4 * 40}


def refusal(entry: dict[str, Any], name: str = "cartpole", **trainer: Any) -> str:
    """Message about a policy's section."""
    policy = entry if name != "cartpole" else {"agent": {"num_minibatches": 2, **entry}}
    with pytest.raises(ConfigError) as caught:
        config_from_dict({"name": name, "trainer": {**TRAINER, **trainer}, "policy": policy})
    message = str(caught.value)
    assert "\n" not in message
    return message


def section(**keys: Any) -> dict[str, Any]:
    return {"population": {"members": 4, "settings": RATES, **keys}}


@pytest.mark.parametrize(
    "keys, message",
    [
        ({"members": 1}, "policy.agent.population.members is 1, expected at least 2"),
        ({"members": 0}, "policy.agent.population.members is 0, expected at least 2"),
        ({"members": 2.5}, "policy.agent.population.members is 2.5, expected a whole number"),
        ({"members": 9}, "members is 9, expected at most trainer.num_envs, 8: each member plays envs of its own"),
        ({"members": 3}, "members is 3, expected a divisor of trainer.num_envs, 8, such as 2: members play equally"),
        ({"interval": 0}, "policy.agent.population.interval is 0, expected at least 1"),
        ({"interval": 41}, "population.interval is 41, expected at most the run's 40 iterations"),
        ({"exploit": 0}, "policy.agent.population.exploit is 0, expected more than 0"),
        ({"exploit": 0.51}, "policy.agent.population.exploit is 0.51, expected at most 0.5"),
        ({"perturb": []}, "policy.agent.population.perturb is [], expected"),
        ({"perturb": [0.8, 0.0]}, "policy.agent.population.perturb[1] is 0.0, expected more than 0"),
        ({"resample": 1.5}, "policy.agent.population.resample is 1.5, expected at most 1"),
        ({"member": 4}, "policy.agent.population.member is not a known key. Did you mean 'members'?"),
        ({"settings": {}}, "population.settings is empty, expected ranges of settings, such as {learning_rate: "),
        ({"settings": {"learning_rat": [0.1, 0.2]}}, "ppo has no setting 'learning_rat'. Did you mean 'learning_rate'"),
        ({"settings": {"entropy_coef": [0.1, 0.2]}}, "ppo has no setting 'entropy_coef'. Did you mean 'ent_coef'?"),
        ({"settings": {"tau": [0.1, 0.2]}}, "ppo has no setting 'tau'. Known: learning_rate, ent_coef, vf_coef,"),
        ({"settings": {"optimizer": [0.1, 0.2]}}, "optimizer is no number that may change during a run, expected a"),
        ({"settings": {"update_epochs": [1, 4]}}, "update_epochs is no number that may change during a run"),
        ({"settings": {"learning_rate": 0.1}}, "population.settings.learning_rate is 0.1, expected a list"),
        ({"settings": {"learning_rate": [0.1]}}, "population.settings.learning_rate"),
        ({"settings": {"learning_rate": ["a", 0.1]}}, "settings.learning_rate[0] is 'a', expected a number"),
        ({"settings": {"learning_rate": [0, 0.1]}}, "learning_rate is [0, 0.1], expected two numbers above 0"),
        ({"settings": {"ent_coef": [-1, 0.1]}}, "ent_coef is [-1, 0.1], expected two numbers of at least 0"),
        ({"settings": {"ent_coef": [0.2, 0.1]}}, "ent_coef is [0.2, 0.1], expected the lowest value first"),
        ({"settings": {"ent_coef": [0.1, 0.1]}}, "ent_coef is [0.1, 0.1], expected the lowest value first"),
        ({"settings": {"priority_beta": [0.1, 1]}}, "priority_beta changes as a schedule does: priority_beta is a"),
    ],
)
def test_what_a_population_refuses(keys: dict[str, Any], message: str) -> None:
    assert message in refusal(section(**keys))


def test_settings_are_needed() -> None:
    assert "policy.agent.population.settings is missing (settings in which members" in refusal({"population": {}})


@pytest.mark.parametrize(
    "others, message",
    [
        ({"train": False}, "population: policy 'agent' is not trained (train is false)"),
        ({"self_play": {}}, "population: policy 'agent' has self_play, expected one of the two in a run"),
        ({"learning_rate": [[0, 0.1], [9, 0.2]]}, "but policy's learning_rate is a schedule, expected one of the two"),
        ({"desired_kl": 0.01, "anneal_lr": False}, "learning_rate changes as a schedule does: learning_rate is a"),
        ({"num_minibatches": 3}, "8 rows of a rollout: num_envs 2 x num_steps 4 x 1 agent (num_envs of each of 4 mem"),
    ],
)
def test_what_does_not_go_with_a_population(others: dict[str, Any], message: str) -> None:
    assert message in refusal({**section(), **others})


@pytest.mark.parametrize("algorithm", ["dqn", "r2d2", "ape_x"])
def test_an_algorithm_that_draws_from_a_replay_is_refused(algorithm: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(
            "cartpole", [f"policy.agent.algorithm={algorithm}", f"policy.agent.population={section()['population']}"]
        )
    learns = f"population: {algorithm} cannot learn from a share of the envs, as a member does"
    assert str(caught.value).endswith(f"{learns}; expected algorithm ppo, a2c or mappo")


def test_overlap_is_refused() -> None:
    assert "population: trainer.overlap is true, expected false" in refusal(section(), overlap=True)


def test_two_populations_are_refused() -> None:
    both = {name: {"num_minibatches": 2, **section()} for name in ("tagger", "runner")}
    message = refusal(both, "tag_gridworld")
    assert "policy.runner.population: policy 'tagger' has a population, too, expected one in a run" in message


def test_self_play_of_another_policy_is_refused() -> None:
    entries = {"tagger": {"num_minibatches": 2, **section()}, "runner": {"self_play": {}}}
    assert "policy 'runner' has self_play, expected one of the two in a run" in refusal(entries, "tag_gridworld")


def test_a_box_is_refused() -> None:
    message = refusal({"agent": section()}, "pendulum")
    assert "group 'agent' acts in a Box, expected Discrete or MultiDiscrete" in message


def test_settings_that_change_are_those_that_take_a_schedule() -> None:
    assert settings_that_change(get_algorithm("a2c").Settings) == ["learning_rate", "ent_coef", "vf_coef"]
    assert "clip_coef" in settings_that_change(get_algorithm("ppo").Settings)


def test_overrides_give_a_population() -> None:
    given = ["policy.agent.population.settings.ent_coef=[0, 0.1]", "population.members=4"]
    entry: Any = load_config("cartpole", given).policy["agent"]
    assert entry.population.members == 4
    assert entry.population.settings == {"ent_coef": (0.0, 0.1)}
