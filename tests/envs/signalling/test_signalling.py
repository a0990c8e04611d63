"""Signalling beside the exact value of every pair of codes."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch

from tests.packaged import packaged
from warpworld import World
from warpworld.envs.signalling.signalling import Signalling
from warpworld.errors import DeclarationError

Code = tuple[int, ...]
SIZES = [(3, 3), (3, 2), (2, 3)]


def make(num_envs: int, **params: Any) -> World:
    """A world on the cpu, after its first reset."""
    world = packaged("signalling", num_envs, device="cpu", seed=0, final_observations=True, **params)
    world.reset()
    return world


def value(sender: Code, receiver: Code) -> float:
    """What both earn on average: a signal for each state, and a state for each signal."""
    return float(np.mean([receiver[signal] == state for state, signal in enumerate(sender)]))


def pairs(states: int, signals: int) -> list[tuple[Code, Code]]:
    """All pairs of codes."""
    senders = itertools.product(range(signals), repeat=states)
    return list(itertools.product(senders, itertools.product(range(states), repeat=signals)))


def played(world: World, sender: Code, receiver: Code) -> np.ndarray:
    """Rewards (envs, 2) of an episode that both play by their codes."""
    state = world.data.numpy("state").copy()
    world["actions_sender"] = torch.tensor(sender)[state][:, None, None].to(torch.int32)
    world["actions_receiver"] = 0
    world.step()
    assert not world.data.numpy("rewards").any() and not world.data.numpy("terminated").any()
    signals = world.data.numpy("observations_receiver")[:, 0].argmax(1)
    np.testing.assert_array_equal(signals, np.array(sender)[state])
    world["actions_receiver"] = torch.tensor(receiver)[signals][:, None, None].to(torch.int32)
    world["actions_sender"] = 0  # does not count
    world.step()
    assert world.data.numpy("terminated").all()
    rewards = world.data.numpy("rewards").copy()
    np.testing.assert_array_equal(rewards, (np.array(receiver)[signals] == state)[:, None].repeat(2, 1))
    return rewards


@pytest.mark.parametrize(("states", "signals"), SIZES)
def test_the_best_pair_and_others_earn_their_exact_values(states: int, signals: int) -> None:
    codes = pairs(states, signals)
    best = max(codes, key=lambda pair: value(*pair))
    assert value(*best) == pytest.approx(min(states, signals) / states)
    assert np.mean([value(*pair) for pair in codes]) == pytest.approx(1 / states)
    envs, world = 6000, make(6000, states=states, signals=signals)
    for sender, receiver in (best, *codes[:: len(codes) // 5]):
        expected = value(sender, receiver)
        deviation = np.sqrt(expected * (1.0 - expected) / envs)
        assert abs(played(world, sender, receiver)[:, 0].mean() - expected) <= 4.0 * deviation


def test_states_are_equally_likely_and_only_the_sender_sees_them() -> None:
    world = make(6000)
    seen = world.data.numpy("observations_sender")[:, 0]
    np.testing.assert_array_equal(seen.argmax(1), world.data.numpy("state"))
    assert (seen.sum(1) == 1.0).all() and abs(seen.mean(0) - 1 / 3).max() < 0.03
    assert not world.data.numpy("observations_receiver").any()
    world["actions_sender"] = 2
    world.step()
    np.testing.assert_array_equal(world.data.numpy("observations_receiver")[:, 0], [[0.0, 0.0, 1.0]] * 6000)
    assert (world.data.numpy("signal") == 2).all()


@pytest.mark.parametrize(
    ("params", "message"),
    [({"states": 1}, "states=1: expected 2 to 64"), ({"signals": 65}, "signals=65: expected 2 to 64")],
)
def test_impossible_parameters_are_refused(params: dict[str, Any], message: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        Signalling(**params)
    assert str(caught.value).endswith(message)
