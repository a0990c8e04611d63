"""Delayed reward beside its exact values, found by dynamic programming in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.packaged import packaged
from warpworld import World
from warpworld.envs.delayed_reward.delayed_reward import DelayedReward
from warpworld.errors import DeclarationError

SIZES = [(3, 10, 5), (2, 3, 0), (4, 2, 3), (3, 4, 1)]
each_size = pytest.mark.parametrize(("choices", "decisions", "delay"), SIZES)


def make(num_envs: int, **params: Any) -> World:
    """A world on the cpu, after its first reset."""
    world = packaged("delayed_reward", num_envs, device="cpu", seed=0, final_observations=True, **params)
    world.reset()
    return world


def value(decisions: int, delay: int, right: float, steps: int = 0, pending: tuple[float, ...] = ()) -> float:
    """The expected return from a state on of an agent that names the cue with a probability.

    ``pending`` are the chances of a reward on each of the places that a reward on its way may be in.
    """
    if steps == decisions + delay:
        return 0.0
    queue = (*(pending or (0.0,) * delay), right if steps < decisions else 0.0)
    return queue[0] + value(decisions, delay, right, steps + 1, queue[1:])


def rewards_of(world: World, steps: int, right: float) -> np.ndarray:
    """Rewards (steps, envs) of an agent that names the cue with a probability, and is wrong otherwise."""
    generator, found = torch.Generator().manual_seed(1), []
    for _ in range(steps):
        assert not (world.data.numpy("terminated") | world.data.numpy("truncated")).any()
        cue = torch.from_numpy(world.data.numpy("cue").copy())
        is_right = torch.rand(cue.shape, generator=generator) < right
        choices = world.environment.params.choices  # type: ignore[attr-defined]
        world["actions"] = torch.where(is_right, cue.clamp(min=0), (cue + 1) % choices)[:, None, None].to(torch.int32)
        world.step()
        found.append(world.data.numpy("rewards")[:, 0].copy())
    assert world.data.numpy("terminated").all()
    return np.array(found)


@each_size
def test_who_names_each_cue_earns_the_optimum_at_the_right_steps(choices: int, decisions: int, delay: int) -> None:
    world = make(10, choices=choices, decisions=decisions, delay=delay)
    rewards = rewards_of(world, decisions + delay, 1.0)
    assert value(decisions, delay, 1.0) == decisions
    np.testing.assert_array_equal(rewards[:delay], 0.0)
    np.testing.assert_array_equal(rewards[delay:], 1.0)


@each_size
def test_who_names_cues_at_times_earns_its_exact_value(choices: int, decisions: int, delay: int) -> None:
    envs, right = 20_000, 0.7
    world = make(envs, choices=choices, decisions=decisions, delay=delay)
    returns = rewards_of(world, decisions + delay, right).sum(0)
    deviation = np.sqrt(decisions * right * (1.0 - right) / envs)
    assert abs(returns.mean() - value(decisions, delay, right)) <= 4.0 * deviation


def test_cues_are_equally_likely_and_stop_after_the_decisions() -> None:
    world = make(3000, choices=3, decisions=2, delay=1)
    for step in range(3):
        seen = world.data.numpy("observations")[:, 0]
        assert abs(seen.mean(0) - (1 / 3 if step < 2 else 0.0)).max() < 0.04
        np.testing.assert_array_equal(seen.argmax(1)[seen.any(1)], world.data.numpy("cue")[seen.any(1)])
        world.step()


def test_rewards_on_their_way_are_shown_where_asked_for() -> None:
    world = make(1, choices=2, decisions=4, delay=3, show_pending=True)
    shown, earned = [], []
    for is_right in (True, False, True, True, False, False, False):
        shown.append(world.data.numpy("observations")[0, 0, 2:].tolist())
        cue = int(world["cue"][0])
        world["actions"] = max(cue, 0) if is_right else 1 - max(cue, 0)
        world.step()
        earned.append(world["rewards"].item())
    assert earned == [0, 0, 0, 1, 0, 1, 1]
    assert shown == [[0, 0, 0], [0, 0, 1], [0, 1, 0], [1, 0, 1], [0, 1, 1], [1, 1, 0], [1, 0, 0]]
    assert bool(world["terminated"][0])
    assert not world.data.numpy("observations")[0, 0, 2:].any()  # the next episode's


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"choices": 1}, "choices=1: expected 2 to 64"),
        ({"decisions": 0}, "decisions=0: expected 1 to 1000000"),
        ({"delay": -1}, "delay=-1: expected 0 to 1024"),
    ],
)
def test_impossible_parameters_are_refused(params: dict[str, Any], message: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        DelayedReward(**params)
    assert str(caught.value).endswith(message)
