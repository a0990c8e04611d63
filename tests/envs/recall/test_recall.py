"""Recall against an oracle in NumPy, and what an agent without memory can earn in it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete

from tests.envs.recall.recall_oracle import paid, seen
from tests.packaged import packaged
from tests.random_numbers import random_numbers
from warpworld import World
from warpworld.envs.recall.recall import Recall
from warpworld.errors import DeclarationError

ENVS = 300


def make(seed: int = 0, **params: Any) -> World:
    """A world on the cpu that keeps its final observations, after its first reset."""
    world = packaged("recall", ENVS, device="cpu", seed=seed, final_observations=True, **params)
    world.reset()
    return world


def act(world: World, actions: np.ndarray) -> None:
    """One step with an action for each env."""
    world["actions"][:] = torch.from_numpy(actions.astype(np.int32))[:, None, None]
    world.step()


def drawn(world: World, cues: int, seed: int) -> np.ndarray:
    """The cues of the episodes that have just begun, from the random numbers of the reset."""
    return random_numbers(world["clock"], 1, 0, seed, 1).below(cues).reshape(-1).cpu().numpy()


@pytest.mark.parametrize(("cues", "delay"), [(4, 20), (2, 0), (7, 1)])
def test_every_step_is_the_oracles(cues: int, delay: int) -> None:
    world, generator = make(seed=5, cues=cues, delay=delay), np.random.default_rng(0)
    for _ in range(3):
        cue = drawn(world, cues, seed=5)
        np.testing.assert_array_equal(world.data.numpy("cue"), cue)
        for timestep in range(delay + 2):
            np.testing.assert_array_equal(world.data.numpy("observations")[:, 0], seen(cue, timestep, cues, delay))
            actions = generator.integers(0, cues, ENVS)
            act(world, actions)
            ends = timestep == delay + 1
            np.testing.assert_array_equal(world.data.numpy("rewards")[:, 0], paid(cue, actions, timestep, delay))
            np.testing.assert_array_equal(world.data.numpy("terminated"), ends)
            assert not world["truncated"].any()
        assert not world["final_observations"].any()


def test_all_cues_are_equally_likely() -> None:
    world, counts = make(cues=4, delay=0), np.zeros(4)
    for _ in range(20):
        world.reset()
        counts += np.bincount(world.data.numpy("cue"), minlength=4)
    expected = 20 * ENVS / 4
    assert ((counts - expected) ** 2 / expected).sum() < 21.1  # chi-square of 3 degrees of freedom: 1 in 10,000


def test_who_remembers_earns_1_and_who_does_not_is_at_chance() -> None:
    world = make(cues=4, delay=3)
    remembered = world.data.numpy("observations")[:, 0, :4].argmax(1)
    for _ in range(5):
        act(world, remembered)
    assert np.all(world.data.numpy("rewards") == 1.0)
    returns = []
    for _ in range(20):
        for _ in range(5):
            act(world, np.full(ENVS, 2))
        returns.append(world.data.numpy("rewards").mean())
    assert np.mean(returns) == pytest.approx(-0.5, abs=0.05)  # 6,000 episodes of deviation 0.87


def test_spaces() -> None:
    (group,) = Recall(cues=6).groups()
    assert (group.observation, group.action) == (Box(0.0, 1.0, (7,)), Discrete(6))
    assert (Recall().params.cues, Recall().params.delay) == (4, 20)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"cues": 1}, "cues=1: expected 2 to 1024"),
        ({"cues": 1025}, "cues=1025: expected 2 to 1024"),
        ({"delay": -1}, "delay=-1: expected 0 to 2^31 - 3"),
        ({"delay": 2**31 - 2}, "delay=2147483646: expected 0 to 2^31 - 3"),
    ],
)
def test_impossible_parameters_are_refused(params: dict[str, Any], message: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        Recall(**params)
    assert str(caught.value).endswith(message)
