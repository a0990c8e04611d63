"""A2C: its loss, its update, and that it learns."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.trainers.algorithms.ppo_cases import JUNK, Settings, equal_weights, make_batch, make_policy, seeded
from warpworld.config import config_from_dict, load_config
from warpworld.errors import ConfigError
from warpworld.runs import Run
from warpworld.trainers.algorithms.a2c import A2C, A2CSettings, a2c_loss
from warpworld.trainers.algorithms.experience.batch import Batch
from warpworld.trainers.trainer import Trainer

PLAIN = A2CSettings(norm_adv=False, ent_coef=0.01, vf_coef=0.5)


def case(advantages: list[float], returns: list[float], mask: list[bool] | None = None) -> Batch:
    rows = len(advantages)
    zeros = torch.zeros(rows, dtype=torch.float64)
    return Batch(
        observations=torch.zeros(rows, 1),
        actions=torch.zeros(rows, 1, dtype=torch.int32),
        log_probs=zeros + 99,  # not read
        advantages=torch.tensor(advantages, dtype=torch.float64),
        returns=torch.tensor(returns, dtype=torch.float64),
        values=zeros + 99,  # not read
        mask=None if mask is None else torch.tensor(mask),
    )


def doubles(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


def test_loss_and_gradient_by_hand() -> None:
    log_probs, entropies, values = doubles(-1.0, -2.0), doubles(0.5, 0.7), doubles(1.0, 3.0)
    loss, diagnostics = a2c_loss(log_probs, entropies, values, case([2.0, -1.0], [2.0, 2.5]), PLAIN)
    # -((2)(-1) + (-1)(-2)) / 2 = 0; ((1 - 2)^2 + (3 - 2.5)^2) / 4 = 0.3125; entropy 0.6
    expected = {"policy_loss": 0.0, "value_loss": 0.3125, "entropy": 0.6}
    assert {name: value.item() for name, value in diagnostics.items()} == pytest.approx(expected)
    assert loss.item() == pytest.approx(0.0 - 0.006 + 0.15625)
    loss.backward()
    assert log_probs.grad.tolist() == pytest.approx([-1.0, 0.5])  # -advantage / 2
    assert entropies.grad.tolist() == pytest.approx([-0.005, -0.005])
    assert values.grad.tolist() == pytest.approx([0.5 * -1.0 / 2, 0.5 * 0.5 / 2])


def test_normalised_advantages_by_hand() -> None:
    # 2, -1, 3: mean 4/3, unbiased deviation sqrt(13/3): 0.3202563, -1.1208971, 0.8006408
    inputs = doubles(-1.0, -2.0, -0.5), doubles(0.0, 0.0, 0.0), doubles(0.0, 0.0, 0.0)
    batch = case([2.0, -1.0, 3.0], [0.0] * 3)
    found = a2c_loss(*inputs, batch, PLAIN.model_copy(update={"norm_adv": True}))[1]["policy_loss"].item()
    assert found == pytest.approx((0.3202563 - 2 * 1.1208971 + 0.5 * 0.8006408) / 3, abs=1e-6)


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1), st.sampled_from(JUNK), st.booleans())
def test_rows_that_do_not_count(seed: int, junk: float, norm_adv: bool) -> None:
    generator = seeded(seed)
    mask = [True, False, True, True, False]
    numbers = torch.randn(5, 5, generator=generator, dtype=torch.float64)
    options = PLAIN.model_copy(update={"norm_adv": norm_adv})

    def loss_of(rows: torch.Tensor, counted: list[bool] | None) -> tuple[torch.Tensor, list[torch.Tensor]]:
        inputs = [row.clone().requires_grad_() for row in rows[:3]]
        loss, _ = a2c_loss(*inputs, case(rows[3].tolist(), rows[4].tolist(), counted), options)
        loss.backward()
        return loss, [x.grad for x in inputs]

    spoilt = torch.where(torch.tensor(mask), numbers, junk)
    masked_loss, gradients = loss_of(spoilt, mask)
    loss, expected = loss_of(numbers[:, torch.tensor(mask)], None)
    torch.testing.assert_close(masked_loss, loss)
    for mine, reference in zip(gradients, expected, strict=True):
        torch.testing.assert_close(mine[torch.tensor(mask)], reference)
        assert mine[~torch.tensor(mask)].count_nonzero() == 0


def test_one_pass_whose_gradient_is_that_of_the_loss() -> None:
    learner = A2C(make_policy(), Settings(num_minibatches=1, max_grad_norm=1e9, norm_adv=False))
    batch = make_batch(learner.policy)
    exact = copy.deepcopy(make_policy()).double()
    outputs, values = exact(batch.observations.double())
    log_probs, entropies = exact.distribution.log_prob_and_entropy(outputs, batch.actions)
    loss = -(log_probs * batch.advantages).mean() - 0.01 * entropies.mean()
    (loss + 0.5 * 0.5 * ((values - batch.returns) ** 2).mean()).backward()
    diagnostics = learner.update(batch, seeded())
    for mine, reference in zip(learner.policy.parameters(), exact.parameters(), strict=True):
        torch.testing.assert_close(mine.grad.double(), reference.grad, rtol=1e-4, atol=1e-6)
    assert list(diagnostics) == ["policy_loss", "value_loss", "entropy", "grad_norm", "explained_variance"]
    whole = torch.cat([p.grad.flatten() for p in exact.parameters()]).norm().item()
    assert diagnostics["grad_norm"] == pytest.approx(whole, rel=1e-4)
    assert not equal_weights(learner.policy, make_policy())


def cartpole(**policy: Any) -> Any:
    data = load_config("cartpole").to_dict()
    data["trainer"] |= {"num_envs": 64, "num_steps": 8, "total_env_steps": 60_000}
    data["policy"] = {"agent": {"algorithm": "a2c", "learning_rate": 5e-3, **policy}}
    return config_from_dict(data)


@pytest.mark.long
def test_cartpole_is_learnt(tmp_path: Path) -> None:
    trainer = Trainer(cartpole())
    lengths: list[float] = []
    trainer.train(
        Run.create(trainer.config, tmp_path), lambda metrics: lengths.append(metrics["charts/episodic_length"])
    )
    finished = [length for length in lengths if length == length]
    assert max(finished[:3]) < 35
    assert sum(finished[-10:]) / 10 > 60


def test_settings_of_ppo_are_not_its() -> None:
    assert (cartpole().policy["agent"].num_minibatches, cartpole().policy["agent"].gae_lambda) == (1, 1.0)
    with pytest.raises(ConfigError, match=r"policy\.agent\.clip_coef is not a known key"):
        cartpole(clip_coef=0.2)
