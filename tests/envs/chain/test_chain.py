"""Chain beside its exact values, found by dynamic programming in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.packaged import packaged
from warpworld import World
from warpworld.envs.chain.chain import Chain
from warpworld.errors import DeclarationError

SIZES = [(8, 16), (4, 3), (4, 2), (5, 30), (2, 1)]
each_size = pytest.mark.parametrize(("length", "episode_length"), SIZES)


def make(num_envs: int, **params: Any) -> World:
    """A world on the cpu, after its first reset."""
    world = packaged("chain", num_envs, device="cpu", seed=0, final_observations=True, **params)
    world.reset()
    return world


def value(length: int, episode_length: int, right: float) -> float:
    """The expected return of an agent that goes right with a probability, or of the best one where it is 1."""
    values = np.zeros(length)  # of each state with no step left
    for _ in range(episode_length):
        onwards = np.append(values[1:-1], 1.0)  # the last step right pays, and nothing follows
        values[:-1] = right * onwards + (1.0 - right) * values[0]
    return float(values[0])


def returns(world: World, length: int, episode_length: int, actions: Any) -> np.ndarray:
    """The return of each env's first episode."""
    earned, going = np.zeros(world.num_envs), np.ones(world.num_envs, bool)
    for _ in range(episode_length):
        world["actions"] = actions()
        world.step()
        earned += going * world.data.numpy("rewards")[:, 0]
        going &= ~(world.data.numpy("terminated") | world.data.numpy("truncated"))
    assert not going.any()
    return earned


@each_size
def test_who_always_goes_right_earns_the_optimal_value(length: int, episode_length: int) -> None:
    world = make(10, length=length, episode_length=episode_length)
    earned = returns(world, length, episode_length, lambda: 1)
    optimum = value(length, episode_length, 1.0)
    assert optimum == float(episode_length >= length - 1)
    np.testing.assert_array_equal(earned, optimum)


@each_size
@pytest.mark.parametrize("right", [0.5, 0.8])
def test_who_goes_right_at_times_earns_its_exact_value(length: int, episode_length: int, right: float) -> None:
    envs, generator = 20_000, torch.Generator().manual_seed(1)
    world = make(envs, length=length, episode_length=episode_length)

    def draw() -> torch.Tensor:
        return (torch.rand(world["actions"].shape, generator=generator) < right).to(torch.int32)

    expected = value(length, episode_length, right)
    deviation = np.sqrt(expected * (1.0 - expected) / envs)
    assert abs(returns(world, length, episode_length, draw).mean() - expected) <= 4.0 * deviation


def test_a_step_left_leads_back_to_the_first_state() -> None:
    world = make(1, length=5)
    places = []
    for action in (1, 1, 0, 1, 0, 0, 1, 1, 1):
        world["actions"] = action
        world.step()
        seen = world.data.numpy("observations")[0, 0]
        assert seen.sum() == 1.0
        places.append(int(seen.argmax()))
        assert places[-1] == int(world["place"][0])
    assert places == [1, 2, 0, 1, 0, 0, 1, 2, 3]
    world["actions"] = 1
    world.step()
    assert bool(world["terminated"][0]) and world["rewards"].item() == 1.0
    assert world.data.numpy("final_observations")[0, 0].tolist() == [0.0, 0.0, 0.0, 0.0, 1.0]
    assert int(world["place"][0]) == 0


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"length": 1}, "length=1: expected 2 to 1024"),
        ({"length": 1025}, "length=1025: expected 2 to 1024"),
        ({"episode_length": 0}, "episode_length=0: expected 1 to 2^31 - 1"),
    ],
)
def test_impossible_parameters_are_refused(params: dict[str, Any], message: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        Chain(**params)
    assert str(caught.value).endswith(message)
