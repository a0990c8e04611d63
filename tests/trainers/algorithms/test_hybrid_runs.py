"""Training with actions of several parts: which algorithms do it, which refuse, and what runs keep."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from gymnasium.spaces import Box, Discrete, Tuple

from tests.hybrid import ACTION, NAMES, Hybrid
from warpworld import Environment, World, load_policy, rollout
from warpworld.config import RunConfig, config_from_dict
from warpworld.environment import Group
from warpworld.errors import ConfigError
from warpworld.policies import Hybrid as HybridDistribution
from warpworld.report.recording import record_run
from warpworld.runs import Run
from warpworld.trainers.from_python.check_run import check_run
from warpworld.trainers.play import play
from warpworld.trainers.trainer import Trainer

NAME = "tests.hybrid:Hybrid"
SMALL = {"num_envs": 6, "num_steps": 5, "total_env_steps": 6 * 5 * 4}
FEW = {"num_minibatches": 2, "update_epochs": 2}
RECURRENT = {"recurrent": "gru", "recurrent_size": 8}


class Choosing(Environment):
    """In PyTorch alone: agents whose parts are all choices."""

    def groups(self) -> Any:
        return [Group("arm", 2, Box(-1.0, 1.0, (4,)), Tuple([Discrete(2), Discrete(3)]))]

    def phases(self) -> Any:
        return [self.pay]

    def resets(self) -> Any:
        return []

    def pay(self, arrays: Any, active: Any) -> None:
        """Pay for the choice 1 of the second part."""
        arrays["rewards"] = (arrays["actions_1"][..., 0] == 1).float()


def config(entry: dict[str, Any], name: str = NAME, **trainer: Any) -> RunConfig:
    return config_from_dict({"name": name, "trainer": {**SMALL, **trainer}, "policy": {"arm": entry}})


CASES: dict[str, dict[str, Any]] = {
    "ppo": FEW,
    "a2c": {"algorithm": "a2c"},
    "mappo": {"algorithm": "mappo", **FEW},
    "vtrace": {"value_targets": "vtrace", **FEW},
    "memory": {"model": RECURRENT, **FEW},
    "shared": {"model": {"shared": True, "normalise_observations": True}, **FEW},
    "kl": {"desired_kl": 0.01, "anneal_lr": False, "kl_coef": 0.1, **FEW},
}


@pytest.mark.long
@pytest.mark.parametrize("name", [NAME, "tests.hybrid:MaskedHybrid"])
@pytest.mark.parametrize("case", CASES)
def test_algorithms_learn_from_both_kinds_of_parts(case: str, name: str, tmp_path: Path) -> None:
    trainer = Trainer(config(CASES[case], name))
    policy = trainer.policies["arm"]
    assert isinstance(policy.distribution, HybridDistribution)
    before = {key: parameter.clone() for key, parameter in policy.named_parameters()}
    trainer.train(Run.create(trainer.config, tmp_path / "run"))
    after = dict(policy.named_parameters())
    assert all(bool((after[key] != old).any()) for key, old in before.items())  # deviations, too
    assert all(bool(parameter.isfinite().all()) for parameter in after.values())


@pytest.mark.heavy
def test_ppo_learns_to_move_and_reach_at_once(tmp_path: Path) -> None:
    """Random actions earn about 0.6 of 8 in an episode, and those that are right in one kind of part 2.7 at most."""
    entry = {
        "learning_rate": 0.01,
        "gamma": 0.0,
        "gae_lambda": 0.0,
        "num_minibatches": 2,
        "model": {"hidden_sizes": [32]},
    }
    trainer = Trainer(config(entry, num_envs=32, num_steps=16, total_env_steps=40_000))
    trainer.train(Run.create(trainer.config, tmp_path / "run"))
    assert play(trainer.config, trainer.policies, 256, greedy=True).returns["arm"].mean() > 5.5


@pytest.mark.parametrize("name", [NAME, "tests.trainers.algorithms.test_hybrid_runs:Choosing"])
@pytest.mark.parametrize("algorithm", ["dqn", "ape_x", "r2d2", "vdn", "qmix", "ddpg", "sac"])
def test_other_algorithms_refuse(algorithm: str, name: str) -> None:
    expected = "a Box" if algorithm in ("ddpg", "sac") else "a Discrete, MultiDiscrete or MultiBinary"
    space = ACTION if name == NAME else Choosing().groups()[0].action
    with pytest.raises(ConfigError) as refused:
        Trainer(config({"algorithm": algorithm}, name))
    assert (
        f"policy.arm.algorithm is {algorithm}, but group 'arm' acts in {space}, expected {expected}; a2c, ppo and "
        "mappo act in a Dict or Tuple"
    ) in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.long
def test_parts_that_are_all_choices(tmp_path: Path) -> None:
    trainer = Trainer(config(FEW, "tests.trainers.algorithms.test_hybrid_runs:Choosing"))
    trainer.train(Run.create(trainer.config, tmp_path / "run"))
    policy = trainer.policies["arm"]
    assert isinstance(policy.distribution, HybridDistribution) and policy.distribution.log_std is None
    assert {key: part.max() for key, part in trainer.world.actions("arm").items()} == {"0": 1, "1": 2}


@pytest.mark.long
def test_opponents_with_deviations_of_their_own(tmp_path: Path) -> None:
    pool = {
        "share": 0.5,
        "slots": 3,
        "pool_size": 2,
        "snapshot_every": 1,
        "match_every": 1,
        "opponents": ["random", "still"],
    }
    entries = {"goer": {**FEW, "self_play": pool}, "arm": {**FEW, "self_play": {**pool, "share": 0.3}}}
    run = config_from_dict({"name": "tests.hybrid:HybridPair", "trainer": {**SMALL, "num_envs": 12}, "policy": entries})
    trainer = Trainer(run)
    trainer.train(Run.create(run, tmp_path / "run"))
    kinds = trainer.world["log_stds_arm"].unique(dim=0)
    assert len(kinds) > 1  # of the policy, its past selves, scripts and random actions


@pytest.mark.long
def test_a_run_is_recorded_checked_and_used_from_python(tmp_path: Path) -> None:
    run = Run.create(config(FEW), tmp_path / "run")
    trainer = Trainer(run.config)
    trainer.train(run)
    run.close()
    recording = record_run(Run.open(run.path), seed=1)
    assert set(NAMES) <= set(recording.columns)
    assert check_run(run.path, num_envs=3, steps=10).findings == ()
    world = World(Hybrid(), 3)
    found = rollout(world, load_policy(run.path), 4, seed=2)
    actions = found["actions"]["arm"]
    assert actions["move"].shape == (4, 3, 2) and actions["arm"]["reach"].shape == (4, 3, 2, 2)
    assert actions["move"].min() >= 1
    assert world["actions_move"][..., 0].tolist() == (actions["move"][-1] - 1).tolist()
