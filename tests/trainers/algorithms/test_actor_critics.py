"""What DDPG, TD3 and SAC learn: against plain references, and what moves what."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import pytest
import torch

from tests.trainers.algorithms.plain_critics import Batch, PlainDDPG, PlainSAC, Reference
from tests.trainers.algorithms.swinging import DDPG, KINDS, SAC, TD3, config, trained
from warpworld.trainers.trainer import Trainer


def batch_of(algorithm: Any) -> Batch:
    """What the latest update learnt from, as it lies in the store."""
    names = ["batch_observations", "batch_actions", "batch_returns", "batch_discounts", "batch_next_observations"]
    world = algorithm.replay.world
    seen, actions, *others = (world[f"replay_{name}_agent"].clone() for name in (*names, "normals"))
    return Batch(seen, actions / 2, *others)


def assert_equal(own: Any, reference: Reference) -> None:
    """The algorithm's networks and the reference's have the same weights."""
    expected = [weight for layer in reference.actor for weight in layer.parameters()]
    for one, other in zip(own.model.actor_layers.parameters(), expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5)
    for module, critics in (
        (own.model.critics, reference.critics),
        (own.target_critics.module, reference.target_critics),
    ):
        for number, critic in enumerate(critics):
            layers = [layer for layer in critic if isinstance(layer, torch.nn.Linear)]
            for layer, weight, bias in zip(layers, module.ensemble.weights, module.ensemble.biases, strict=True):
                torch.testing.assert_close(weight[number].t(), layer.weight, rtol=1e-5, atol=1e-5)
                torch.testing.assert_close(bias[number, 0], layer.bias, rtol=1e-5, atol=1e-5)


# ---- learning --------------------------------------------------------------------------------------------------------
def at_first(entry: Mapping[str, Any]) -> Any:
    """An algorithm with a ring full of steps that has learnt nothing yet."""
    _, algorithm = trained({**entry, "learning_starts": 400}, iterations=24)
    assert algorithm.num_updates == 0
    return algorithm


def update(algorithm: Any) -> Batch:
    """One update, and what it learnt from."""
    algorithm._update()
    algorithm.num_updates += 1
    return batch_of(algorithm)


@pytest.mark.parametrize("delay", [0, 2, 3])
@pytest.mark.long
def test_ddpg_learns_as_a_plain_reference(delay: int) -> None:
    """With a delay it is TD3."""
    entry = {**DDPG, "td3": delay > 0, "policy_delay": max(delay, 1), "learning_rate": 2e-3, "tau": 0.01}
    algorithm = at_first(entry)
    reference = PlainDDPG(algorithm.model, 2e-3, 1e-3, 0.01)
    for _ in range(50):
        reference.update(update(algorithm), delay > 0, delay)
    assert_equal(algorithm, reference)


@pytest.mark.long
def test_sac_learns_as_a_plain_reference() -> None:
    algorithm = at_first({**SAC, "learning_rate": 2e-3, "tau": 0.01})
    reference = PlainSAC(algorithm.model, 2e-3, 1e-3, 0.01)
    for _ in range(50):
        reference.update(update(algorithm))
    assert_equal(algorithm, reference)
    torch.testing.assert_close(algorithm._temperature.log, reference.log_alpha, rtol=1e-5, atol=1e-5)
    assert abs(algorithm._temperature.log.item()) > 0.01


@KINDS
def test_targets_begin_with_the_weights_that_learn(entry: Mapping[str, Any]) -> None:
    """Also where these changed after they were made, as where several processes take those of the first."""
    trainer = Trainer(config({**entry, "tau": 1e-6}))
    algorithm: Any = trainer.algorithms["agent"]
    for parameters in (algorithm.actor, algorithm.critics):
        parameters.vector.detach().add_(1.0)
    expected = algorithm.critics.vector.detach().clone()
    for _ in range(3):
        trainer.collector.collect()
        trainer._learn()
    assert algorithm.num_updates == 2
    torch.testing.assert_close(algorithm.target_critics.vector, expected, rtol=0, atol=1e-4)


# ---- what moves what -------------------------------------------------------------------------------------------------
@KINDS
def test_the_actors_loss_moves_the_actor_alone(entry: Mapping[str, Any]) -> None:
    _, algorithm = trained(entry)
    update(algorithm)
    kept = algorithm.critics.vector.detach().clone(), algorithm.critics.gradient.clone()
    before = algorithm.actor.vector.detach().clone()
    algorithm.num_updates = 1  # the next one is TD3's turn to move the actor
    seen = algorithm.policy.features(algorithm.replay.world["replay_batch_observations_agent"])
    algorithm.update_actor(seen, torch.ones(len(seen), device=seen.device), algorithm.normals.draw())
    assert torch.equal(algorithm.critics.vector, kept[0]) and torch.equal(algorithm.critics.gradient, kept[1])
    assert not torch.equal(algorithm.actor.vector, before)


@KINDS
def test_where_nothing_follows_nothing_of_it_counts(entry: Mapping[str, Any]) -> None:
    """Whatever stands in the place of the next observation, NaN even."""
    _, algorithm = trained(entry)
    batch = algorithm.replay.draw(algorithm.beta)
    ended = dataclasses.replace(batch, discounts=torch.zeros_like(batch.discounts))
    following = torch.full_like(batch.next_observations, float("nan"))
    targets = algorithm.targets_of(ended, following, algorithm.normals.draw())
    assert torch.equal(targets, batch.returns)


@KINDS
def test_a_batch_without_weights_moves_nothing(entry: Mapping[str, Any]) -> None:
    """As where nothing can be drawn."""
    _, algorithm = trained(entry, iterations=2)
    assert algorithm.num_updates == 1
    algorithm.replay.array("leaves").zero_()
    algorithm.replay.priorities.add_up_all()
    algorithm.settings = algorithm.settings.model_copy(update={"policy_delay": 1})
    for parameters in algorithm.learnt.values():
        parameters.optimizer.state.clear()  # no moments: a gradient of 0 has no effect
    before = [parameters.vector.detach().clone() for parameters in algorithm.learnt.values()]
    algorithm._update()
    assert algorithm._found.isfinite().all()
    for parameters, kept in zip(algorithm.learnt.values(), before, strict=True):
        assert torch.equal(parameters.vector, kept)


def test_td3_moves_actor_and_targets_every_other_time() -> None:
    _, algorithm = trained({**TD3, "policy_delay": 3})
    algorithm.num_updates, moved = 0, []
    for _ in range(6):
        kept = algorithm.actor.vector.detach().clone(), algorithm.target_critics.vector.clone()
        update(algorithm)
        moved.append(
            tuple(
                not torch.equal(a, b)
                for a, b in zip((algorithm.actor.vector, algorithm.target_critics.vector), kept, strict=True)
            )
        )
    assert moved == [(False, False), (False, False), (True, True)] * 2


def test_a_given_temperature_stays() -> None:
    _, algorithm = trained({**SAC, "temperature": 0.3})
    assert set(algorithm.learnt) == {"actor", "critics"}
    found = dict(zip(algorithm.diagnostics, algorithm._found.tolist(), strict=True))
    assert found["temperature"] == pytest.approx(0.3)


def test_a_learnt_temperature_falls_while_there_is_more_entropy_than_asked_for() -> None:
    _, algorithm = trained(SAC)
    for _ in range(20):
        update(algorithm)
    found = dict(zip(algorithm.diagnostics, algorithm._found.tolist(), strict=True))
    assert found["entropy"] > -1.0  # minus the number of dimensions
    assert 0 < found["temperature"] < 1.0
    algorithm._target_entropy = 10.0
    for _ in range(60):
        update(algorithm)
    assert algorithm.alpha.item() > found["temperature"]


def test_errors_become_priorities() -> None:
    """The mean over critics of what their values are off."""
    _, algorithm = trained({**SAC, "priority_alpha": 1.0, "priority_beta": 1.0})
    batch, normals = algorithm.replay.draw(algorithm.beta), algorithm.normals.draw()
    seen, actions = batch.observations.clone(), batch.actions / 2
    with torch.no_grad():
        targets = algorithm.targets_of(batch, batch.next_observations, normals)
        expected = (targets - algorithm.model.critics(seen, actions)).abs().mean(0) + 1e-6
    world = algorithm.replay.world
    number = world["replay_update_agent"].view(torch.int64)
    number -= 1  # the same draw again
    algorithm._update()
    items = world["replay_batch_items_agent"].long()
    first = torch.cat((torch.ones(1, dtype=torch.bool, device=items.device), items[1:] != items[:-1]))
    torch.testing.assert_close(world["replay_leaves_agent"][items[first]], expected[first], rtol=1e-4, atol=1e-5)
