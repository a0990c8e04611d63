"""Muon: a step against the singular values of its momentum, and where it may be asked for."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from warpworld.config import config_from_dict
from warpworld.errors import ConfigError
from warpworld.policies.layers.ensemble import Ensemble
from warpworld.trainers.algorithms.parameters.flat_parameters import FlatParameters, adam
from warpworld.trainers.algorithms.parameters.muon import MOMENTUM, Matrix, muon
from warpworld.trainers.trainer import Trainer

RATE = 0.01


def network() -> nn.Module:
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(6, 20), nn.Linear(20, 7), nn.Linear(7, 1))


def gradients_of(module: nn.Module, seed: int) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    drawn = {name: torch.randn(p.shape, generator=generator) for name, p in module.named_parameters()}
    for name, parameter in module.named_parameters():
        assert parameter.grad is not None
        parameter.grad.copy_(drawn[name])
    return drawn


def test_matrices_move_along_what_newton_schulz_makes_of_their_momentum() -> None:
    """Singular values of a move are those of five steps of the quintic, about 1 (0.7 to 1.2), times Adam's length."""
    module = network()
    parameters = FlatParameters(module, RATE, muon)
    momentum = {name: torch.zeros_like(p) for name, p in module.named_parameters()}
    for seed in range(3):
        before = {name: p.detach().clone() for name, p in module.named_parameters()}
        drawn = gradients_of(module, seed)
        parameters.step()
        for name in ("0.weight", "1.weight"):
            momentum[name].lerp_(drawn[name], 1 - MOMENTUM)
            along = drawn[name].lerp(momentum[name], MOMENTUM).double()
            left, _, right = torch.linalg.svd(along, full_matrices=False)
            moved = (before[name] - module.state_dict()[name]).double()
            rows, columns = moved.shape
            scaled = left.T @ moved @ right.T / (RATE * 0.2 * math.sqrt(max(rows, columns)))
            values = scaled.diagonal()
            assert values.min() > 0.6 and values.max() < 1.3
            assert (scaled - values.diag()).abs().max() < 0.05  # of bfloat16: the move has no other directions


def test_biases_and_single_rows_move_as_adam_moves_them() -> None:
    ours, plain = network(), network()
    parameters = [FlatParameters(ours, RATE, muon), FlatParameters(plain, RATE, adam)]
    for seed in range(3):
        for module, each in zip((ours, plain), parameters, strict=True):
            gradients_of(module, seed)
            each.step()
    others = plain.state_dict()
    for name, value in ours.state_dict().items():
        assert torch.equal(value, others[name]) is (name in ("0.bias", "1.bias", "2.weight", "2.bias")), name


def test_the_gradient_is_left_as_it_was() -> None:
    module = network()
    parameters = FlatParameters(module, RATE, muon)
    drawn = gradients_of(module, 1)
    parameters.step()
    assert all(torch.equal(p.grad, drawn[name]) for name, p in module.named_parameters() if p.grad is not None)


@pytest.mark.parametrize(
    ("module", "expected"),
    [
        (nn.Conv1d(2, 4, 3), [Matrix(0, 4, 6)]),
        (nn.Conv2d(1, 4, 3), [Matrix(0, 4, 9)]),
        (Ensemble(2, (3, 5)), [Matrix(0, 3, 5), Matrix(15, 3, 5)]),  # the layer behind gives one number
        (nn.Linear(4, 1), []),
    ],
    ids=["rows", "images", "ensemble", "one output"],
)
def test_what_is_a_matrix(module: nn.Module, expected: list[Matrix]) -> None:
    assert FlatParameters(module, RATE)._matrices == expected


def test_a_state_is_saved_and_loaded() -> None:
    modules = [network() for _ in range(2)]
    first, second = (FlatParameters(module, RATE, muon) for module in modules)
    for seed in range(3):
        gradients_of(modules[0], seed)
        first.step()
    state = first.optimizer.state_dict()
    second.check_state(state)
    second.load_state(state)
    modules[1].load_state_dict(modules[0].state_dict())
    for module, each in zip(modules, (first, second), strict=True):
        gradients_of(module, 7)
        each.step()
    assert torch.equal(first.vector, second.vector)


MODELS: dict[str, dict[str, Any]] = {
    "ppo": {"name": "cartpole", "policy": {"agent": {"num_minibatches": 2}}},
    "a2c": {"name": "cartpole", "policy": {"agent": {"algorithm": "a2c"}}},
    "gru": {"name": "cartpole", "policy": {"agent": {"num_minibatches": 2, "model": {"recurrent": "gru"}}}},
    "dqn": {
        "name": "cartpole",
        "policy": {"agent": {"algorithm": "dqn", "replay_size": 512, "learning_starts": 64, "batch_size": 32}},
    },
    "sac": {
        "name": "pendulum",
        "policy": {"agent": {"algorithm": "sac", "replay_size": 512, "learning_starts": 64, "batch_size": 32}},
    },
}


def config(name: str, **settings: Any) -> Any:
    made = MODELS[name]
    policy = {"agent": {**made["policy"]["agent"], "optimizer": "muon", **settings}}
    trainer = {"device": "cpu", "num_envs": 8, "num_steps": 8, "total_env_steps": 512}
    return config_from_dict({"name": made["name"], "trainer": trainer, "policy": policy})


@pytest.mark.long
@pytest.mark.parametrize("name", MODELS)
def test_every_learner_takes_it_and_resumes(name: str) -> None:
    whole, stopped, resumed = (Trainer(config(name)) for _ in range(3))
    before = {key: value.clone() for key, value in whole.policies["agent"].state_dict().items()}  # type: ignore[union-attr]
    whole.train(None)
    stopped.train(None, stop=lambda: stopped.iteration == 4)
    resumed.load_state_dict(stopped.state_dict())
    if name in ("ppo", "a2c", "gru"):  # others continue with the replay's file, which test_resumed_trajectories tests
        resumed.train(None)
        for key, value in whole.policies["agent"].state_dict().items():  # type: ignore[union-attr]
            assert torch.equal(value, resumed.policies["agent"].state_dict()[key]), key  # type: ignore[union-attr]
    after = whole.policies["agent"].state_dict()  # type: ignore[union-attr]
    assert not any(torch.equal(value, before[key]) for key, value in after.items() if key.endswith("weight"))


def test_a_policy_without_a_matrix_is_refused() -> None:
    with pytest.raises(ConfigError) as refused:
        FlatParameters(nn.Linear(4, 1), RATE, muon)
    assert str(refused.value) == (
        "optimizer is muon, but the policy has no matrix of weights, expected a layer of two or more inputs and "
        "outputs; use adam"
    )
