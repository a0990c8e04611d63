"""The model "impala": residual convolutions against torch's plain functions in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete
from torch import Tensor, nn
from torch.nn import functional

from warpworld.config import ModelConfig
from warpworld.environment import Group
from warpworld.errors import ConfigError
from warpworld.policies import Policy, build_policy
from warpworld.policies.fused import fuse
from warpworld.policies.networks.impala import Impala

PICTURE = Box(0, 255, (3, 21, 30), np.uint8)


def policy_of(space: Any = PICTURE, **settings: Any) -> Policy:
    """One whose biases are not zero, so that a lost one shows."""
    model = ModelConfig.model_validate({"type": "impala", **settings})
    policy = build_policy(model, Group("agent", 1, space, Discrete(5)), torch.Generator().manual_seed(0))
    torch.manual_seed(1)
    for parameter in policy.parameters():
        if parameter.dim() == 1:
            nn.init.normal_(parameter)
    return policy


def encoded(pixels: Tensor, weights: dict[str, Tensor], prefix: str, sections: int) -> Tensor:
    """The network of the paper's figure 3, from (rows, channels, ...) to (rows, width)."""
    flat = pixels.dim() == 3
    convolve, pool = (functional.conv1d, functional.max_pool1d) if flat else (functional.conv2d, functional.max_pool2d)

    def convolution(x: Tensor, name: str) -> Tensor:
        return convolve(x, weights[f"{prefix}0.{name}.weight"], weights[f"{prefix}0.{name}.bias"], padding=1)

    x = pixels
    for section in range(sections):
        x = pool(convolution(x, f"{4 * section}"), 3, stride=2, padding=1)
        for block in (4 * section + 2, 4 * section + 3):
            x = x + convolution(convolution(x.relu(), f"{block}.first").relu(), f"{block}.second")
    x = x.relu().flatten(1)
    return functional.linear(x, weights[f"{prefix}2.0.weight"], weights[f"{prefix}2.0.bias"]).relu()


@pytest.mark.parametrize("channels", [(16, 32, 32), (4, 6)])
@pytest.mark.parametrize("shape", [(3, 21, 30), (1, 1, 2), (2, 37)])
def test_actor_and_critic_are_the_paper_s_network(shape: tuple[int, ...], channels: tuple[int, ...]) -> None:
    """From bytes on, and their gradient."""
    policy = policy_of(Box(0, 255, shape, np.uint8), channels=list(channels), branch_size=7)
    pixels = torch.randint(0, 256, (4, *shape), dtype=torch.uint8, generator=torch.Generator().manual_seed(2))
    with torch.no_grad():
        outputs = policy.outputs(pixels.flatten(1))
    model = policy.model.double()
    weights = dict(model.named_parameters())
    seen = pixels.double() / 255

    def last(name: str) -> Tensor:
        inner = encoded(seen, weights, f"{name}.0.branches.0.", len(channels))
        return functional.linear(inner, weights[f"{name}.1.weight"], weights[f"{name}.1.bias"])

    expected, worth = last("actor_layers"), last("critic_layers").squeeze(-1)
    torch.testing.assert_close(outputs.double(), expected, rtol=1e-4, atol=1e-5)
    found = model.actor(seen.flatten(1)), model.critic(seen.flatten(1))
    torch.testing.assert_close(found, (expected, worth), rtol=0, atol=1e-11)
    every = list(weights.values())
    gradients = [torch.autograd.grad((a**2).sum() + (b**2).sum(), every) for a, b in (found, (expected, worth))]
    torch.testing.assert_close(*gradients, rtol=0, atol=1e-9)


def test_the_defaults_are_the_paper_s() -> None:
    convolutions = [module for module in policy_of().model.actor_layers.modules() if isinstance(module, nn.Conv2d)]
    assert [layer.out_channels for layer in convolutions] == [16] * 5 + [32] * 10
    assert policy_of().model.actor_layers[-1].in_features == 256


def test_parts_beside_a_picture_and_layers_over_all() -> None:
    space = Dict({"own": Discrete(3), "view": PICTURE, "speed": Box(-1.0, 1.0, (2,))})
    policy = policy_of(space, channels=[4], branch_size=6, hidden_sizes=[9])
    assert isinstance(policy.model, Impala)
    assert policy.model.actor_layers[-1].in_features == 9
    assert policy.model.actor(torch.zeros(2, 3, 3 + 3 * 21 * 30 + 2)).shape == (2, 3, 5)


@pytest.mark.parametrize("settings", [{"recurrent": "gru", "recurrent_size": 8}, {"shared": True}])
def test_its_encoder_stands_before_a_memory_and_before_shared_heads(settings: dict[str, Any]) -> None:
    policy = policy_of(channels=[4], branch_size=6, **settings)
    assert policy.outputs(torch.zeros(2, 3 * 21 * 30, dtype=torch.uint8)).shape == (2, 5)


def test_weights_at_first() -> None:
    model = ModelConfig.model_validate({"type": "impala"})
    policy = build_policy(model, Group("agent", 1, PICTURE, Discrete(5)), torch.Generator().manual_seed(0))
    assert policy.model.actor_layers[-1].weight.norm(dim=1).tolist() == pytest.approx([0.01] * 5, rel=1e-4)
    assert all(not bias.any() for name, bias in policy.model.named_parameters() if name.endswith("bias"))
    with torch.no_grad():
        seen = torch.randint(0, 256, (64, 3 * 21 * 30), dtype=torch.uint8, generator=torch.Generator().manual_seed(3))
        said = policy.model.actor_layers[0](policy.features(seen))
    assert 0.1 < said.std().item() < 10  # what blocks add does not pile up


def test_torch_runs_it_and_the_log_says_so(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO"):
        assert not fuse(policy_of(channels=[4]), "agent")
    assert "without fused kernels: it has residual convolutions" in caplog.text


@pytest.mark.parametrize(
    ("space", "settings", "words"),
    [
        (
            Dict({"view": Box(0.0, 1.0, (3, 8, 8, 8))}),
            {},
            "model 'impala': observation 'view' has shape (3, 8, 8, 8), expected (channels, pixels), (channels, "
            "height, width) or (numbers,); give the Box another shape, or write a model of your own",
        ),
        (PICTURE, {"hidden_sizes": [0]}, "hidden_sizes [0], expected widths of at least 1"),
    ],
)
def test_what_it_cannot_be_made_for(space: Any, settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        policy_of(space, **settings)
    assert str(refusal.value) == words
