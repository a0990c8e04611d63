"""Q-networks in C++: values, walks through windows and gradients, against torch in float64."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from gymnasium.spaces import Box, flatdim
from torch import Tensor, nn

from tests.policies.fused.fused_sequences import BRANCHES, CHOICES, KINDS, PERCEPTRON, PIXELS, VECTOR
from warpworld.config import ModelConfig
from warpworld.environment import Group
from warpworld.policies import (
    DuelingHeads,
    MinGRU,
    Policy,
    QNetwork,
    RecurrentQNetwork,
    RecurrentTeamQNetwork,
    Sum,
    TeamQNetwork,
    build_policy,
    make_cell,
)
from warpworld.policies.fused import FusedValues, fuse, fuse_copy, fused_networks

HEADS = (3, 2)  # of CHOICES
PICTURE = Box(0.0, 1.0, (2, 9, 10))
WIDE = 1e-5


def q_policy(
    kind: str | None = None, dueling: bool = True, team: bool = False, seen: Any = VECTOR, **model: Any
) -> Policy:
    """A policy of values whose biases are not what they are at first."""
    name, layers = ("mingru", 3) if kind == "three mingrus" else (kind, 1)
    memory = {} if name is None else {"recurrent": name, "recurrent_layers": layers, "recurrent_size": 16}
    settings = ModelConfig(**{**(PERCEPTRON if seen is VECTOR else BRANCHES), **memory, **model})

    def heads(encoder: nn.Module, width: int) -> nn.Module:
        mixer = (Sum(),) if team else ()
        if name is None:
            return (TeamQNetwork if team else QNetwork)(encoder, DuelingHeads(width, HEADS, dueling), *mixer)
        own = encoder, make_cell(settings, width), DuelingHeads(16, HEADS, dueling)
        return (RecurrentTeamQNetwork if team else RecurrentQNetwork)(*own, *mixer)

    group, drawn = Group("a", 1, observation=seen, action=CHOICES), torch.Generator().manual_seed(1)
    policy = build_policy(settings, group, drawn, needs_critic=False, heads=heads)
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.add_(0.2 * torch.randn(parameter.shape, generator=drawn))
    return policy


def normal(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


def gradient(module: nn.Module) -> Tensor:
    return torch.cat([parameter.grad.flatten().double() for parameter in module.parameters()])


def in_float64(policy: Policy) -> Policy:
    twin = copy.deepcopy(policy).double()
    for module in twin.modules():
        if isinstance(module, MinGRU):
            module.native = None
    return twin


def check_alike(own: Tensor, exact: Tensor) -> None:
    assert (own.double() - exact).abs().max() < WIDE * max(1.0, float(exact.abs().max()))


@pytest.mark.parametrize("seen", [VECTOR, PIXELS, PICTURE], ids=["vector", "pixels", "picture"])
@pytest.mark.parametrize("dueling", [True, False])
@pytest.mark.parametrize("rows", [1, 7, 300])
def test_values_and_gradients_are_those_of_torch(rows: int, dueling: bool, seen: Any) -> None:
    policy = q_policy(dueling=dueling, seen=seen, team=not dueling)
    exact, features = in_float64(policy), flatdim(seen)
    assert fuse(policy, required=True) and isinstance(policy.model.fused, FusedValues)
    observations, at_values = normal(rows, features), normal(rows, 5)
    with torch.no_grad():
        check_alike(policy.outputs(observations), exact.outputs(observations.double()))
    values = policy.outputs(observations)
    check_alike(values.detach(), exact.outputs(observations.double()).detach())
    values.backward(at_values)
    exact.outputs(observations.double()).backward(at_values.double())
    check_alike(gradient(policy), gradient(exact))


@pytest.mark.parametrize("dueling", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_walks_through_windows_are_those_of_torch(kind: str, dueling: bool) -> None:
    policy = q_policy(kind, dueling, team=not dueling)
    exact = in_float64(policy)
    assert fuse(policy, required=True)
    steps, agents = 9, 30
    seen, state, at_values = normal(steps, agents, 5), normal(agents, policy.state_size), normal(steps, agents, 5)
    starts = normal(steps, agents) > 1
    values, after = policy.model.walk(seen, state, starts)
    expected, later = exact.model.walk(seen.double(), state.double(), starts)
    check_alike(values.detach(), expected.detach())
    check_alike(after, later.detach())
    assert values.requires_grad and not after.requires_grad
    values.backward(at_values)
    expected.backward(at_values.double())
    check_alike(gradient(policy), gradient(exact))
    with torch.no_grad():
        again, last = policy.model.walk(seen, state, starts)
        outputs, zeros, next_state = policy.step(seen[0], state)
        one = exact.step(seen[0].double(), state.double())
    assert torch.equal(again, values) and torch.equal(last, after)
    assert not zeros.any()
    check_alike(outputs, one[0])
    check_alike(next_state, one[2])


@pytest.mark.parametrize("kind", [None, "gru"])
def test_bits_are_the_same_for_any_number_of_workers(kind: str | None) -> None:
    policy = q_policy(kind)
    seen, at_values = normal(12, 100, 5), normal(12, 100, 5)
    found = []
    for workers in (1, 2, 3):
        policy.model.fused = fused_networks(policy, workers)
        policy.zero_grad()
        if kind is None:
            values = policy.outputs(seen)
        else:
            values, _ = policy.model.walk(seen, normal(100, 16), torch.zeros(12, 100, dtype=torch.bool))
        values.backward(at_values)
        found.append((values.detach(), gradient(policy)))
    assert all(torch.equal(a, b) for other in found[1:] for a, b in zip(found[0], other, strict=True))


def test_a_copy_of_the_network_runs_in_cpp_with_weights_of_its_own() -> None:
    policy = q_policy()
    torchs = copy.deepcopy(policy.model)
    fuse_copy(policy, torchs)
    assert torchs.fused is None  # as its policy's
    fuse(policy)
    target = copy.deepcopy(policy.model)
    assert target.fused is None
    fuse_copy(policy, target)
    with torch.no_grad():
        for parameter in target.parameters():
            parameter.zero_()
        seen = normal(3, 5)
        assert not target.actor(seen).any() and policy.outputs(seen).any()


def test_gradients_at_observations_are_left_to_torch() -> None:
    policy = q_policy()
    fuse(policy)
    seen = normal(3, 5).requires_grad_()
    policy.outputs(seen).sum().backward()
    assert seen.grad is not None and seen.grad.any()
