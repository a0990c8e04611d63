"""Configs just within their limits, just beyond them, and overrides that follow each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from gymnasium.spaces import Box, Discrete

from tests.chase import TEXT, changed
from warpworld.config import RunConfig, config_from_dict
from warpworld.environment import Array, Environment, Group
from warpworld.errors import ConfigError

Load = Callable[..., RunConfig]


class Rooms(Environment):
    """Two groups, with arrays that schedules can set and arrays that they cannot; a declaration is enough here."""

    @dataclass(frozen=True)
    class Params:
        choices: int = 3

    def groups(self) -> Sequence[Group]:
        seen = Box(-1.0, 1.0, (2,))
        return [Group("left", 1, seen, Discrete(3)), Group("right", 1, seen, Discrete(self.params.choices))]

    def arrays(self) -> Sequence[Array]:
        return [
            Array("light", "float32", per="world", initial=0.0, bounds=(0.0, 1.0)),
            Array("table", "float32", per="world", initial=0.0, read_only=True),
            Array("count", "int32", per="world", initial=0),
            Array("own", "float32", per="env"),
        ]


def rooms(policy: dict[str, Any], num_envs: int = 10, total: int = 1000, **sections: Any) -> RunConfig:
    trainer = {"num_envs": num_envs, "num_steps": 4, "total_env_steps": total}
    return config_from_dict({"name": f"{__name__}:Rooms", "trainer": trainer, "policy": policy, **sections})


ONE_MINIBATCH = {"num_minibatches": 1}
APART = {"left": ONE_MINIBATCH, "right": ONE_MINIBATCH}
BOTH = {"both": {"groups": ["left", "right"], **ONE_MINIBATCH}}


# --- overrides --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("overrides", "culprit"),
    [
        (["trainer={num_envs: 8, num_steps: 4, total_env_steps: 99}", "trainer.num_envs=-1"], 1),
        (["trainer.num_envs=-1", "trainer={num_envs: -2, num_steps: 4, total_env_steps: 99}"], 1),
        (["trainer.num_envs=8", "trainer={num_envs: 8, num_steps: 4}", "trainer.num_envs=-1"], 2),
        (["trainer.num_envs=-1", "trainer.num_steps=-1"], 0),
    ],
)
def test_an_error_names_the_override_that_gave_the_value(load: Load, overrides: list[str], culprit: int) -> None:
    with pytest.raises(ConfigError) as error:
        load(TEXT, *overrides)
    assert str(error.value).startswith(f"command line, {overrides[culprit]}: trainer.num_envs is -")


# --- names of WarpDrive -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("section", "theirs", "ours"),
    [
        ("trainer", "train_batch_size", "num_steps"),
        ("trainer", "num_episodes", "total_env_steps"),
        ("policy.chaser", "to_train", "train"),
        ("policy.chaser", "lr", "learning_rate"),
        ("policy.chaser", "clip_param", "clip_coef"),
        ("policy.chaser", "entropy_coeff", "ent_coef"),
        ("policy.chaser", "vf_loss_coeff", "vf_coef"),
        ("policy.chaser", "normalize_advantage", "norm_adv"),
        ("policy.chaser.model", "fc_dims", "hidden_sizes"),
        ("saving", "metrics_log_freq", "log_every"),
        ("saving", "model_params_save_freq", "checkpoint_every"),
        ("saving", "basedir", "directory"),
    ],
)
def test_what_warpdrive_called_a_key(load: Load, section: str, theirs: str, ours: str) -> None:
    with pytest.raises(ConfigError, match=rf"{section}\.{theirs} is not a known key\. Did you mean '{ours}'\?"):
        load(TEXT, f"{section}.{theirs}=1")


@pytest.mark.parametrize(("key", "section"), [("num_steps", "trainer"), ("log_every", "saving")])
def test_a_key_that_forgot_its_section(load: Load, key: str, section: str) -> None:
    with pytest.raises(ConfigError, match=rf"{key} is not a known key\. Did you mean '{section}\.{key}'\?"):
        load(TEXT + f"{key}: 3\n")


# --- numbers ----------------------------------------------------------------------------------------------------------


def test_a_run_of_one_rollout() -> None:
    assert rooms(APART, total=40).trainer.total_env_steps == 40
    with pytest.raises(ConfigError, match=r"total_env_steps is 39, expected at least one rollout: .* = 40"):
        rooms(APART, total=39)


def test_a_schedule_may_jump_but_not_go_back(load: Load) -> None:
    jump = load(changed("1e-3", "[[0, 1e-3], [100, 1e-3], [100, 1e-4]]")).policy["chaser"]
    assert jump.learning_rate == ((0, 1e-3), (100, 1e-3), (100, 1e-4))  # type: ignore[union-attr]
    with pytest.raises(ConfigError, match="points in ascending order of env steps"):
        load(changed("1e-3", "[[0, 1e-3], [100, 1e-3], [99, 1e-4]]"))


@pytest.mark.parametrize(("step", "is_legal"), [(2**63 - 1, True), (2**63, False)])
def test_the_last_env_step_of_a_schedule(load: Load, step: int, is_legal: bool) -> None:
    text = changed("1e-3", f"[[0, 1e-3], [{step}, 1e-4]]")
    if is_legal:
        assert load(text)
    else:
        with pytest.raises(ConfigError, match=f"points at {2**63 - 1} env steps at most"):
            load(text)


@pytest.mark.parametrize(
    ("word", "value"), [("yes", True), ("on", True), ("no", False), ("off", False), ("Off", False)]
)
def test_words_for_truth_values(load: Load, word: str, value: bool) -> None:
    assert load(TEXT, f"policy.chaser.train={word}").policy["chaser"].train is value


# --- what only the environment knows ----------------------------------------------------------------------------------


def test_a_schedule_sets_what_all_envs_share_and_kernels_do_not_own() -> None:
    for value in (0.0, 1.0, [[0, 0.0], [100, 1.0]]):
        assert rooms(APART, schedules={"light": value})
    with pytest.raises(ConfigError, match=r"schedules\.light gives 1\.01, expected 0 to 1, the array's bounds"):
        rooms(APART, schedules={"light": 1.01})
    for name in ("table", "count", "own"):
        with pytest.raises(ConfigError, match=rf"schedules\.{name}: is not a floating-point array .* Known: light$"):
            rooms(APART, schedules={name: 0.5})


def test_groups_of_one_policy_act_alike() -> None:
    assert rooms(BOTH)
    with pytest.raises(ConfigError, match=r"'left' and 'right', whose action spaces differ \(Discrete\(3\)"):
        rooms(BOTH, env={"choices": 4})
    assert rooms(APART, env={"choices": 4})


# --- opponents --------------------------------------------------------------------------------------------------------


def opponents(share: float, slots: int = 1) -> dict[str, Any]:
    return {**ONE_MINIBATCH, "self_play": {"share": share, "slots": slots}}


def test_shares_may_add_up_to_one_but_for_rounding() -> None:
    assert rooms({"left": opponents(0.7), "right": opponents(0.3 + 1e-16)})
    assert rooms({"left": opponents(0.1 + 0.2), "right": opponents(0.7)})  # 1 + 2e-16
    with pytest.raises(ConfigError, match=r"the shares of self_play add up to 1\.001 "):
        rooms({"left": opponents(0.7), "right": opponents(0.301)})


def test_a_slot_may_be_a_single_env() -> None:
    assert rooms({"left": opponents(0.5, slots=5), "right": ONE_MINIBATCH})
    with pytest.raises(ConfigError, match=r"policy\.left\.self_play: 6 slots in 5 envs \(share 0\.5 of 10\)"):
        rooms({"left": opponents(0.5, slots=6), "right": ONE_MINIBATCH})
