"""A penalty on the KL divergence whose coefficient follows it."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.trainers.algorithms.ppo_cases import Settings, make_batch, make_policy, seeded
from tests.trainers.algorithms.test_kl_rate import PenalisedPPO
from warpworld.config import RunConfig, config_from_dict, load_config
from warpworld.errors import ConfigError, RunError
from warpworld.trainers.algorithms.parameters import KLPenalty
from warpworld.trainers.algorithms.ppo import PPO
from warpworld.trainers.algorithms.updates.passes import Passes
from warpworld.trainers.trainer import Trainer

TARGET = 0.01
NAN, INFINITE = float("nan"), float("inf")


def naive(coefficient: float, kls: list[float]) -> list[float]:
    """The coefficient after each update, written out."""
    found = []
    for kl in kls:
        if kl > 0.015:
            coefficient = min(coefficient * 2, 2.0**30)
        elif kl < 0.01 / 1.5:
            coefficient = max(coefficient / 2, 2.0**-30)
        found.append(coefficient)
    return found


@pytest.mark.parametrize(
    ("first", "kls"),
    [
        (1.0, [0.0151, 0.0149, 0.01, 0.0067, 0.0066, 0.0, 0.5, 0.5]),
        (3.0, [NAN, INFINITE, -1e-9, NAN]),
        (2.0**30, [0.02, 0.02, 0.001]),
        (2.0**-29, [0.0, 0.0, 0.0, 0.02]),
    ],
)
def test_the_rule(first: float, kls: list[float]) -> None:
    penalty, found = KLPenalty(first, TARGET, torch.device("cpu")), list[float]()
    for kl in kls:
        penalty.follow(torch.tensor(kl))
        found.append(float(penalty.coefficient))
    assert found == naive(first, kls)


@pytest.mark.parametrize("in_cpp", [False, True])
def test_an_update_goes_by_the_divergence_of_the_last_pass_of_the_one_before(
    monkeypatch: pytest.MonkeyPatch, in_cpp: bool
) -> None:
    """Rows of diagnostics are noted as each call leaves them, and the loss has the coefficient of its update."""
    passes, used = list[torch.Tensor](), list[float]()
    end, terms, loss = Passes.end, PPO.loss_terms, PPO.loss_of

    def noted(self: Passes, rows: torch.Tensor, count: int) -> None:
        passes.extend(rows[:, self.names.index("approx_kl")].split(len(rows) // count))
        end(self, rows, count)

    def noted_terms(self: PPO) -> Any:
        used.append(float(self.now.kl_coef))
        return terms(self)

    def noted_loss(self: PPO, *given: Any) -> Any:
        used.append(float(self.now.kl_coef))
        return loss(self, *given)

    policy = make_policy()
    if in_cpp:
        from warpworld.trainers.building import fuse_policies

        fuse_policies({"agent": policy}, True)
    algorithm = PPO(policy, Settings(learning_rate=3e-3, num_minibatches=4, kl_coef=0.25, kl_coef_target=TARGET))
    algorithm.updates.diagnostics  # noqa: B018 (chooses how to update before calls are noted)
    monkeypatch.setattr(Passes, "end", noted)
    monkeypatch.setattr(PPO, "loss_terms", noted_terms)
    monkeypatch.setattr(PPO, "loss_of", noted_loss)
    coefficients = [0.25]
    for _ in range(5):
        passes.clear()
        used.clear()
        algorithm.set_progress(0.0, 0)
        algorithm.update(make_batch(policy), seeded())
        assert len(passes) == 3
        assert {*used} == {coefficients[-1]}
        coefficients += naive(coefficients[-1], [float(passes[-1].mean())])
        assert float(algorithm.charts()["kl_coef"]) == coefficients[-1]
    assert len({*coefficients}) > 2  # it moves


# ---- in a run --------------------------------------------------------------------------------------------------------
def config(**settings: Any) -> RunConfig:
    own = {"num_minibatches": 2, "update_epochs": 2, "learning_rate": 1e-2, **settings}
    sizes = {"num_envs": 4, "num_steps": 16, "total_env_steps": 4 * 16 * 5, "device": "cpu"}
    return config_from_dict({"name": "cartpole", "trainer": sizes, "policy": {"agent": own}})


def coefficients(**settings: Any) -> list[float]:
    """The coefficient after each iteration, as it is charted."""
    found = list[float]()
    Trainer(config(**settings)).train(None, lambda metrics: found.append(metrics["charts/agent/kl_coef"]))
    return found


def test_a_run_charts_its_coefficient() -> None:
    assert coefficients(kl_coef=1, kl_coef_target=1e-9) == [2.0, 4.0, 8.0, 16.0, 32.0]
    assert coefficients(kl_coef=1, kl_coef_target=100.0) == [0.5, 0.25, 0.125, 0.0625, 0.03125]


def test_a_fixed_coefficient_is_not_charted() -> None:
    assert "charts/agent/kl_coef" not in Trainer(config(kl_coef=0.5)).train(None)


@pytest.mark.parametrize("saved", [None, 0.5, torch.zeros(3)])
def test_a_checkpoint_needs_a_coefficient(saved: Any) -> None:
    trainer = Trainer(config(kl_coef=1, kl_coef_target=TARGET))
    state = trainer.state_dict()
    state["learners"]["agent"]["kl_coef"] = saved
    with pytest.raises(RunError, match=r"policy 'agent': the saved learner's kl_coef is .*, expected a tensor \(\)"):
        trainer.load_state_dict(state)


# ---- messages --------------------------------------------------------------------------------------------------------
FOLLOWS = "policy.agent.kl_coef_target=0.01"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["kl_coef_target=0"], "kl_coef_target is 0, expected more than 0"),
        ([FOLLOWS], "kl_coef is 0, but kl_coef_target is 0.01, which doubles and halves it; expected the first one"),
        (
            [FOLLOWS, "kl_coef=[[0, 1], [100, 2]]"],
            "kl_coef is a schedule, but kl_coef_target is 0.01, which doubles and halves it; expected the first one",
        ),
        (
            [FOLLOWS, "kl_coef=1", "num_minibatches=1", "update_epochs=1"],
            "kl_coef_target is 0.01, but an update takes a single step, before which the policy has not moved; set ",
        ),
        (["kl_target=0.1"], "kl_target"),
    ],
)
def test_refusals(words: list[str], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        load_config("cartpole", words)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_it_is_no_key_of_a2c() -> None:
    with pytest.raises(ConfigError, match="kl_coef_target is not a known key of a2c: it is one of ppo, mappo"):
        load_config("acrobot", ["policy.agent.algorithm=a2c", FOLLOWS])


def test_a_loss_of_ones_own_without_the_divergence() -> None:
    with pytest.raises(ConfigError) as error:
        PenalisedPPO(make_policy(), Settings(kl_coef=1.0, kl_coef_target=TARGET))
    assert str(error.value) == (
        "kl_coef_target is 0.01, but the loss of PenalisedPPO has no approx_kl among its loss_diagnostics; add it, or "
        "set kl_coef_target=null"
    )
