"""Fused networks whose layers multiply pairs of bfloat16, against float64 autograd that rounds where they do."""

from __future__ import annotations

import platform
from typing import Any

import pytest
import torch
from gymnasium.spaces import Box, Dict, Space
from torch import Tensor, nn

from tests.policies.fused.fused_cases import Case, gradient_of, torch_gradient
from tests.policies.fused.fused_sequences import KINDS, PIXELS, Seen, exact_gradient, policy_of
from warpworld.managers.cpu.native_library import NativeLibrary
from warpworld.policies import Policy
from warpworld.policies.fused import Loss, fused_networks
from warpworld.policies.fused.library import SOURCE
from warpworld.trainers.algorithms.experience.sequences import Experience
from warpworld.trainers.algorithms.ppo import PPOSettings

SETTINGS = PPOSettings(clip_coef=0.2, clip_vloss=True, norm_adv=True, ent_coef=0.05, vf_coef=0.5)
LOSS = Loss(surrogate=True, clip_value_loss=True, normalise_advantages=True, clip_coef=0.2, ent_coef=0.05, vf_coef=0.5)
PICTURES = Dict({"far": Box(0.0, 1.0, (3, 11, 9)), "near": Box(0.0, 1.0, (2, 8, 10)), "speed": Box(-1.0, 1.0, (4,))})
LEAST = 5e-4  # of what rounding changes in a gradient, relative, L2
# Of that, what may be otherwise: a number between two of bfloat16 can be rounded to the other one, since float32 itself
# is off by 1e-7. That changes as much as its rounding does, but of many numbers few lie there.
FEW = 0.02


def relative(found: Tensor, exact: Tensor) -> float:
    return float((found - exact).norm() / exact.norm())


class Rounded(torch.autograd.Function):
    """To bfloat16; gradients pass as they are."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.float().bfloat16().to(x.dtype)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return gradient


class RoundedBack(torch.autograd.Function):
    """Numbers pass as they are; gradients to bfloat16."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return gradient.float().bfloat16().to(gradient.dtype)


@pytest.fixture
def rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    """In float64 each product of torch's but that of a last layer is one of numbers of bfloat16."""
    functional, products = nn.functional, (nn.functional.linear, nn.functional.conv1d, nn.functional.conv2d)

    def rounds(product: Any) -> Any:
        def rounded(x: Tensor, weight: Tensor, bias: Tensor, *further: Any) -> Tensor:
            if x.dtype != torch.float64:
                return product(x, weight, bias, *further)
            made = product(Rounded.apply(x), Rounded.apply(weight), None, *further)
            return RoundedBack.apply(made) + bias.view(-1, *(1,) * (weight.dim() - 2))

        return rounded

    monkeypatch.setattr(functional, "linear", rounds(products[0]))
    monkeypatch.setattr(functional, "conv1d", rounds(products[1]))
    monkeypatch.setattr(functional, "conv2d", rounds(products[2]))
    monkeypatch.setattr(
        "warpworld.policies.layers.cells.is_reduced", lambda x: True
    )  # both products of a step, one by one

    def last(layer: nn.Linear, x: Tensor) -> Tensor:
        return products[0](x, layer.weight, layer.bias)

    for user in ("layers.linear_tanh", "recurrent", "shared", "networks.central_critic"):
        monkeypatch.setattr(f"warpworld.policies.{user}.in_float32", last)


def found_gradient(policy: Policy, experience: Experience, index: Tensor, workers: int = 1) -> Tensor:
    fused_networks(policy, workers, "bf16").gradient(experience, index, LOSS)
    return gradient_of(policy)


def assert_rounded(policy: Policy, experience: Experience, request: pytest.FixtureRequest) -> None:
    """The gradient of all but the first of the sequences is that with rounding, and not the exact one."""
    index = torch.arange(len(experience)).flip(0)[: max(1, len(experience) - 1)]
    found, taken = found_gradient(policy, experience, index), experience.take(index)
    exact, _ = exact_gradient(policy, taken, SETTINGS)
    request.getfixturevalue("rounding")
    rounded, _ = exact_gradient(policy, taken, SETTINGS)
    assert relative(found, exact) > LEAST
    assert relative(found, rounded) < FEW * relative(found, exact)


# --- against rounded products -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("hidden", [(64, 64), (37, 10, 5), (16,), (128, 40)])
def test_a_perceptron(hidden: tuple[int, ...], activation: str, request: pytest.FixtureRequest) -> None:
    policy = (case := Case(features=7, hidden=hidden, activation=activation, rows=1001)).policy()
    assert_rounded(policy, case.batch(policy), request)


# Many rows: of a few one number that is rounded to the other side changes as much as 2 % of all of them do.
@pytest.mark.parametrize(("steps", "agents"), [(7, 400), (130, 20)])
@pytest.mark.parametrize("kind", KINDS)
def test_a_memory(kind: str, steps: int, agents: int, request: pytest.FixtureRequest) -> None:
    policy = policy_of(kind, recurrent_size=21)
    assert_rounded(policy, Seen.random(policy, steps, agents).experience(policy), request)


@pytest.mark.parametrize(("kind", "critic"), [(None, "plain"), ("gru", "plain"), ("lstm", "remembering")])
def test_a_central_critic(kind: str | None, critic: str, request: pytest.FixtureRequest) -> None:
    policy = policy_of(kind, critic=critic, recurrent_size=21)
    assert_rounded(policy, Seen.random(policy, 7, 400).experience(policy), request)


@pytest.mark.parametrize("seen", [PIXELS, PICTURES], ids=["pixels", "pictures"])
@pytest.mark.parametrize("kind", [None, "shared", "lstm"])
def test_convolutions(kind: str | None, seen: Space, request: pytest.FixtureRequest) -> None:
    policy = policy_of(kind, seen)
    assert_rounded(policy, Seen.random(policy, 6, 40).experience(policy), request)


def test_a_box(request: pytest.FixtureRequest) -> None:
    policy = policy_of(None, action=Box(-1.0, 1.0, (3,)))
    assert_rounded(policy, Seen.random(policy, 1, 500).experience(policy), request)


# --- what is exact ----------------------------------------------------------------------------------------------------


def test_numbers_of_few_bits_are_multiplied_exactly() -> None:
    """Up to the last layer all numbers here are integers over 8 of at most 8 bits, and their sums fit into float32."""
    policy = (case := Case(features=9, hidden=(33, 18), activation="relu")).policy()
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for layers in (policy.model.actor_layers, policy.model.critic_layers):
            for layer, most in ((layers[0], 3), (layers[2], 3)):
                layer.weight.copy_(torch.randint(-most, most + 1, layer.weight.shape, generator=generator))
                layer.bias.zero_()
    observations = torch.randint(-2, 3, (200, case.features), generator=generator).float()
    net = fused_networks(policy, 1, "bf16")
    outputs, values = policy(observations)
    assert torch.allclose(net.outputs(observations), outputs, rtol=1e-6, atol=1e-5)
    assert torch.allclose(net.value(observations), values, rtol=1e-6, atol=1e-5)


def test_last_layers_are_not_rounded() -> None:
    policy = (case := Case(features=40, hidden=(), heads=(6,))).policy()
    batch = case.batch(policy)
    exact, _ = torch_gradient(policy, batch, SETTINGS)
    assert relative(found_gradient(policy, batch, torch.arange(len(batch))), exact) < 1e-5


def test_nan_reaches_its_own_row_alone() -> None:
    """With an odd number of features, the last one's pair has no other number."""
    policy = Case(features=5, hidden=(20, 12)).policy()
    net, observations = fused_networks(policy, 1, "bf16"), torch.randn(30, 5)
    observations[8, 0] = observations[20, 4] = float("nan")
    found = net.outputs(observations).isnan().all(1)
    assert found.nonzero().flatten().tolist() == [8, 20]
    assert net.outputs(observations[~found]).isfinite().all()


def test_nan_weights_give_nan() -> None:
    policy = Case(features=5, hidden=(20, 12)).policy()
    with torch.no_grad():
        policy.model.actor_layers[0].weight[3, 1] = float("nan")
    assert fused_networks(policy, 1, "bf16").outputs(torch.randn(30, 5)).isnan().all()


# --- the same bits, and other processors ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["mlp", "lstm", "mingru"])
def test_results_do_not_depend_on_the_number_of_workers(kind: str) -> None:
    policy = policy_of(None if kind == "mlp" else kind)
    experience = Seen.random(policy, 9, 300).experience(policy)
    index, found = torch.arange(len(experience)), list[Tensor]()
    for workers in (1, 2, 3):
        for _ in range(3):  # from the second on, the runtime knows how long a chunk takes, and shares them out
            found.append(found_gradient(policy, experience, index, workers))
    assert all(torch.equal(found[0], other) for other in found[1:])


@pytest.mark.skipif(platform.machine() != "x86_64", reason="flags of x86")
@pytest.mark.parametrize("flags", ["-mno-avx512bf16", "-mno-avx512f", "-mno-avx512f -mno-avx2 -mno-avx"])
def test_processors_without_such_products_give_the_same(flags: str, monkeypatch: pytest.MonkeyPatch) -> None:
    policies = list[tuple[Policy, Experience]]()
    for case in (Case(features=7, hidden=(64, 64)), Case(features=3, hidden=(37, 10, 5), activation="relu")):
        policies.append(((policy := case.policy()), case.batch(policy)))
    for kind in ("lstm", "gru"):
        policies.append(((policy := policy_of(kind)), Seen.random(policy, 7, 40).experience(policy)))
    here = [found_gradient(policy, seen, torch.arange(len(seen))) for policy, seen in policies]
    monkeypatch.setenv("WARPWORLD_CXXFLAGS", flags)
    library = NativeLibrary(SOURCE)
    monkeypatch.setattr("warpworld.policies.fused.networks.library", lambda: library)
    assert not library.function("fused_has_pairs")()
    for (policy, seen), expected in zip(policies, here, strict=True):
        assert relative(found_gradient(policy, seen, torch.arange(len(seen))), expected) < 1e-3
