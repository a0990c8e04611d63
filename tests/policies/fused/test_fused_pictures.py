"""Fused networks that see pictures, against float64 autograd; and bytes, read as torch reads them."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, Space
from torch import Tensor

from tests.policies.fused.fused_cases import gradient_of
from tests.policies.fused.fused_sequences import Seen, exact_gradient, policy_of
from warpworld.policies import Policy
from warpworld.policies.fused import Loss, fuse, fused_actor, fused_networks
from warpworld.trainers.algorithms.experience.sequences import Experience
from warpworld.trainers.algorithms.ppo import PPO, PPOSettings

SETTINGS = PPOSettings(clip_coef=0.2, clip_vloss=True, norm_adv=True, ent_coef=0.05, vf_coef=0.5)
LOSS = Loss(surrogate=True, clip_value_loss=True, normalise_advantages=True, clip_coef=0.2, ent_coef=0.05, vf_coef=0.5)
ERROR = 1e-5  # relative, L2: float32's own is about 1e-6


def picture(channels: int, height: int, width: int) -> Box:
    return Box(0.0, 1.0, (channels, height, width))


def convolutions(*kernels: tuple[int, int, int]) -> dict[str, Any]:
    """Settings for convolutions of so many channels, kernel size and stride each."""
    channels, sizes, strides = zip(*kernels, strict=True) if kernels else ((), (), ())
    return {"channels": channels, "kernel_sizes": sizes, "strides": strides}


# Pictures higher than wide and wider than high, kernels of one pixel and of the whole picture, strides that leave out
# pixels, channels that fill vectors and that do not, and fewer positions than a block has rows.
SEVERAL = {"far": picture(3, 6, 8), "line": Box(0.0, 1.0, (2, 9)), "near": picture(1, 5, 5)}
NETWORKS: list[tuple[Space, dict[str, Any]]] = [
    (picture(4, 10, 10), convolutions((16, 3, 1))),
    (picture(3, 9, 14), convolutions((6, 4, 2), (10, 2, 1))),
    (picture(1, 13, 7), convolutions((20, 3, 3), (7, 2, 1))),
    (picture(7, 5, 4), convolutions((32, 3, 1), (32, 2, 1))),
    (picture(2, 6, 6), convolutions((5, 1, 1), (3, 6, 1))),
    (picture(5, 5, 8), convolutions((4, 2, 3))),
    (picture(3, 4, 5), convolutions()),
    (picture(4, 20, 20), {**convolutions((32, 8, 4), (64, 4, 2)), "hidden_sizes": ()}),
    (Dict({**SEVERAL, "speed": Box(-1.0, 1.0, (4,))}), convolutions((6, 3, 2), (10, 2, 1))),
]
NAMES = [
    *("one convolution", "a wide picture", "a high one", "few positions", "pixels and all", "gaps", "none", "large"),
    "several parts",
]
BYTES = [MultiBinary((4, 10, 10)), Box(0, 255, (3, 6, 7), "uint8"), Box(0, 255, (11,), "uint8")]
HALVES = Dict({
    "far": Box(0.0, 1.0, (2, 17), "float16"),
    "flags": MultiBinary(3),  # what is behind them begins anywhere
    "near": Box(0.0, 1.0, (1, 9), "float16"),
    "shades": Box(0, 255, (2,), "uint8"),
    "speed": Box(-9.0, 9.0, (4,)),
})  # fmt: skip
MIXED = Dict({"flags": MultiBinary((2, 6, 6)), "more": MultiBinary(3), "shades": Box(0, 255, (3, 5, 7), "uint8")})


def relative(found: Tensor, exact: Tensor) -> float:
    return float((found - exact).norm() / exact.norm())


def found_gradient(policy: Policy, experience: Experience, index: Tensor, workers: int = 1) -> Tensor:
    for parameter in policy.parameters():
        parameter.grad = torch.full_like(parameter, 1e6)  # what was there does not matter
    fused_networks(policy, workers).gradient(experience, index, LOSS)
    return gradient_of(policy)


# --- pictures ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("kind", [None, "shared"])
@pytest.mark.parametrize(("seen", "model"), NETWORKS, ids=NAMES)
def test_gradient(seen: Space, model: dict[str, Any], kind: str | None, activation: str) -> None:
    policy = policy_of(kind, seen, activation=activation, **model)
    # many rows: logits of some networks with relu are about 20, and the ratio of a row carries their rounding
    experience = Seen.random(policy, 1, 431).experience(policy)
    index = torch.arange(len(experience)).flip(0)[:407]
    exact, _ = exact_gradient(policy, experience.take(index), SETTINGS)
    assert relative(found_gradient(policy, experience, index), exact) < ERROR


@pytest.mark.parametrize("kind", ["lstm", "gru", "mingru"])
def test_gradient_through_time(kind: str) -> None:
    policy = policy_of(kind, *NETWORKS[1][:1], **NETWORKS[1][1])
    experience = Seen.random(policy, 7, 30).experience(policy, is_masked=True)
    index = torch.arange(len(experience)).flip(0)[:20]
    exact, _ = exact_gradient(policy, experience.take(index), SETTINGS)
    assert relative(found_gradient(policy, experience, index), exact) < ERROR


@pytest.mark.parametrize(("seen", "model"), NETWORKS, ids=NAMES)
def test_outputs_and_values_are_those_of_float64(seen: Space, model: dict[str, Any]) -> None:
    policy = policy_of(None, seen, **model)
    rows, networks = Seen.random(policy, 5, 23).observations, fused_networks(policy, 1)
    with torch.no_grad():
        expected = copy.deepcopy(policy).double()(rows.double())
    for found, exact in zip((networks.outputs(rows), networks.value(rows)), expected, strict=True):
        assert (found.double() - exact).abs().max() < ERROR * max(1.0, float(exact.abs().max()))


def test_a_number_that_is_not_finite_reaches_its_own_row_alone() -> None:
    seen, model = NETWORKS[0]
    policy = policy_of(None, seen, **model)
    rows = Seen.random(policy, 1, 30).observations[0]
    rows[8, 0] = rows[20, -1] = float("nan")
    for precision in ("float32", "bf16"):
        found = fused_networks(policy, 1, precision).outputs(rows).isnan().all(1)
        assert found.nonzero().flatten().tolist() == [8, 20]


def test_results_do_not_depend_on_the_number_of_workers() -> None:
    policy = policy_of(None, MIXED, **convolutions((6, 3, 1), (10, 2, 1)))
    experience = Seen.random(policy, 1, 900).experience(policy)
    index = torch.arange(900)
    found = [found_gradient(policy, experience, index, workers) for workers in (1, 2, 3) for _ in range(2)]
    assert all(torch.equal(found[0], other) for other in found[1:])


# --- bytes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seen", [*BYTES, MIXED, HALVES], ids=["flags", "shades", "a vector", "both", "halves"])
@pytest.mark.parametrize("kind", [None, "shared", "lstm"])
def test_bytes_are_read_as_the_floats_that_torch_makes_of_them(kind: str | None, seen: Space) -> None:
    policy = policy_of(kind, seen, **convolutions((6, 3, 1), (10, 2, 1)))
    experience = Seen.random(policy, 6, 40).experience(policy)
    rows, index = experience.rows.observations, torch.arange(len(experience)).flip(0)
    floats = policy.features(rows)
    assert (rows.dtype, floats.dtype) == (torch.uint8, torch.float32)
    found = [found_gradient(policy, experience.with_columns(observations=seen), index) for seen in (rows, floats)]
    assert torch.equal(*found)


@pytest.mark.parametrize("kind", [None, "gru"])
def test_any_bits_of_halves_and_floats_are_read_as_torch_reads_them(kind: str | None) -> None:
    """Small, large, negative and not finite ones, wherever they begin."""
    policy = policy_of(kind, HALVES, **convolutions((6, 3, 1)))
    assert policy.preprocessing is not None
    draws = torch.Generator().manual_seed(6)
    rows = torch.randint(256, (3000, policy.preprocessing.rows.size), generator=draws).to(torch.uint8)
    rows[:, 34 * 2 : 34 * 2 + 3] %= 2
    rows[:200, 1 : 34 * 2 : 2] = 0x7C  # infinite, or no number
    rows[200:400, 1 : 34 * 2 : 2] &= 0x83  # below 2^-14
    numbers = policy.features(rows)
    assert numbers[:200, :34].count_nonzero() == 0 and 0 < numbers[200:400, :34].abs().max() < 2.0**-14
    numbers[:, -4:].clamp_(-1e6, 1e6)
    rows[:, -16:] = numbers[:, -4:].contiguous().view(torch.uint8)  # larger ones give infinite outputs
    networks, state = fused_networks(policy, 1), torch.zeros(3000, policy.state_size)
    one, other = (networks.step(seen, state)[:2] if kind else networks.both(seen) for seen in (rows, numbers))
    for found, expected in zip(one, other, strict=True):
        assert found.isfinite().all() and torch.equal(found, expected)


@pytest.mark.parametrize("seen", [MIXED, HALVES], ids=["bytes", "halves"])
def test_a_fused_policy_acts_on_bytes_as_torch_does(seen: Space) -> None:
    policy = policy_of("gru", seen, **convolutions((6, 3, 1)))
    rows = Seen.random(policy, 1, 20).observations[0]
    expected = policy.outputs(rows), policy.value(rows)
    assert fuse(policy)
    with torch.no_grad():
        found = policy.outputs(rows), policy.value(rows)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5)


def test_choices_beside_bytes_are_made_features_by_torch() -> None:
    seen = Dict({"picture": Box(0, 255, (3, 6, 7), "uint8"), "which": Discrete(3)})
    policy = policy_of(None, seen, **convolutions((6, 3, 1)))
    assert fuse(policy, required=True)
    assert fused_actor(policy) is None


@pytest.mark.long
@pytest.mark.parametrize(("seen", "normalises"), [(MIXED, False), (HALVES, True)], ids=["bytes", "normalised halves"])
def test_a_fused_learner_learns_what_torch_alone_does_from_bytes(seen: Space, normalises: bool) -> None:
    moved = []
    for is_fused in (False, True):
        policy = policy_of(None, seen, normalise_observations=normalises, **convolutions((6, 3, 1), (10, 2, 1)))
        if policy.normaliser is not None:
            policy.normaliser.update(policy.floats(Seen.random(policy, 1, 50).observations[0]))
        start = torch.cat([parameter.detach().flatten() for parameter in policy.parameters()])
        learner = PPO(policy, PPOSettings(update_epochs=2, num_minibatches=3, learning_rate=1e-2))
        experience = Seen.random(policy, 1, 200).experience(policy)
        assert not is_fused or fuse(policy)
        learner.update(experience, torch.Generator().manual_seed(5))
        moved.append(torch.cat([parameter.detach().flatten() for parameter in policy.parameters()]) - start)
    assert moved[0].norm() > 1e-2
    assert relative(moved[1], moved[0]) < 1e-2


# --- few numbers ------------------------------------------------------------------------------------------------------
def with_few(policy: Policy, rows: Tensor, share: float) -> Tensor:
    """Rows like these with so many numbers that are not 0; a few rows in the middle keep all of theirs."""
    generator = torch.Generator().manual_seed(7)
    kept = torch.rand(rows.shape, generator=generator) < share
    kept[40:45] = True
    return rows * kept


@pytest.mark.parametrize("precision", ["float32", "bf16"])
@pytest.mark.parametrize(("seen", "model"), [NETWORKS[i] for i in (0, 3, 7)], ids=[NAMES[i] for i in (0, 3, 7)])
def test_few_numbers_give_what_all_give(seen: Space, model: dict[str, Any], precision: str) -> None:
    """Among rows that are mostly 0, a row has the outputs that it has among rows that are not."""
    policy = policy_of(None, seen, **model)
    rows = Seen.random(policy, 1, 96).observations[0]
    few, networks = with_few(policy, rows, 0.03), fused_networks(policy, 1, precision)
    found = networks.outputs(few)
    for first in range(0, 96, 6):
        mixed = rows.clone()
        mixed[first : first + 6] = few[first : first + 6]
        assert torch.equal(networks.outputs(mixed)[first : first + 6], found[first : first + 6])


@pytest.mark.parametrize("share", [0.0, 0.02, 0.1, 0.5])
@pytest.mark.parametrize(("seen", "model"), [NETWORKS[i] for i in (0, 3, 8)], ids=[NAMES[i] for i in (0, 3, 8)])
def test_the_gradient_of_rows_that_are_mostly_0(seen: Space, model: dict[str, Any], share: float) -> None:
    policy = policy_of(None, seen, **model)
    experience = Seen.random(policy, 1, 230).experience(policy)
    experience = experience.with_columns(observations=with_few(policy, experience.rows.observations, share))
    index = torch.arange(len(experience))
    exact, _ = exact_gradient(policy, experience, SETTINGS)
    assert relative(found_gradient(policy, experience, index), exact) < ERROR
