"""The networks of policies that act in a Box: batched critics against plain ones, and what their heads give."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict
from torch import nn

from warpworld.config import ModelConfig
from warpworld.environment import Group
from warpworld.policies.layers.ensemble import Ensemble
from warpworld.policies.networks.actor_critics import ActorCritics
from warpworld.trainers.algorithms.ddpg import DDPG, DDPGSettings
from warpworld.trainers.algorithms.sac import SAC, SACSettings

ARM = Box(-2.0, 2.0, (2,))


def plain_twin(ensemble: Ensemble, number: int, activation: type[nn.Module]) -> nn.Sequential:
    """One of the perceptrons, made of torch's own layers."""
    layers: list[nn.Module] = []
    for weight, bias in zip(ensemble.weights, ensemble.biases, strict=True):
        layer = nn.Linear(weight.shape[1], weight.shape[2])
        layer.load_state_dict({"weight": weight[number].t(), "bias": bias[number, 0]})
        layers += [layer, activation()]
    return nn.Sequential(*layers[:-1])


@pytest.mark.parametrize("activation", [nn.ReLU, nn.Tanh])
def test_an_ensemble_is_as_many_perceptrons(activation: type[nn.Module]) -> None:
    torch.manual_seed(3)
    ensemble = Ensemble(2, (5, 16, 8), activation)
    twins = [plain_twin(ensemble, number, activation) for number in (0, 1)]
    rows = torch.randn(7, 5, requires_grad=True)
    own, expected = ensemble(rows), torch.stack([twin(rows).squeeze(-1) for twin in twins])
    torch.testing.assert_close(own, expected)
    assert not torch.allclose(own[0], own[1])  # they were drawn apart
    (gradient,) = torch.autograd.grad(own.square().sum(), rows, retain_graph=True)
    torch.testing.assert_close(gradient, torch.autograd.grad(expected.square().sum(), rows, retain_graph=True)[0])
    of_weight = torch.autograd.grad(own.square().sum(), ensemble.weights[1])[0]
    of_twin = torch.autograd.grad(expected.square().sum(), twins[1][2].weight)[0]
    torch.testing.assert_close(of_weight[1].t(), of_twin)


def made(observation: Box | Dict, **model: object) -> ActorCritics:
    settings = SACSettings(model=ModelConfig(**model))
    group = Group("arm", 1, observation=observation, action=ARM)
    policy = SAC.build_policy(settings, group, torch.Generator().manual_seed(1), None)
    assert isinstance(policy.model, ActorCritics)
    return policy.model


def test_critics_of_a_perceptron_have_its_layers() -> None:
    model = made(Box(-1.0, 1.0, (3,)), type="mlp", hidden_sizes=(32, 16), activation="relu")
    shapes = [tuple(weight.shape) for weight in model.critics.ensemble.weights]
    assert shapes == [(2, 5, 32), (2, 32, 16), (2, 16, 1)]
    assert isinstance(model.critics.ensemble.activation, nn.ReLU)
    assert model.actor(torch.zeros(4, 6, 3)).shape == (4, 6, 4)
    values = model.critic(torch.ones(4, 6, 3), torch.ones(4, 6, 2))
    both = model.critics(torch.ones(24, 3), torch.ones(24, 2))
    torch.testing.assert_close(values.flatten(), torch.minimum(*both))


def test_critics_of_another_encoder_share_a_twin_of_it() -> None:
    seen = Dict({"camera": Box(0, 255, (3, 12, 12), np.uint8), "speed": Box(-1.0, 1.0, (2,))})
    model = made(seen, type="multi_input", kernel_sizes=(3,), strides=(2,), channels=(4,), hidden_sizes=(20,))
    assert [tuple(weight.shape) for weight in model.critics.ensemble.weights] == [(2, 22, 20), (2, 20, 1)]
    encoder = model.actor_layers[0]
    assert model.critics.encoder is not None
    for own, twin in zip(encoder.parameters(), model.critics.encoder.parameters(), strict=True):
        assert own is not twin


def test_a_linear_model_has_linear_critics() -> None:
    model = made(Box(-1.0, 1.0, (3,)), type="mlp", hidden_sizes=())
    assert [tuple(weight.shape) for weight in model.critics.ensemble.weights] == [(2, 5, 1)]


def test_deviations_stay_within_their_limits() -> None:
    model = made(Box(-np.inf, np.inf, (3,)), type="mlp", hidden_sizes=(), activation="relu")
    means, log_stds = model.actor(1e6 * torch.randn(100, 3)).chunk(2, -1)
    assert means.abs().max() > 100
    assert (log_stds.min().item(), log_stds.max().item()) == (-5.0, 2.0)


def test_ddpg_acts_between_the_ends_of_the_box() -> None:
    group = Group("arm", 1, observation=Box(-1.0, 1.0, (3,)), action=ARM)
    for td3, count in ((False, 1), (True, 2)):
        settings = DDPGSettings(td3=td3, model=ModelConfig(type="mlp", hidden_sizes=(), activation="tanh"))
        policy = DDPG.build_policy(settings, group, torch.Generator().manual_seed(1), None)
        assert isinstance(policy.model, ActorCritics)
        assert len(policy.model.critics.ensemble.weights[0]) == count
        observations = 1e6 * torch.randn(50, 3, generator=torch.Generator().manual_seed(2))
        acted = policy.act(observations)
        torch.testing.assert_close(acted, 2 * policy.outputs(observations))
        torch.testing.assert_close(acted.abs(), torch.full((50, 2), 2.0))
