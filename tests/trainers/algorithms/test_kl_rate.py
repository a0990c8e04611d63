"""A learning rate that follows the KL divergence, and a penalty on it."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.trainers.algorithms.ppo_cases import Settings, make_batch, make_policy, seeded
from tests.trainers.together import Unwritten
from warpworld.config import config_from_dict, load_config
from warpworld.errors import ConfigError
from warpworld.policies.fused import RateRule
from warpworld.trainers.algorithms.parameters.flat_parameters import FlatParameters
from warpworld.trainers.algorithms.parameters.kl_rate import KLRate
from warpworld.trainers.algorithms.ppo import PPO
from warpworld.trainers.trainer import Trainer

LOWEST, HIGHEST, DESIRED = 1e-5, 1e-2, 0.01
NAN = float("nan")


class PenalisedPPO(PPO):
    """A loss of one's own that gives no divergence."""

    loss_diagnostics = ("policy_loss",)


def rate_of(start: float, on_device: bool) -> tuple[KLRate, FlatParameters]:
    parameters = FlatParameters(make_policy(), start)
    if on_device:
        parameters.rate_on_device()
    return KLRate(parameters, RateRule(DESIRED, LOWEST, HIGHEST)), parameters


def naive(rate: float, kls: list[float]) -> list[float]:
    """The rate of each step, written out."""
    rates = [rate]
    for kl in kls[1:]:
        if kl > 0.02:
            rate = max(rate / 1.5, LOWEST)
        elif kl < 0.005 and kl != 0:
            rate = min(rate * 1.5, HIGHEST)
        rates.append(rate)
    return rates


# --- the rule ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("on_device", [False, True])
@pytest.mark.parametrize(
    ("start", "kls"),
    [
        (1e-3, [0.5, 0.03, 0.0201, 0.0199, 0.01, 0.0051, 0.0049, 1e-9]),  # the first one is of no step
        (1e-3, [0.0, 0.0, -1e-9, NAN, float("inf")]),
        (8e-3, [0.0, 0.001, 0.001, 0.03]),
        (1.2e-5, [0.0, 0.03, 0.03, 0.001]),
    ],
)
def test_the_rule(start: float, kls: list[float], on_device: bool) -> None:
    rate, parameters = rate_of(start, on_device)
    rate.begin()
    found = []
    for kl in kls:
        rate.follow(torch.tensor(kl))
        found.append(parameters.learning_rate)
    assert found == pytest.approx(naive(start, kls), rel=1e-6)
    assert torch.is_tensor(rate.value) == on_device


def test_an_update_begins_with_the_rate_that_the_one_before_left() -> None:
    rate, parameters = rate_of(1e-3, on_device=False)
    for _ in range(2):
        rate.begin()
        for _ in range(3):
            rate.follow(torch.tensor(0.1))
    assert parameters.learning_rate == pytest.approx(1e-3 / 1.5**4)


@pytest.mark.parametrize("in_cpp", [False, True])
def test_every_step_of_an_update_follows_the_rule(monkeypatch: pytest.MonkeyPatch, in_cpp: bool) -> None:
    kls, rates = list[float](), list[float]()
    follow, step = KLRate.follow, FlatParameters.step

    def noted_kl(self: KLRate, kl: torch.Tensor) -> None:
        kls.append(float(kl))
        follow(self, kl)

    def noted_rate(self: FlatParameters, *given: Any) -> torch.Tensor:
        rates.append(self.learning_rate)
        return step(self, *given)

    monkeypatch.setattr(KLRate, "follow", noted_kl)
    monkeypatch.setattr(FlatParameters, "step", noted_rate)
    policy = make_policy()
    if in_cpp:
        from warpworld.trainers.building import fuse_policies

        fuse_policies({"agent": policy}, True)
    settings = {"learning_rate": 5e-3, "desired_kl": DESIRED, "num_minibatches": 4, "anneal_lr": False}
    algorithm = PPO(policy, Settings(**settings))
    algorithm.passes_in_cpp = False
    algorithm.update(make_batch(policy), seeded())
    assert len(rates) == 3 * 4 and rates == pytest.approx(naive(5e-3, kls))
    assert len({*rates}) > 2 and min(rates) < 5e-3  # it moves
    assert algorithm.charts() == {"learning_rate": rates[-1]}


# --- in a run ---------------------------------------------------------------------------------------------------------


def rates(**settings: Any) -> list[float]:
    """The learning rate of each iteration, as it is charted."""
    own = {"num_minibatches": 2, "anneal_lr": False, **settings}
    sizes = {"num_envs": 4, "num_steps": 16, "total_env_steps": 4 * 16 * 5}
    config = config_from_dict({"name": "cartpole", "trainer": sizes, "policy": {"agent": own}})
    trainer, run = Trainer(config), Unwritten()
    trainer.train(run)  # type: ignore[arg-type]
    return [line["charts/agent/learning_rate"] for line in run.lines]


@pytest.mark.long
def test_a_run_charts_its_rate_which_keeps_within_its_limits() -> None:
    rising = rates(learning_rate=1e-3, desired_kl=100.0, learning_rate_limits=[1e-4, 5e-3])
    assert rising == pytest.approx([5e-3] * 5)
    falling = rates(learning_rate=1e-3, desired_kl=1e-9, learning_rate_limits=[4e-4, 5e-3])
    assert falling == pytest.approx([4e-4] * 5)
    assert rates(learning_rate=1e-3) == [1e-3] * 5


@pytest.mark.long
def test_each_update_of_a_run_begins_with_the_rate_that_the_one_before_left() -> None:
    """Of two steps each, of which the second one follows the rule."""
    found = rates(learning_rate=1e-4, desired_kl=100.0, update_epochs=1)
    assert found == pytest.approx([1e-4 * 1.5**updates for updates in (1, 2, 3, 4, 5)])


# --- messages ---------------------------------------------------------------------------------------------------------

KL, STILL = "policy.agent.desired_kl=0.01", "policy.agent.anneal_lr=false"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["desired_kl=0"], "desired_kl is 0, expected more than 0"),
        (["kl_coef=-1"], "kl_coef is -1, expected a finite number of at least 0, or points such as "),
        (["learning_rate_limits=[0.1]"], "learning_rate_limits is [0.1], expected "),
        ([KL], "anneal_lr is true, but desired_kl is 0.01, which sets the learning rate; set anneal_lr=false"),
        (
            [STILL, KL, "learning_rate_limits=[0.01, 0.001]"],
            "learning_rate_limits is [0.01, 0.001], expected the lower rate first",
        ),
        (
            [STILL, KL, "learning_rate=0.1"],
            "learning_rate is 0.1, expected one within learning_rate_limits, [1e-05, 0.01]",
        ),
        (
            [STILL, KL, "learning_rate=[[0, 0.001], [100, 0.0001]]"],
            "learning_rate is a schedule, but desired_kl is 0.01, which sets the learning rate; expected the first one",
        ),
        (
            [STILL, "num_minibatches=1", "update_epochs=1", KL],
            "desired_kl is 0.01, but an update takes a single step, before which the policy has not moved; set "
            "update_epochs or num_minibatches to 2 or more",
        ),
    ],
)
def test_refusals(words: list[str], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        load_config("cartpole", words)
    assert f": policy.agent.{message}" in str(error.value) and "\n" not in str(error.value)


def test_it_is_no_key_of_a2c() -> None:
    words = ["policy.agent.algorithm=a2c", KL]
    with pytest.raises(ConfigError, match="desired_kl is not a known key of a2c: it is one of ppo, mappo"):
        load_config("acrobot", words)


def test_a_loss_of_ones_own_without_the_divergence() -> None:
    settings = Settings(desired_kl=DESIRED, anneal_lr=False)
    with pytest.raises(ConfigError) as error:
        PenalisedPPO(make_policy(), settings)
    assert str(error.value) == (
        "desired_kl is 0.01, but the loss of PenalisedPPO has no approx_kl among its loss_diagnostics; add it, or set "
        "desired_kl=null"
    )
