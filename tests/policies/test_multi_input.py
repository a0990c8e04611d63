"""The model "multi_input": a branch for each part of an observation."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete
from torch import nn

from warpworld.config import ModelConfig
from warpworld.environment import Group
from warpworld.errors import ConfigError
from warpworld.policies import MultiInput, build_policy
from warpworld.policies.layers.encoders import BranchEncoder


def box(*shape: int) -> Box:
    return Box(-1.0, 1.0, shape, np.float32)


SEEN = Dict({"rgb": box(3, 64), "depth": box(1, 64), "imu": box(3), "health": box(1)})  # sorted: depth first


def test_shapes() -> None:
    torch.manual_seed(0)
    model = MultiInput(SEEN, 5)
    for lead in ((), (4,), (4, 2), (7, 4, 2)):
        observations = torch.randn(*lead, 64 + 1 + 3 + 3 * 64)
        assert model.actor(observations).shape == (*lead, 5)
        assert model.critic(observations).shape == lead


def convolved(pixels: np.ndarray, layer: nn.Conv1d) -> np.ndarray:
    """One convolution and its rectifier, pixel by pixel: (channels, pixels) -> (channels, pixels)."""
    weight, bias = layer.weight.detach().double().numpy(), layer.bias.detach().double().numpy()
    (size,), (stride,) = layer.kernel_size, layer.stride
    count = (pixels.shape[1] - size) // stride + 1
    found = np.empty((len(weight), count))
    for channel in range(len(weight)):
        for place in range(count):
            window = pixels[:, place * stride : place * stride + size]
            found[channel, place] = np.maximum(0.0, (weight[channel] * window).sum() + bias[channel])
    return found


def affine(x: np.ndarray, layer: nn.Linear) -> np.ndarray:
    return layer.weight.detach().double().numpy() @ x + layer.bias.detach().double().numpy()


def test_the_actor_and_the_critic_by_hand() -> None:
    """All of it in float64, pixel by pixel."""
    torch.manual_seed(1)
    model = MultiInput(SEEN, 5, channels=(4, 6), branch_size=7, hidden_sizes=(9,))
    for parameter in model.parameters():
        if parameter.dim() == 1:
            nn.init.normal_(parameter)  # biases are zero at first: then a lost one would not show
    observation = torch.randn(64 + 1 + 3 + 3 * 64)
    numbers = observation.double().numpy()
    depth, health, imu, rgb = np.split(numbers, [64, 65, 68])
    parts = [depth.reshape(1, 64), health, imu, rgb.reshape(3, 64)]
    for layers, outputs in (
        (model.actor_layers, model.actor(observation)),
        (model.critic_layers, model.critic(observation)),
    ):
        encoder, last = layers
        said = []
        for branch, part in zip(encoder.branches, parts, strict=True):
            convolutions, _, tail = branch
            for layer in convolutions:
                part = convolved(part, layer) if isinstance(layer, nn.Conv1d) else part
            said.append(np.maximum(0.0, affine(part.reshape(-1), tail[0])))
        joined = np.maximum(0.0, affine(np.concatenate(said), encoder.joined[0]))
        expected = affine(joined, last)
        np.testing.assert_allclose(np.atleast_1d(outputs.detach().numpy()), expected, rtol=1e-4, atol=1e-5)


def test_weights_at_first() -> None:
    torch.manual_seed(2)
    model = MultiInput(SEEN, 5)
    assert model.actor_layers[-1].weight.norm(dim=1).tolist() == pytest.approx([0.01] * 5, rel=1e-4)
    assert model.critic_layers[-1].weight.norm().item() == pytest.approx(1.0, rel=1e-4)
    first = next(module for module in model.modules() if isinstance(module, nn.Conv1d))
    rows = first.weight.detach().flatten(1)  # 32 rows of 8 numbers: the columns are orthogonal
    torch.testing.assert_close(rows.t() @ rows, 2 * torch.eye(8), rtol=0, atol=1e-4)
    assert all(not parameter.any() for name, parameter in model.named_parameters() if name.endswith("bias"))


def test_one_box_and_layers_left_out() -> None:
    assert MultiInput(box(2, 30), 3).actor(torch.zeros(5, 60)).shape == (5, 3)
    plain = MultiInput(box(2, 30), 3, channels=(), kernel_sizes=(), strides=(), hidden_sizes=())
    assert plain.actor(torch.zeros(5, 60)).shape == (5, 3)
    assert plain.actor_layers[-1].in_features == 64


def test_actor_and_critic_share_no_weight() -> None:
    model = MultiInput(SEEN, 5)
    model.critic(torch.ones(2, 260)).sum().backward()
    assert all(parameter.grad is None for parameter in model.actor_layers.parameters())


@pytest.mark.parametrize("pixels", [20, 21, 64])
def test_the_fewest_pixels_are_enough(pixels: int) -> None:
    MultiInput(Dict({"depth": box(1, pixels)}), 2)
    with pytest.raises(ConfigError, match="observation 'depth' has 19 pixels, expected at least 20 for kernel_sizes"):
        MultiInput(Dict({"depth": box(1, 19)}), 2)


@pytest.mark.parametrize(("height", "width"), [(20, 20), (21, 30)])
def test_the_least_pictures_are_enough(height: int, width: int) -> None:
    MultiInput(Dict({"view": box(3, height, width)}), 2)
    with pytest.raises(ConfigError) as refused:
        MultiInput(Dict({"view": box(3, height, 19)}), 2)
    assert str(refused.value) == (
        f"model 'multi_input': observation 'view' has {height} x 19 pixels, expected at least 20 in height and width "
        "for kernel_sizes [8, 4] with strides [4, 2]; take smaller or fewer of them"
    )


def test_a_picture_goes_through_convolutions_of_two_dimensions() -> None:
    """All of it in float64, window by window, from bytes on."""
    space = Dict({"own": Discrete(3), "view": Box(0, 255, (2, 7, 9), np.uint8)})
    torch.manual_seed(3)
    settings = {"channels": [4, 5], "kernel_sizes": [3, 2], "strides": [2, 1], "branch_size": 6, "hidden_sizes": [8]}
    config = ModelConfig.model_validate({"type": "multi_input", **settings})
    policy = build_policy(config, Group("agent", 1, space, Discrete(5)), torch.Generator().manual_seed(0))
    generator = np.random.default_rng(0)
    view, own = generator.integers(0, 256, (2, 7, 9), np.uint8), np.array([2], np.int32)
    rows = torch.from_numpy(np.concatenate([own.view(np.uint8), view.ravel()]))
    encoder, last = policy.model.actor_layers
    numbers = view / 255.0
    for layer in encoder.branches[1][0]:
        numbers = convolved_2d(numbers, layer) if isinstance(layer, nn.Conv2d) else numbers
    flat = np.eye(3)[2], numbers.reshape(-1)
    said = [np.maximum(0.0, affine(part, branch[2][0])) for branch, part in zip(encoder.branches, flat, strict=True)]
    expected = affine(np.maximum(0.0, affine(np.concatenate(said), encoder.joined[0])), last)
    np.testing.assert_allclose(policy.outputs(rows).detach().numpy(), expected, rtol=1e-4, atol=1e-6)


def convolved_2d(pixels: np.ndarray, layer: nn.Conv2d) -> np.ndarray:
    """One convolution and its rectifier: (channels, height, width) -> the same."""
    weight, bias = layer.weight.detach().double().numpy(), layer.bias.detach().double().numpy()
    size, stride = layer.kernel_size, layer.stride
    windows = np.lib.stride_tricks.sliding_window_view(pixels, size, (1, 2))[:, :: stride[0], :: stride[1]]
    return np.maximum(0.0, np.einsum("ihwkl,oikl->ohw", windows, weight) + bias[:, None, None])


def test_what_is_neither_pixels_nor_a_picture_is_refused() -> None:
    for space, what in ((Dict({"view": box(3, 8, 8, 8)}), "observation 'view'"), (box(3, 8, 8, 8), "the observation")):
        with pytest.raises(ConfigError) as refused:
            MultiInput(space, 2)
        assert str(refused.value) == (
            f"model 'multi_input': {what} has shape (3, 8, 8, 8), expected (channels, pixels), "
            "(channels, height, width) or (numbers,); give the Box another shape, or write a model of your own"
        )


def test_the_encoder_is_a_branch_for_each_part() -> None:
    encoder = MultiInput(SEEN, 5).actor_layers[0]
    assert isinstance(encoder, BranchEncoder) and len(encoder.branches) == 4
