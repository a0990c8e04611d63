"""DQN's targets, loss and steps, beside plain PyTorch and arithmetic by hand."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from warpworld.config import config_from_dict
from warpworld.trainers.algorithms.dqn import DQN
from warpworld.trainers.algorithms.value_rescale import rescaled, unscaled
from warpworld.trainers.replay import Transitions
from warpworld.trainers.trainer import Trainer

ENV = {"terminating": 0.1, "truncating": 0.1}
CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "plain": ({"double": False, "dueling": False, "n_step": 1, "priority_alpha": 0}, {}),
    "double, masks": ({"n_step": 3}, {"forbidding": 0.4}),
    "by the target, masks": ({"double": False}, {"forbidding": 0.4}),
    "heads, rescaled": ({"value_rescale": True, "tau": 0.1, "target_every": None}, {"actions": "several"}),
    "heads, masks": ({"first_priority": "actor"}, {"actions": "several", "forbidding": 0.4}),
    "rmsprop": ({"optimizer": "rmsprop", "optimizer_eps": 1e-4, "max_grad_norm": None}, {}),
}
HEADS = {"one": [3], "several": [3, 2]}


def learner(case: str) -> DQN:
    """A learner whose replay is filled, and whose target is another network than its own."""
    entry, env = CASES[case]
    small = {"model": {"hidden_sizes": [16]}, "batch_size": 64, "replay_size": 900, "learning_starts": 900}
    entry = {"algorithm": "dqn", "groups": ["left", "right"], "learning_rate": 1e-3, "gamma": 0.9, **small, **entry}
    config = config_from_dict(
        {
            "name": "tests.trainers.replay.varied:Varied",
            "env": {**ENV, **env},
            "trainer": {"num_envs": 12, "num_steps": 4, "total_env_steps": 10_000},
            "policy": {"both": entry, "middle": {"algorithm": "random"}},
        }
    )
    trainer = Trainer(config)
    for _ in range(4):
        trainer.collector.collect()
    made = trainer.algorithms["both"]
    assert isinstance(made, DQN)
    made.beta.fill_(0.5)
    with torch.no_grad():
        for weight in made.target.module.parameters():
            noise = torch.randn(weight.shape, generator=torch.Generator().manual_seed(weight.numel()))
            weight.add_(0.3 * noise.to(weight.device))
    return made


def heads_of(case: str) -> list[int]:
    return HEADS[CASES[case][1].get("actions", "one")]


def target_by_hand(made: DQN, batch: Transitions, i: int, heads: list[int]) -> float:
    """In float64, one transition and one choice at a time."""
    total, discount = float(batch.returns[i]), float(batch.discounts[i])
    rescales, values = made.settings.value_rescale, []
    with torch.no_grad():
        own = made.policy.model.actor(batch.next_observations[i]).tolist()  # type: ignore[operator]
        follower = made.target.module.actor(batch.next_observations[i]).tolist()  # type: ignore[operator]
    first = 0
    for size in heads:
        places = range(first, first + size)
        if batch.next_action_masks is not None:
            places = [k for k in places if batch.next_action_masks[i, k]] or places  # type: ignore[assignment]
        judge = own if made.settings.double else follower
        values.append(follower[max(places, key=lambda k: judge[k])])
        first += size
    following = float(np.mean(values))
    if rescales:
        following = unscaled(torch.tensor(following, dtype=torch.float64)).item()
    found = total + (discount * following if discount else 0.0)
    return rescaled(torch.tensor(found, dtype=torch.float64)).item() if rescales else found


def taken(values: Tensor, actions: Tensor, heads: list[int]) -> Tensor:
    firsts = np.cumsum([0, *heads[:-1]])
    return torch.stack([values[range(len(values)), first + actions[:, k]] for k, first in enumerate(firsts)]).mean(0)


def huber(errors: Tensor) -> Tensor:
    return torch.where(errors.abs() < 1, 0.5 * errors**2, errors.abs() - 0.5)


def optimizer_of(made: DQN, weights: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
    settings = made.settings
    kind = {"adam": torch.optim.Adam, "rmsprop": torch.optim.RMSprop}[settings.optimizer]
    return kind(weights, lr=1e-3, eps=settings.optimizer_eps)


@pytest.mark.heavy
@pytest.mark.parametrize("case", CASES)
def test_a_step_is_that_of_plain_torch(case: str) -> None:
    made, heads = learner(case), heads_of(case)
    reference, target = copy.deepcopy(made.policy.model), copy.deepcopy(made.target.module)
    made.set_learning_rate(1e-3)
    batch = made.replay.draw(made.beta)
    hand = torch.tensor(
        [target_by_hand(made, batch, i, heads) for i in range(64)], device=made.parameters.vector.device
    )
    drawn = copy.deepcopy(batch)
    made.replay.array("update").zero_()  # the next draw is the same
    found = made.update()

    values = taken(reference.actor(drawn.observations), drawn.actions.long(), heads)  # type: ignore[operator]
    loss = (drawn.weights * huber(hand - values)).mean()
    loss.backward()
    weights = list(reference.parameters())
    norm = nn.utils.clip_grad_norm_(weights, made.settings.max_grad_norm or float("inf"))
    optimizer_of(made, weights).step()
    torch.testing.assert_close(found["loss"], loss.detach(), rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(found["grad_norm"], norm, rtol=1e-4, atol=1e-6)
    for own, expected in zip(made.policy.model.parameters(), weights, strict=True):
        torch.testing.assert_close(own, expected, rtol=1e-4, atol=2e-6)
    if made.settings.priority_alpha:
        errors = made.replay.array("batch_errors")
        torch.testing.assert_close(errors, (hand - values).detach(), rtol=1e-4, atol=1e-5)
    tau = made.settings.tau or 0.0
    for follower, before, own in zip(made.target.module.parameters(), target.parameters(), weights, strict=True):
        torch.testing.assert_close(follower, before + tau * (own - before), rtol=1e-4, atol=2e-6)


def test_the_target_is_copied_where_it_is_due() -> None:
    made = learner("plain")
    made.settings = made.settings.model_copy(update={"target_every": 3})
    copies = []
    for number in range(1, 8):
        made.update()
        made.num_updates = number
        made.updated()
        copies.append(torch.equal(made.target.vector, made.parameters.vector.detach()))
    assert copies == [False, False, True, False, False, True, False]


def test_a_batch_of_nothing_moves_no_fresh_network() -> None:
    made = learner("double, masks")
    made.replay.array("leaves").zero_()
    made.replay.priorities.add_up_all()
    made.replay.array("ring_observations").fill_(float("nan"))
    before = made.parameters.vector.detach().clone()
    made.update()
    assert torch.equal(made.parameters.vector, before)


def test_rescaling_and_its_inverse() -> None:
    values = torch.cat([torch.linspace(-1e4, 1e4, 4001), torch.logspace(-6, 4, 500), -torch.logspace(-6, 4, 500)])
    torch.testing.assert_close(unscaled(rescaled(values)), values, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(rescaled(unscaled(values / 100)), values / 100, rtol=1e-5, atol=1e-5)
    exact = values.double().numpy()
    expected = np.sign(exact) * (np.sqrt(np.abs(exact) + 1) - 1) + 1e-3 * exact
    np.testing.assert_allclose(rescaled(values).numpy(), expected, rtol=1e-5, atol=1e-6)
