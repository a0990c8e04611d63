"""Products of networks in bfloat16: how far they are off, and what stays float32."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete
from torch import Tensor, nn

from warpworld.config.sections import ModelConfig
from warpworld.environment import Group
from warpworld.policies import Policy, build_policy
from warpworld.policies.layers.cell_makers import make_cell
from warpworld.policies.layers.dense import hidden_layers
from warpworld.policies.layers.precision import gradients_of, products
from warpworld.policies.networks.actor_critics import Critics, SquashedHead, TanhHead
from warpworld.policies.networks.mixing import MonotonicMixer
from warpworld.policies.networks.q_network import DuelingHeads, QNetwork
from warpworld.policies.recurrent import RecurrentPolicy

ROWS, STEPS, CPU = 200, 6, torch.device("cpu")
MOST, LEAST = 0.02, 3e-4  # relative errors of a gradient: a bfloat16 has 8 bits, and errors of many products even out
SEEN = Dict({"eye": Box(-1.0, 1.0, (2, 24)), "self": Box(-1.0, 1.0, (3,))})
MODELS: dict[str, dict[str, Any]] = {
    "tanh": {"hidden_sizes": [48, 32]},
    "relu": {"hidden_sizes": [48, 32], "activation": "relu"},
    "shared": {"hidden_sizes": [48, 32], "shared": True},
    "convolutions": {"type": "multi_input"},
    "lstm": {"recurrent": "lstm", "recurrent_size": 24},
    "gru": {"recurrent": "gru", "recurrent_size": 24},
    "lstms": {"recurrent": "lstm", "recurrent_size": 24, "recurrent_layers": 2},
    "mingru": {"recurrent": "mingru", "recurrent_size": 24, "recurrent_layers": 2},
    "transformer": {"recurrent": "transformer", "recurrent_size": 24, "recurrent_window": 3},
    "a user's": {"type": "tests.policies.my_models:Shared", "width": 48},
    "a user's with a state": {"type": "tests.policies.stateful_models:Remembering", "width": 24},
}


def policy_of(kind: str) -> Policy:
    """One whose last layers are as large as the others, so that each weight counts in the gradient."""
    seen = SEEN if kind == "convolutions" else Box(-1.0, 1.0, (10,))
    policy = build_policy(
        ModelConfig(**MODELS[kind]), Group("all", 1, seen, Discrete(5)), torch.Generator().manual_seed(3)
    )
    for parameter in policy.parameters():
        if parameter.dim() == 2 and len(parameter) == 5:
            nn.init.orthogonal_(parameter)
    return policy


def inputs(policy: Policy, seed: int = 1) -> tuple[Tensor, ...]:
    """What the policy reads: rows; one with memory rows of several steps, states, and where episodes begin."""
    generator = torch.Generator().manual_seed(seed)
    features = 51 if any(isinstance(module, nn.Conv1d) for module in policy.modules()) else 10
    if not isinstance(policy, RecurrentPolicy):
        return (torch.randn(ROWS, features, generator=generator),)
    state = torch.randn(ROWS // STEPS, policy.state_size, generator=generator)
    starts = torch.rand(STEPS, len(state), generator=generator) < 0.2
    return torch.randn(STEPS, len(state), features, generator=generator), state, starts


def evaluated(policy: Policy, read: tuple[Tensor, ...]) -> tuple[Tensor, Tensor]:
    return policy.replay(*read) if isinstance(policy, RecurrentPolicy) else policy(*read)


def gradient(policy: Policy, precision: str, dtype: torch.dtype = torch.float32) -> Tensor:
    """Of a loss of all outputs and values, as a learner has it: forward and backward within the precision."""
    policy = copy.deepcopy(policy).to(dtype)
    read = tuple(each.to(dtype) if each.is_floating_point() else each for each in inputs(policy))
    with products(precision, CPU):
        outputs, values = evaluated(policy, read)
        assert outputs.dtype == values.dtype == dtype
        loss = -outputs.log_softmax(-1)[..., 1].mean() + (values - 1.0).square().mean()
        found = gradients_of([loss], list(policy.parameters()))
    assert all(each is not None and each.dtype == dtype for each in found)
    return torch.cat([each.flatten() for each in found])  # type: ignore[union-attr]


def error(found: Tensor, exact: Tensor) -> float:
    """Relative, in the L2 norm."""
    return float((found.detach().double() - exact.detach()).norm() / exact.detach().norm())


@pytest.mark.parametrize("kind", MODELS)
def test_a_gradient_is_off_by_about_a_percent(kind: str) -> None:
    policy = policy_of(kind)
    exact = gradient(policy, "float32", torch.float64)
    assert error(gradient(policy, "float32"), exact) < 1e-5
    assert LEAST < error(gradient(policy, "bf16"), exact) < MOST


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.usefixtures("bf16_as_on_gpu")
def test_a_gradient_is_as_near_by_the_functions_for_a_gpu(kind: str) -> None:
    policy = policy_of(kind)
    exact = gradient(policy, "float32", torch.float64)
    assert LEAST < error(gradient(policy, "bf16"), exact) < MOST


def is_exact(found: Tensor, expected: Tensor) -> bool:
    return found.dtype == torch.float32 and torch.equal(found, expected)


def test_last_layers_are_float32() -> None:
    """What has no other layers is computed as without bf16, bit for bit."""
    torch.manual_seed(0)
    plain = build_policy(
        ModelConfig(hidden_sizes=[]), Group("all", 1, Box(-1.0, 1.0, (9,)), Discrete(4)), torch.Generator()
    )
    critics = Critics(2, hidden_layers((9,), "tanh"), 9, 9, 3)
    x, actions = torch.randn(50, 9), torch.rand(50, 3)
    layers = [*plain(x), critics(x, actions)]
    with products("bf16", CPU):
        found = [*plain(x), critics(x, actions)]
        heads = [head(x) for head in (TanhHead(9, 3), SquashedHead(9, 3), DuelingHeads(9, (2, 3), True))]
    assert all(map(is_exact, found, layers))
    assert all(head.dtype == torch.float32 and not representable(head) for head in heads)


def representable(x: Tensor) -> bool:
    """Whether every number is one of bfloat16."""
    return torch.equal(x, x.bfloat16().float())


def test_values_of_choices_and_of_teams_are_float32_behind_layers_that_are_not() -> None:
    torch.manual_seed(0)
    network = QNetwork(hidden_layers((9, 32), "relu"), DuelingHeads(32, (2, 3), True))
    mixer = MonotonicMixer(4, 9, 8, 16)
    x, values = torch.randn(50, 9), torch.randn(50, 4)
    expected = network.actor(x), mixer(values, 10 * x)
    with products("bf16", CPU):
        found = network.actor(x), mixer(values, 10 * x)
    for number, exact in zip(found, expected, strict=True):
        assert number.dtype == torch.float32 and not representable(number)
        assert 1e-6 < error(number, exact.double()) < MOST


@pytest.mark.parametrize("kind", ["lstm", "gru", "mingru"])
def test_a_state_is_not_rounded_from_step_to_step(kind: str) -> None:
    """With a gate that keeps all, a state is the same after a step."""
    torch.manual_seed(0)
    cell: Any = make_cell(ModelConfig(recurrent=kind, recurrent_size=6), 5)
    state = torch.randn(40, cell.state_size)
    with torch.no_grad():
        for parameter in cell.parameters():
            parameter.zero_()
        if kind == "lstm":
            cell.bias_ih[6:12], cell.bias_ih[:6], kept = 30.0, -30.0, state[:, 6:]
        else:
            bias, keep, kept = (
                (cell.bias_ih[6:12], 30.0, state) if kind == "gru" else (cell.layers[0].bias[:6], -30.0, state)
            )
            bias.fill_(keep)
        with products("bf16", CPU):
            _, after = cell.step(torch.randn(40, 5), state)
    assert after.dtype == torch.float32
    assert torch.allclose(after[:, -6:], kept, rtol=1e-6, atol=1e-6)


def test_gradients_of_a_weight_with_several_uses_are_added_in_float32() -> None:
    policy = policy_of("lstm")
    weights = dict(policy.named_parameters())
    read = [weights["model.cell.weight_hh"], weights["model.actor_layer.weight"]]
    with products("bf16", CPU):
        outputs, _ = evaluated(policy, inputs(policy))
        found = gradients_of([outputs.square().mean()], read)
    assert all(each is not None and not representable(each) for each in found)


@pytest.mark.parametrize("kind", ["tanh", "a user's", "lstm"])
def test_a_callers_own_autocast_gives_float32_too(kind: str) -> None:
    policy = policy_of(kind)
    read = inputs(policy)
    exact = evaluated(policy, read)
    with torch.autocast("cpu", torch.float16):
        found = evaluated(policy, read)
    for number, expected in zip(found, exact, strict=True):
        assert number.dtype == torch.float32
        assert 1e-6 < error(number, expected.double()) < MOST
