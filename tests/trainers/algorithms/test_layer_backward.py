"""The kernels for the way back through a layer and its activation against float64."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import warpworld
from warpworld.policies.layers import linear_relu as relu_module
from warpworld.policies.layers import linear_tanh as tanh_module
from warpworld.policies.layers import run_layers
from warpworld.policies.networks.mlp import MLP
from warpworld.trainers.algorithms.updates import layer_backward
from warpworld.trainers.algorithms.updates.layer_backward import LayerKernels, give_backward_kernels

SIZES = [(1, 1), (4, 64), (21, 32), (32, 32), (71, 33), (128, 64), (7, 5)]


def given(rows: int, inputs: int, outputs: int, is_tanh: bool, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """A gradient behind the activation, what the layer gave, and what it read."""
    generator = torch.Generator().manual_seed(rows + inputs)
    drawn = [torch.randn(rows, n, generator=generator) for n in (outputs, outputs, inputs)]
    said = drawn[1].tanh() if is_tanh else drawn[1].relu()
    return drawn[0].to(device), said.to(device), drawn[2].to(device)


def assert_near(found: Tensor, right: Tensor, summed: Tensor) -> None:
    """Near to 1e-6 of what was added up, without signs."""
    assert found.shape == right.shape
    assert ((found.double() - right).abs() <= 1e-6 * summed + 1e-12).all()


@pytest.mark.long
@pytest.mark.parametrize("is_tanh", [False, True], ids=["relu", "tanh"])
@pytest.mark.parametrize("rows", [1, 31, 500])
@pytest.mark.parametrize(("inputs", "outputs"), SIZES)
def test_gradients_are_those_of_float64(inputs: int, outputs: int, rows: int, is_tanh: bool) -> None:
    world = warpworld.make("cartpole", num_envs=5)
    kernels = LayerKernels(world, inputs, outputs, is_tanh)
    world.reset()
    gradient, said, x = given(rows, inputs, outputs, is_tanh, world.device)
    through, weights, biases = kernels(gradient, said, x, True)
    slope = 1.0 - said.double() ** 2 if is_tanh else (said > 0).double()
    right = gradient.double() * slope
    most = gradient.double().abs()  # a slope near 0 is the difference of two numbers near 1
    assert through is not None
    assert_near(through, right, most)
    assert_near(weights, right.t() @ x.double(), most.t() @ x.double().abs())
    assert_near(biases, right.sum(0), most.sum(0))
    without, *same = kernels(gradient, said, x, False)
    assert without is None and torch.equal(same[0], weights) and torch.equal(same[1], biases)


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_a_policy_s_layers_learn_the_same(activation: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Through the layers of a model, with the ways of a GPU."""
    for module in (relu_module, tanh_module):
        monkeypatch.setattr(module, "in_float32_on_gpu", lambda x, weight: True)
    for least in ("LEAST_ROWS", "LEAST_ENVS"):
        monkeypatch.setattr(layer_backward, least, 1)
    torch.manual_seed(0)
    world = warpworld.make("cartpole", num_envs=4)
    model = MLP(world.groups["agent"].observation, 2, hidden_sizes=(16, 8), activation=activation).to(world.device)
    plain = copy.deepcopy(model)
    policy: Any = nn.ModuleList([model])
    give_backward_kernels(policy, world)
    assert model.actor_layers[0].backward_kernels is model.critic_layers[0].backward_kernels
    world.reset()
    x = torch.randn(300, 4).to(world.device)
    found, expected = run_layers(model.actor_layers, x), plain.actor_layers(x)
    torch.testing.assert_close(found, expected)
    weight = torch.randn_like(found)
    (found * weight).sum().backward()
    (expected * weight).sum().backward()
    for mine, right in zip(model.actor_layers.parameters(), plain.actor_layers.parameters(), strict=True):
        torch.testing.assert_close(mine.grad, right.grad, rtol=1e-4, atol=1e-4)
    assert all(getattr(layer, "backward_kernels", None) is None for layer in copy.deepcopy(model).actor_layers)


def test_wide_layers_are_torchs() -> None:
    world = warpworld.make("cartpole", num_envs=2)
    layers: Any = nn.Sequential(nn.Linear(4, 65), nn.Tanh(), nn.Linear(65, 2), nn.Linear(129, 3), nn.ReLU())
    give_backward_kernels(layers, world)
    assert not any(hasattr(layer, "backward_kernels") for layer in layers)


def test_a_layer_with_two_activations_is_torchs() -> None:
    world = warpworld.make("cartpole", num_envs=2)
    shared = nn.Linear(4, 4)
    layers: Any = nn.ModuleList([nn.Sequential(shared, nn.Tanh()), nn.Sequential(shared, nn.ReLU())])
    give_backward_kernels(layers, world)
    assert not hasattr(shared, "backward_kernels")


def test_they_are_for_many_rows_of_many_envs() -> None:
    for num_envs, rows, takes in ((128, 4096, True), (128, 4095, False), (127, 10_000, False), (300, 5000, True)):
        world = warpworld.make("cartpole", num_envs=num_envs)
        kernels = LayerKernels(world, 2, 2, True)
        world.reset()
        assert kernels.takes(torch.zeros(rows, 2, device=world.device)) is takes
