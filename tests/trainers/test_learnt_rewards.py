"""``reward_scale`` and ``reward_clip``: what is learnt from, in every algorithm, and what is reported."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cases import often
from tests.runs.processes import differences
from tests.trainers.together import Unwritten
from warpworld.config import RunConfig, config_from_dict, load_config
from warpworld.errors import ConfigError
from warpworld.packaged import ALGORITHMS
from warpworld.trainers.trainer import Trainer

SCALE, LIMIT = 0.5, 0.3  # a product with 0.5 is exact
REPLAY = {"replay_size": 400, "learning_starts": 32, "batch_size": 16, "updates": 2}
WINDOWS = {**REPLAY, "burn_in": 2, "train_length": 4, "n_step": 2, "model": {"recurrent": "gru", "recurrent_size": 4}}
CASES: dict[str, dict[str, Any]] = {
    "ppo": {"num_minibatches": 2},
    "ppo, torch": {"num_minibatches": 2, "fused": False},
    "ppo, vtrace": {"num_minibatches": 2, "value_targets": "vtrace"},
    "ppo, units of values": {"num_minibatches": 2, "normalise_returns": "running"},
    "ppo, lstm": {"num_minibatches": 2, "model": {"recurrent": "lstm", "recurrent_size": 4}},
    "a2c": {},
    "mappo": {"num_minibatches": 2},
    "dqn": REPLAY,
    "ape_x": REPLAY,
    "r2d2": WINDOWS,
    "vdn": REPLAY,
    "qmix": REPLAY,
    "ddpg": REPLAY,
    "sac": REPLAY,
    "gumbel_zero": {"num_simulations": 4, "num_minibatches": 2},
}
# Those of which each hands rewards to what learns in a way of its own.
OFTEN = ("ppo", "ppo, torch", "ppo, units of values", "a2c", "dqn", "r2d2", "qmix", "sac", "gumbel_zero")
TEAMS = ("vdn", "qmix")  # which cut off what a team earns, see test_teams.py, rather than what its agents earn
ALONE = {"ddpg": "ShapedAim", "sac": "ShapedAim", "gumbel_zero": "ShapedAlone"}  # worlds of one agent


def configured(case: str, settings: dict[str, Any], **env: float) -> RunConfig:
    algorithm, own = case.split(",")[0], dict(CASES[case])
    trainer = {"num_envs": 6, "num_steps": 8, "total_env_steps": 4 * 48, "fused": own.pop("fused", True)}
    entry = {"algorithm": algorithm, **own, **settings}
    is_alone = algorithm in ALONE
    return config_from_dict({
        "name": f"tests.trainers.shaped:{ALONE.get(algorithm, 'Shaped')}",
        "env": env if is_alone else {"counted": 0.8, **env},
        "trainer": trainer,
        "policy": {"archer": entry} if is_alone else {"left": entry, "right": {"algorithm": "random"}},
    })  # fmt: skip


def trained(config: RunConfig) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The policies and learners of a short run, and its metrics."""
    trainer, run = Trainer(config), Unwritten()
    trainer.train(run)  # type: ignore[arg-type]
    state = trainer.state_dict()
    return {name: state[name] for name in ("policies", "learners")}, run.lines


def test_no_algorithm_is_left_out() -> None:
    assert {case.split(",")[0] for case in CASES} == set(ALGORITHMS)


@pytest.mark.long
@pytest.mark.heavy
@pytest.mark.parametrize("case", often(OFTEN, CASES))
def test_what_is_learnt_is_what_an_environment_with_such_rewards_teaches(case: str) -> None:
    cut = case not in TEAMS
    learnt, _ = trained(configured(case, {"reward_scale": SCALE, **({"reward_clip": LIMIT} if cut else {})}))
    expected, _ = trained(configured(case, {}, factor=SCALE, **({"limit": LIMIT} if cut else {})))
    assert differences(learnt, expected) == []
    assert differences(learnt, trained(configured(case, {}))[0]) != []


@pytest.mark.long
def test_returns_are_reported_as_the_environment_has_them() -> None:
    (learnt, lines), (expected, of_halves) = (
        trained(configured("ppo", {"reward_scale": SCALE})),
        trained(configured("ppo", {}, factor=SCALE)),
    )
    assert differences(learnt, expected) == []
    name = "charts/left/episodic_return"
    assert [line[name] for line in lines] == pytest.approx([2 * line[name] for line in of_halves], rel=1e-6)


def test_the_defaults_leave_rewards() -> None:
    entry: Any = load_config("cartpole").policy["agent"]
    assert (entry.reward_scale, entry.reward_clip) == (1.0, None)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("reward_scale=0", "reward_scale is 0, expected more than 0"),
        ("reward_scale=-1", "reward_scale is -1, expected more than 0"),
        ("reward_scale=1.0e31", "reward_scale is 1e+31, expected at most 1e+30"),
        ("reward_scale=.nan", "reward_scale is nan, expected a finite number"),
        ("reward_clip=-0.5", "reward_clip is -0.5, expected at least 0"),
        ("reward_clip=big", "reward_clip is 'big', expected a number"),
    ],
)
def test_refusals(words: str, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        load_config("cartpole", [words])
    assert str(error.value) == f"command line, policy.agent.{words}: policy.agent.{message}"


def test_an_algorithm_of_ones_own_may_not_have_them() -> None:
    data = load_config("cartpole").to_dict()
    data["policy"] = {"agent": {"algorithm": "tests.trainers.algorithms.reinforce:Reinforce", "reward_scale": 2.0}}
    with pytest.raises(ConfigError, match=r"reward_scale is not a known key of .*: it is one of ppo, a2c"):
        config_from_dict(data)
