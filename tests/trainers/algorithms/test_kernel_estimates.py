"""The kernels of GAE and V-trace against the functions in float64, on rollouts with ends of all kinds."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import warpworld
from tests.trainers.recorded import Discounts
from tests.trainers.small_worlds import Relay
from tests.world.herd import Herd
from warpworld import World
from warpworld.trainers.algorithms.targets.gae import gae
from warpworld.trainers.algorithms.targets.kernel_estimates import KernelEstimates
from warpworld.trainers.algorithms.targets.vtrace import vtrace
from warpworld.trainers.collecting.collector import Collector

STEPS, ENVS = 24, 9
NAN = float("nan")
SETTINGS = {
    "discounted": Discounts(0.9, 0.8, 1.2, 0.7),
    "plain sums": Discounts(1.0, 1.0, 1.0, 1.0),
    "scaled": Discounts(0.9, 0.8, reward_scale=0.3),
    "scaled and clipped": Discounts(0.9, 0.8, reward_scale=2.5, reward_clip=1.2),
}
WORLDS = {
    "one agent": "agent",
    "agents that leave": "left",
    "agents that are cut": "left",
    "every other agent": "mouse",
}


def made(kind: str) -> World:
    if kind == "one agent":
        return warpworld.make("cartpole", num_envs=ENVS)
    world = World(Herd() if kind == "every other agent" else Relay(), ENVS)
    if kind == "agents that are cut":
        world.request("agent_truncated")
    return world


def random_rollout(world: World, group: str) -> dict[str, Any]:
    """Fills a rollout's arrays; gives the functions' arguments, NaN where nothing may be read and in some values."""
    generator = torch.Generator().manual_seed(4)

    def chance(*shape: int) -> torch.Tensor:
        return torch.rand(*shape, generator=generator) < 0.15

    for name in ("terminated", "truncated", "agent_terminated", "agent_truncated", "agent_mask"):
        if f"rollout_{name}" in world.data:
            array = world[f"rollout_{name}"]
            array.copy_(chance(*array.shape) != (name == "agent_mask"))
    rewards = torch.randn(world["rollout_rewards"].shape, generator=generator)
    agents = world.groups[group].slice
    optional = {
        name: world[f"rollout_{name}"][:, :, agents] if f"rollout_{name}" in world.data else None
        for name in ("agent_terminated", "agent_truncated", "agent_mask")
    }
    mask = optional["agent_mask"]
    if mask is not None:
        rewards[~world["rollout_agent_mask"].cpu()] = NAN
    world["rollout_rewards"].copy_(rewards)
    own = rewards[:, :, agents].to(world.device)
    values, finals, following = (torch.randn(own.shape, generator=generator).to(world.device) for _ in range(3))
    values[chance(*own.shape).to(world.device)] = NAN
    truncated = world["rollout_truncated"]
    return {
        "rewards": own if mask is None else own.nan_to_num(0.0),
        "values": values,
        "terminated": world["rollout_terminated"],
        "truncated": truncated,
        "agent_terminated": optional["agent_terminated"],
        "agent_truncated": optional["agent_truncated"],
        "next_value": following[0],
        "truncated_values": torch.where(truncated.unsqueeze(-1), finals, NAN),
    }


def in_float64(given: dict[str, Any]) -> dict[str, Any]:
    return {
        name: each.double() if each is not None and each.is_floating_point() else each for name, each in given.items()
    }


def in_learnt_rewards(given: dict[str, Any], settings: Discounts) -> dict[str, Any]:
    """The same in float64, with the rewards that are learnt from."""
    limit = settings.reward_clip or float("inf")
    doubles = in_float64(given)
    return {**doubles, "rewards": (doubles["rewards"] * settings.reward_scale).clamp(-limit, limit)}


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("kind", WORLDS)
def test_kernels_equal_the_functions(kind: str, name: str) -> None:
    world, group, settings = made(kind), WORLDS[kind], SETTINGS[name]
    estimates = KernelEstimates(Collector(world, STEPS), group, settings)
    world.reset()
    given = random_rollout(world, group)
    values, ends = given["values"], {name: each for name, each in given.items() if name != "values"}
    weights = {"gamma": settings.gamma, "gae_lambda": settings.gae_lambda}
    close = {"rtol": 1e-5, "atol": 1e-5, "equal_nan": True, "check_dtype": False}

    doubles = in_learnt_rewards(given, settings)
    expected = gae(**doubles, **weights)
    for found, wanted in zip(estimates.gae(values, ends), expected, strict=True):
        assert 0.2 < wanted.isfinite().double().mean() < 0.9
        torch.testing.assert_close(found, wanted, **close)

    log_ratios = torch.randn(values.shape, generator=torch.Generator().manual_seed(5)).to(world.device)
    log_ratios[1, 2] = NAN
    bars = {"rho_bar": settings.rho_bar, "c_bar": settings.c_bar}
    wanted = vtrace(**doubles, log_ratios=log_ratios.double(), **weights, **bars)
    torch.testing.assert_close(estimates.vtrace(values, log_ratios, ends), wanted, **close)
