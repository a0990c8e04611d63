"""DDPG, TD3 and SAC: against plain references, what moves what, saving, and who else may stand in a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import torch

from tests.trainers.algorithms.plain_critics import Batch, PlainDDPG, PlainSAC, Reference
from warpworld.config import RunConfig, config_from_dict
from warpworld.trainers.trainer import Trainer

DDPG = {"algorithm": "ddpg"}
TD3 = {"algorithm": "ddpg", "td3": True}
SAC = {"algorithm": "sac"}
SMALL = {"replay_size": 400, "learning_starts": 32, "batch_size": 32}
KINDS = pytest.mark.parametrize("entry", [DDPG, TD3, SAC], ids=["ddpg", "td3", "sac"])


def config(entry: Mapping[str, Any], iterations: int = 10, **env: Any) -> RunConfig:
    sizes = {"num_envs": 4, "num_steps": 4, "total_env_steps": 16 * iterations}
    learner = {"model": {"hidden_sizes": [16, 16]}, **SMALL, **entry}
    return config_from_dict(
        {"name": "pendulum", "env": {"episode_length": 9, **env}, "trainer": sizes, "policy": {"agent": learner}}
    )


def trained(entry: Mapping[str, Any], iterations: int = 3, **env: Any) -> tuple[Trainer, Any]:
    """A trainer that has done so many iterations, and its algorithm."""
    trainer = Trainer(config(entry, 100, **env))
    for _ in range(iterations):
        trainer.collector.collect()
        trainer._learn()
    return trainer, trainer.algorithms["agent"]


def batch_of(algorithm: Any) -> Batch:
    """What the latest update learnt from, as it lies in the store."""
    names = ["batch_observations", "batch_actions", "batch_returns", "batch_discounts", "batch_next_observations"]
    world = algorithm.replay.world
    seen, actions, *others = (world[f"replay_{name}_agent"].clone().cpu() for name in (*names, "normals"))
    return Batch(seen, actions / 2, *others)


def assert_equal(own: Any, reference: Reference) -> None:
    """The algorithm's networks and the reference's have the same weights."""
    expected = [weight for layer in reference.actor for weight in layer.parameters()]
    for one, other in zip(own.model.actor_layers.parameters(), expected, strict=True):
        torch.testing.assert_close(one.cpu(), other, rtol=1e-5, atol=1e-5)
    for module, critics in (
        (own.model.critics, reference.critics),
        (own.target_critics.module, reference.target_critics),
    ):
        for number, critic in enumerate(critics):
            layers = [layer for layer in critic if isinstance(layer, torch.nn.Linear)]
            for layer, weight, bias in zip(layers, module.ensemble.weights, module.ensemble.biases, strict=True):
                torch.testing.assert_close(weight[number].t().cpu(), layer.weight, rtol=1e-5, atol=1e-5)
                torch.testing.assert_close(bias[number, 0].cpu(), layer.bias, rtol=1e-5, atol=1e-5)


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
def test_ddpg_learns_as_a_plain_reference(delay: int) -> None:
    """With a delay it is TD3."""
    entry = {**DDPG, "td3": delay > 0, "policy_delay": max(delay, 1), "learning_rate": 2e-3, "tau": 0.01}
    algorithm = at_first(entry)
    reference = PlainDDPG(algorithm.model, 2e-3, 1e-3, 0.01)
    for _ in range(50):
        reference.update(update(algorithm), delay > 0, delay)
    assert_equal(algorithm, reference)


def test_sac_learns_as_a_plain_reference() -> None:
    algorithm = at_first({**SAC, "learning_rate": 2e-3, "tau": 0.01})
    reference = PlainSAC(algorithm.model, 2e-3, 1e-3, 0.01)
    for _ in range(50):
        reference.update(update(algorithm))
    assert_equal(algorithm, reference)
    torch.testing.assert_close(algorithm._temperature.log.cpu(), reference.log_alpha, rtol=1e-5, atol=1e-5)
    assert abs(algorithm._temperature.log.item()) > 0.01
