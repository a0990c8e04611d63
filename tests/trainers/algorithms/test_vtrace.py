"""V-trace targets against hand-worked numbers, a slow reference, and GAE where the policy has not moved."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.trainers.by_python import update_by_python
from tests.trainers.recorded import Discounts
from tests.trainers.small_networks import small_networks
from warpworld.config import RunConfig, config_from_dict
from warpworld.errors import ConfigError, StoreError
from warpworld.policies import RecurrentPolicy
from warpworld.trainers.algorithms.experience.trajectory_rows import ends_of, step_values, values_of
from warpworld.trainers.algorithms.targets.gae import gae
from warpworld.trainers.algorithms.targets.targets import VTraceTargets
from warpworld.trainers.algorithms.targets.vtrace import vtrace
from warpworld.trainers.collecting.rollout import Rollout
from warpworld.trainers.trainer import Trainer

weights = st.sampled_from([0.0, 0.3, 0.95, 1.0])
bars = st.sampled_from([0.2, 0.7, 1.0, 1.5, 100.0])


def rollout(seed: int, steps: int = 7, envs: int = 3, agents: int = 2, ends: float = 0.2) -> dict[str, torch.Tensor]:
    """Random numbers; ends and agents that leave are as frequent as ``ends`` says."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    def flags(*shape: int) -> torch.Tensor:
        return torch.rand(*shape, generator=generator) < ends

    return {
        "rewards": normal(steps, envs, agents),
        "values": normal(steps, envs, agents),
        "log_ratios": normal(steps, envs, agents),
        "terminated": flags(steps, envs),
        "truncated": flags(steps, envs),
        "agent_terminated": flags(steps, envs, agents),
        "agent_truncated": flags(steps, envs, agents),
        "next_value": normal(envs, agents),
        "truncated_values": normal(steps, envs, agents),
    }


def slow_vtrace(
    given: dict[str, torch.Tensor], gamma: float, lambda_: float, rho_bar: float, c_bar: float
) -> np.ndarray:
    """Each target by the sum that defines it, in float64."""
    data = {name: column.cpu().numpy() for name, column in given.items() if column is not None}
    steps, envs, agents = data["rewards"].shape
    data.setdefault("agent_truncated", np.zeros((steps, envs, agents), np.bool_))
    targets = np.empty((steps, envs, agents))
    for env in range(envs):
        for agent in range(agents):

            def error(t: int, env: int = env, agent: int = agent) -> tuple[float, bool]:
                """The weighed TD error of a step, and whether its trajectory ends there."""
                ratio, ends = np.exp(data["log_ratios"][t, env, agent]), True
                if data["terminated"][t, env] or data["agent_terminated"][t, env, agent]:
                    after = 0.0
                elif data["truncated"][t, env]:
                    after = data["truncated_values"][t, env, agent]
                else:
                    last = t == steps - 1
                    after = (data["next_value"] if last else data["values"][t + 1])[env, agent]
                    ends = last or data["agent_truncated"][t, env, agent]
                reward, value = data["rewards"][t, env, agent], data["values"][t, env, agent]
                return min(rho_bar, ratio) * (reward + gamma * after - value), ends

            for start in range(steps):
                target, weight = data["values"][start, env, agent], 1.0
                for t in range(start, steps):
                    delta, ends = error(t)
                    target += weight * delta
                    if ends:
                        break
                    weight *= gamma * lambda_ * min(c_bar, np.exp(data["log_ratios"][t, env, agent]))
                targets[start, env, agent] = target
    return targets


@given(seed=st.integers(0, 2**32 - 1), gamma=weights, gae_lambda=weights, rho_bar=bars, c_bar=bars)
def test_against_the_sum_that_defines_it(
    seed: int, gamma: float, gae_lambda: float, rho_bar: float, c_bar: float
) -> None:
    data = rollout(seed)
    bars = {"rho_bar": rho_bar, "c_bar": c_bar}
    expected = slow_vtrace(data, gamma, gae_lambda, rho_bar, c_bar)
    found = vtrace(**data, gamma=gamma, gae_lambda=gae_lambda, **bars)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)
    single = {name: column.float() if column.dtype == torch.float64 else column for name, column in data.items()}
    found = vtrace(**single, gamma=gamma, gae_lambda=gae_lambda, **bars)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)


def test_by_hand() -> None:
    # rewards 1 2 3, values 4 2 1, then 8; gamma 1/2; ratios 2, 1/2, 4 and bars of 1: rho = c = 1, 1/2, 1
    # delta = 1 + 2/2 - 4 = -2,  (2 + 1/2 - 2) / 2 = 1/4,  3 + 8/2 - 1 = 6
    # v - V = -2 + 1/2 * 7/4 = -9/8,  1/4 + 1/2 * 1/2 * 6 = 7/4,  6
    def column(*numbers: float) -> torch.Tensor:
        return torch.tensor(numbers)[:, None, None]

    never = torch.zeros(3, 1, dtype=torch.bool)
    arguments = (column(1.0, 2.0, 3.0), column(4.0, 2.0, 1.0), column(2.0, 0.5, 4.0).log(), never, never, None)
    found = vtrace(*arguments, torch.tensor([[8.0]]), column(0, 0, 0), gamma=0.5, gae_lambda=1.0)
    assert found.flatten().tolist() == pytest.approx([4 - 9 / 8, 2 + 7 / 4, 7])


@given(seed=st.integers(0, 2**32 - 1), gamma=weights, gae_lambda=weights, bar=st.sampled_from([1.0, 3.0]))
def test_on_policy_the_targets_are_the_returns_of_gae(seed: int, gamma: float, gae_lambda: float, bar: float) -> None:
    data = rollout(seed)
    ratios = data.pop("log_ratios")
    _, returns = gae(**data, gamma=gamma, gae_lambda=gae_lambda)
    found = vtrace(**data, log_ratios=torch.zeros_like(ratios), gamma=gamma, gae_lambda=gae_lambda, rho_bar=bar)
    torch.testing.assert_close(found, returns, rtol=1e-10, atol=1e-10)


def test_what_follows_the_end_of_a_trajectory_does_not_leak() -> None:
    data = rollout(5, ends=0.0)
    data["terminated"][2, 0] = True
    clean = vtrace(**data, gamma=0.9, gae_lambda=0.9)
    for name in ("rewards", "values", "log_ratios"):
        data[name][3:, 0] = float("nan")
    spoilt = vtrace(**data, gamma=0.9, gae_lambda=0.9)
    assert torch.equal(clean[:3, 0], spoilt[:3, 0]) and torch.equal(clean[:, 1:], spoilt[:, 1:])


def test_wrong_shapes_are_refused() -> None:
    data = rollout(1)
    data["next_value"] = data["next_value"][:1]
    with pytest.raises(StoreError, match=r"next_value: shape \(1, 2\), expected \(3, 2\) to go with the rewards"):
        vtrace(**data, gamma=0.9, gae_lambda=0.9)


# ---- in training -----------------------------------------------------------------------------------------------------
def config(counted: float = 1.0, **policy: Any) -> RunConfig:
    entry = {"groups": ["left", "right"], "num_minibatches": 2, "learning_rate": 0.01, **policy}
    data = {
        "name": "tests.trainers.recall:Lives",
        "env": {"dying": 0.1, "counted": counted},
        "trainer": {"device": "cpu", "num_envs": 6, "num_steps": 8, "total_env_steps": 144},
        "policy": {"both": entry},
    }
    return config_from_dict(small_networks(data))


MODELS: dict[str, dict[str, Any]] = {"mlp": {}, "gru": {"recurrent": "gru", "recurrent_size": 8}}


@pytest.mark.parametrize("counted", [1.0, 0.6])
@pytest.mark.parametrize("model", MODELS)
def test_later_passes_learn_targets_by_the_weights_of_their_moment(model: str, counted: float) -> None:
    trainer = Trainer(config(counted, model=MODELS[model]))
    trainer.collector.collect()
    policy, seen = trainer.policies["both"], trainer.collector.shared(Rollout)
    assert policy is not None
    groups = [seen.trajectories(group) for group in ("left", "right")]
    targets = VTraceTargets(policy, groups, Discounts(0.9, 0.8, 1.1, 1.0))
    first, acted = targets.experience().rows, copy.deepcopy(policy)
    before = first.returns
    with torch.no_grad():
        for parameter in policy.parameters():
            noise = torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1))
            parameter.add_(0.1 * noise.to(parameter.device))
    found = targets.recomputed()
    expected, ratios = [], []
    for group in ("left", "right"):
        rows = seen.trajectories(group)
        values, log_probs = [], []
        state = trainer.world[f"rollout_first_state_{group}"].clone() if model == "gru" else None
        with torch.no_grad():
            for t in range(8):
                if isinstance(policy, RecurrentPolicy):
                    outputs, value, state = policy.step(rows.observations[t], state)
                    ended = (rows.terminated[t] | rows.truncated[t])[:, None] | rows.agent_terminated[t]  # type: ignore[index]
                    state[ended] = 0.0
                else:
                    outputs, value = policy(rows.observations[t])
                values.append(value)
                log_probs.append(policy.distribution.log_prob_and_entropy(outputs, rows.actions[t])[0])
        ends = ends_of(rows, policy)
        log_ratios = torch.stack(log_probs) - rows.log_probs
        if rows.mask is not None:
            log_ratios = log_ratios.where(rows.mask, 0.0)
        slow = slow_vtrace({**ends, "values": torch.stack(values), "log_ratios": log_ratios}, 0.9, 0.8, 1.1, 1.0)
        expected.append(slow if model == "mlp" else slow.transpose(1, 2, 0))
        of_rows = log_ratios.exp() if model == "mlp" else log_ratios.exp().permute(1, 2, 0)
        ratios.append(of_rows.flatten())
    assert (found - before).abs().max() > 0.01  # so it moved
    np.testing.assert_allclose(found.cpu(), np.concatenate([each.ravel() for each in expected]), rtol=0, atol=1e-4)
    # so does a first pass, from rows of older weights; without a ratio in the loss it has one in its advantages
    late = VTraceTargets(policy, groups, Discounts(0.9, 0.8, 1.1, 1.0), acted=acted, loss_has_ratio=False).experience()
    assert torch.equal(late.rows.returns, found)
    weighted = first.advantages * torch.cat(ratios).clamp(max=1.1)
    torch.testing.assert_close(late.rows.advantages, weighted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("model", MODELS)
def test_a_single_pass_is_that_of_gae(model: str) -> None:
    one, other = (
        Trainer(config(model=MODELS[model], update_epochs=1, value_targets=targets)) for targets in ("gae", "vtrace")
    )
    for trainer in (one, other):
        trainer.train(None)
    for a, b in zip(one.policies["both"].parameters(), other.policies["both"].parameters(), strict=True):  # type: ignore[union-attr]
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


def test_further_passes_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    update_by_python(monkeypatch)
    asked: list[int] = []
    recomputed = VTraceTargets.recomputed
    monkeypatch.setattr(VTraceTargets, "recomputed", lambda targets: asked.append(1) or recomputed(targets))
    one, other = (Trainer(config(update_epochs=3, value_targets=targets)) for targets in ("gae", "vtrace"))
    for trainer in (one, other):
        trainer.train(None)
    assert len(asked) == 3 * 2  # of 3 updates, in all passes but the first
    ends = [
        torch.cat([p.detach().flatten() for p in trainer.policies["both"].parameters()]) for trainer in (one, other)
    ]  # type: ignore[union-attr]
    assert (ends[0] - ends[1]).abs().max() > 1e-3


def test_values_of_a_rollout_are_those_of_one_forward() -> None:
    trainer = Trainer(config(value_targets="vtrace"))
    trainer.collector.collect()
    policy, rows = trainer.policies["both"], trainer.collector.shared(Rollout).trajectories("left")
    assert policy is not None
    assert torch.equal(step_values(rows, policy), values_of(policy, rows.observations))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"value_targets": "v-trace"}, r"policy.both.value_targets is 'v-trace', expected 'gae' or 'vtrace'"),
        ({"rho_bar": 0}, "policy.both.rho_bar is 0, expected more than 0|rho_bar is 0, expected .*0"),
        ({"c_bar": 2.0}, r"policy.both.c_bar is 2.0, expected at most its rho_bar, 1.0$"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        config(**settings)
