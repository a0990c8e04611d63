"""What an update of PPO does, and saving and restoring a learner."""

from __future__ import annotations

import copy
import dataclasses
import io
import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.trainers.algorithms.ppo_cases import (
    DIAGNOSTICS,
    JUNK,
    Settings,
    equal_weights,
    make_batch,
    make_policy,
    seeded,
)
from warpworld.errors import RunError, StoreError
from warpworld.policies.distributions.distribution import log_prob
from warpworld.trainers.algorithms import ppo
from warpworld.trainers.algorithms.experience.batch import Batch
from warpworld.trainers.algorithms.ppo import PPO, ppo_loss
from warpworld.trainers.algorithms.updates.minibatches import KeptMinibatches, Minibatches
from warpworld.trainers.processes.distributed import ALONE

# --- rows that do not count -------------------------------------------------------------------------------------------


@pytest.mark.long
@settings(max_examples=10)
@given(seed=st.integers(0, 2**32 - 1), junk=st.sampled_from(JUNK))
def test_masked_rows_have_no_influence_on_an_update(seed: int, junk: float) -> None:
    first, second = PPO(make_policy(), Settings()), PPO(make_policy(), Settings())
    batch = make_batch(first.policy, seed=seed, masked=True)
    spoilt = copy.deepcopy(batch)
    for name, tensor in spoilt.named_tensors():
        if name != "mask":
            tensor[~batch.mask] = 99 if name == "actions" else junk
    assert first.update(batch, seeded()) == second.update(spoilt, seeded())
    assert equal_weights(first.policy, second.policy)


def test_nothing_to_learn_from_changes_nothing() -> None:
    learner = PPO(make_policy(), Settings())
    batch = dataclasses.replace(make_batch(learner.policy, rows=8), mask=torch.zeros(8, dtype=torch.bool))
    assert learner.update(batch, seeded()) == dict.fromkeys(DIAGNOSTICS, 0.0)
    assert equal_weights(learner.policy, make_policy())
    loss, diagnostics = ppo_loss(batch.log_probs, batch.values, batch.values, batch, Settings())
    assert [loss.item(), *(value.item() for value in diagnostics.values())] == [0.0] * 7


@pytest.mark.parametrize("rows", [1, 2, 3, 5])
def test_fewer_rows_than_minibatches(rows: int) -> None:
    learner = PPO(make_policy(), Settings(num_minibatches=4))
    diagnostics = learner.update(make_batch(learner.policy, rows=rows), seeded())
    assert all(math.isfinite(value) for value in diagnostics.values())
    assert all(parameter.isfinite().all() for parameter in learner.policy.parameters())


# --- the update -------------------------------------------------------------------------------------------------------


@pytest.fixture
def spy(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Batch, dict[str, torch.Tensor]]]:
    """Each minibatch that an update takes, with its diagnostics."""
    seen: list[tuple[Batch, dict[str, torch.Tensor]]] = []

    def recorded(*args: Any) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        loss, diagnostics = ppo_loss(*args)
        seen.append((args[3], diagnostics))
        return loss, diagnostics

    monkeypatch.setattr(ppo, "ppo_loss", recorded)
    return seen


def test_the_ratio_is_one_at_first_and_moves(spy: list[Any]) -> None:
    learner = PPO(make_policy(), Settings(learning_rate=0.01))
    result = learner.update(make_batch(learner.policy), seeded())
    kls = [diagnostics["approx_kl"].item() for _, diagnostics in spy]
    assert kls[0] == pytest.approx(0.0, abs=1e-6)
    assert spy[0][1]["old_approx_kl"].item() == pytest.approx(0.0, abs=1e-6)
    assert min(kls[4:]) > 1e-4  # every minibatch after the first epoch
    assert spy[-1][1]["clipfrac"].item() > 0
    assert list(result) == list(DIAGNOSTICS)
    for name, value in result.items():
        if name in PPO.loss_diagnostics:
            assert value == pytest.approx(sum(d[name].item() for _, d in spy) / len(spy), abs=1e-6)


def test_an_epoch_takes_each_counted_row_once_in_a_new_order(spy: list[Any]) -> None:
    learner = PPO(make_policy(), Settings(update_epochs=2, num_minibatches=4))
    batch = make_batch(learner.policy, rows=70, masked=True)
    learner.update(batch, seeded())
    counted = batch.counted()
    sizes = [len(minibatch) for minibatch, _ in spy]
    assert len(sizes) == 8
    assert max(sizes) - min(sizes) <= 1
    epochs = [torch.cat([minibatch.advantages for minibatch, _ in spy[i : i + 4]]) for i in (0, 4)]
    for epoch in epochs:
        assert torch.equal(epoch.sort().values, counted.advantages.sort().values)
    assert not torch.equal(epochs[0], epochs[1])
    order = epochs[1][:, None].eq(counted.advantages).int().argmax(1)  # rows stay together
    assert torch.equal(torch.cat([minibatch.observations for minibatch, _ in spy[4:]]), counted.observations[order])
    assert torch.equal(torch.cat([minibatch.actions for minibatch, _ in spy[4:]]), counted.actions[order])


@pytest.mark.parametrize("hurt", [0.0, float("nan")])
def test_rows_that_do_not_count_may_be_shuffled_without_weight(hurt: float) -> None:
    """With all rows in one minibatch that is the same as leaving them out, whatever stands in them."""
    learners = [PPO(make_policy(), Settings(update_epochs=2, num_minibatches=1)) for _ in range(2)]
    batch = make_batch(learners[0].policy, rows=70, masked=True)
    assert batch.mask is not None
    columns = {name: getattr(batch, name) for name in ("observations", "log_probs", "advantages", "returns", "values")}
    for name, column in columns.items():
        columns[name] = column.clone()
        columns[name][~batch.mask] += hurt
    learners[1].updates.minibatches = KeptMinibatches
    found = [learner.update(batch.with_columns(**columns), seeded()) for learner in learners]
    torch.testing.assert_close(found[1], found[0], rtol=1e-4, atol=1e-6)
    for one, other in zip(*(learner.policy.parameters() for learner in learners), strict=True):
        torch.testing.assert_close(other, one, rtol=1e-5, atol=1e-6)
    assert all(value.isfinite() for value in found[1].values())


def test_target_kl_ends_the_update_after_the_epoch_that_exceeds_it(spy: list[Any]) -> None:
    learner = PPO(make_policy(), Settings(learning_rate=0.01, update_epochs=10, target_kl=1e-4))
    learner.update(make_batch(learner.policy), seeded())
    assert len(spy) == 4
    learner = PPO(make_policy(), Settings(learning_rate=0.01, update_epochs=10, target_kl=1e9))
    learner.update(make_batch(learner.policy), seeded())
    assert len(spy) == 4 + 40


def test_the_gradient_is_clipped() -> None:
    learner = PPO(make_policy(), Settings(max_grad_norm=1e-3))
    learner.update(make_batch(learner.policy), seeded())
    norms = [parameter.grad.norm() for parameter in learner.policy.parameters()]
    assert torch.stack(norms).norm().item() == pytest.approx(1e-3, rel=1e-3)


def test_explained_variance() -> None:
    learner = PPO(make_policy(), Settings())
    batch = make_batch(learner.policy)
    result = learner.update(batch, seeded())["explained_variance"]
    expected = 1 - (batch.returns - batch.values).var() / batch.returns.var()
    assert result == pytest.approx(expected.item(), abs=1e-5)
    perfect = dataclasses.replace(batch, values=batch.returns.clone())
    assert learner.update(perfect, seeded())["explained_variance"] == 1.0
    same = dataclasses.replace(batch, returns=torch.ones(64))
    assert learner.update(same, seeded())["explained_variance"] == 0.0


def test_learning_rate_falls_with_progress() -> None:
    learner = PPO(make_policy(), Settings(learning_rate=0.25))
    assert learner.parameters.learning_rate == 0.25
    for fraction, rate in ((0.0, 0.25), (0.5, 0.125), (1.0, 0.0), (1.5, 0.0)):
        learner.set_progress(fraction, 0)
        assert learner.parameters.learning_rate == rate
    before = copy.deepcopy(learner.policy)
    learner.update(make_batch(learner.policy), seeded())
    assert equal_weights(before, learner.policy)
    steady = PPO(make_policy(), Settings(learning_rate=0.25, anneal_lr=False))
    steady.set_progress(0.5, 0)
    assert steady.parameters.learning_rate == 0.25


@pytest.mark.long
def test_it_learns_a_bandit() -> None:
    heads = (4, 3)
    policy = make_policy(features=1, heads=heads, hidden_sizes=(8,))
    learner = PPO(policy, Settings(learning_rate=0.02))
    observations = torch.ones(256, 1)
    generator = seeded(1)
    for _ in range(25):
        with torch.no_grad():
            logits, values = policy(observations)
        parts = [part.softmax(-1) for part in logits.split(heads, -1)]
        actions = torch.cat([torch.multinomial(part, 1, generator=generator) for part in parts], 1)
        rewards = (actions[:, 0] == 2).float() + (actions[:, 1] == 0).float()
        log_probs = log_prob(logits, actions, heads)
        learner.update(Batch(observations, actions, log_probs, rewards - values, rewards, values), generator)
    logits, value = policy(torch.ones(1))
    assert log_prob(logits, torch.tensor([2, 0]), heads).exp().item() > 0.9
    assert value.item() == pytest.approx(2.0, abs=0.2)


def test_an_update_is_reproducible_and_leaves_the_global_generator_alone() -> None:
    results = []
    for global_seed, order_seed in ((1, 7), (2, 7), (2, 8)):
        torch.manual_seed(global_seed)
        before = torch.get_rng_state()
        learner = PPO(make_policy(), Settings())
        diagnostics = learner.update(make_batch(learner.policy, masked=True), seeded(order_seed))
        assert torch.equal(torch.get_rng_state(), before)
        results.append((diagnostics, learner.policy))
    (first, policy), (second, same), (_, other) = results
    assert first == second
    assert equal_weights(policy, same)
    assert not equal_weights(policy, other)


def test_the_batch_is_left_as_it_was() -> None:
    learner = PPO(make_policy(), Settings())
    batch = make_batch(learner.policy, masked=True)
    before = copy.deepcopy(batch)
    learner.update(batch, seeded())
    for (name, tensor), (_, original) in zip(batch.named_tensors(), before.named_tensors(), strict=True):
        assert torch.equal(tensor, original), name


# --- saving -----------------------------------------------------------------------------------------------------------


def test_a_restored_learner_continues_bit_for_bit() -> None:
    learner = PPO(make_policy(), Settings())
    learner.set_progress(0.25, 0)
    learner.update(make_batch(learner.policy), seeded(1))
    file = io.BytesIO()
    torch.save(learner.state_dict(), file)
    file.seek(0)

    restored = PPO(make_policy(seed=9), Settings())
    restored.policy.load_state_dict(learner.policy.state_dict())
    restored.load_state_dict(torch.load(file, weights_only=True))
    assert restored.parameters.learning_rate == learner.parameters.learning_rate
    batch = make_batch(learner.policy, seed=2)
    assert learner.update(batch, seeded(3)) == restored.update(batch, seeded(3))
    assert equal_weights(learner.policy, restored.policy)


def test_a_learner_shares_no_memory_with_the_one_it_was_loaded_from() -> None:
    learner, other = PPO(make_policy(), Settings()), PPO(make_policy(), Settings())
    batch = make_batch(learner.policy)
    learner.update(batch, seeded(1))
    before = copy.deepcopy(learner.state_dict())
    other.load_state_dict(learner.state_dict())
    other.update(batch, seeded(2))
    torch.testing.assert_close(learner.state_dict(), before, rtol=0, atol=0)


def test_a_state_of_another_policy_is_refused() -> None:
    learner = PPO(make_policy(), Settings())
    wider = PPO(make_policy(hidden_sizes=(32,)), Settings())
    wider.update(make_batch(wider.policy), seeded())
    with pytest.raises(RunError, match="does not fit this policy") as error:
        learner.check_state(wider.state_dict())
    assert "\n" not in str(error.value)
    with pytest.raises(RunError, match="does not fit this policy"):
        learner.load_state_dict({"optimizer": {}})


def test_adam_is_plain_where_torch_has_no_fused_one(monkeypatch: pytest.MonkeyPatch) -> None:
    adam = torch.optim.Adam

    def without_fused(*args: Any, fused: bool = False, **options: Any) -> torch.optim.Adam:
        if fused:
            raise RuntimeError("`fused=True` requires all the params to be on a supported device")
        return adam(*args, **options)

    fused = PPO(make_policy(), Settings())
    monkeypatch.setattr(torch.optim, "Adam", without_fused)
    plain = PPO(make_policy(), Settings())
    batch = make_batch(plain.policy)
    plain.update(batch, seeded())
    fused.update(batch, seeded())
    for mine, reference in zip(plain.policy.parameters(), fused.policy.parameters(), strict=True):
        torch.testing.assert_close(mine, reference, rtol=1e-4, atol=1e-5)


# --- the batch --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "wrong", "words"),
    [
        ("log_probs", torch.zeros(8, 1), r"batch log_probs: shape \(8, 1\), expected \(8,\)"),
        ("returns", torch.zeros(7), r"batch returns: shape \(7,\), expected \(8,\)"),
        ("actions", torch.zeros(8, dtype=torch.int32), r"batch actions: shape \(8,\), expected \(8, \.\.\.\)"),
        ("mask", torch.ones(8), "batch mask: dtype torch.float32, expected torch.bool"),
    ],
)
def test_what_would_broadcast_to_wrong_numbers_is_refused(name: str, wrong: torch.Tensor, words: str) -> None:
    batch = make_batch(make_policy(), rows=8)
    with pytest.raises(StoreError, match=words):
        dataclasses.replace(batch, **{name: wrong})


def test_parts_of_a_batch_are_views() -> None:
    batch = make_batch(make_policy(), rows=10)
    parts = list(batch.split([3, 3, 2, 2]))
    assert [len(part) for part in parts] == [3, 3, 2, 2]
    assert parts[1].returns.data_ptr() == batch.returns[3:].data_ptr()
    assert batch.counted() is batch


@pytest.mark.gpu
def test_orders_are_drawn_where_the_rows_are() -> None:
    rows = Batch(*(torch.zeros(100, 2, device="cuda") for _ in range(2)), *(torch.zeros(100, device="cuda"),) * 4)
    orders = [Minibatches(rows, 3, ALONE).shuffle(torch.Generator().manual_seed(seed)).order for seed in (1, 1, 2)]
    assert orders[0].device.type == "cuda" and orders[0].sort().values.tolist() == list(range(100))
    assert torch.equal(orders[0], orders[1]) and not torch.equal(orders[0], orders[2])
