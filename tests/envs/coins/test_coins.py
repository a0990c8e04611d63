"""Coins beside its exact equilibrium and best responses, in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.packaged import packaged
from tests.scripts import script_outputs
from warpworld import World
from warpworld.envs.coins.coins import HABIT, Coins
from warpworld.errors import DeclarationError

PAYS = [(1.0, 1.0), (3.0, 1.0), (0.5, 0.0)]
each_pays = pytest.mark.parametrize(("heads", "tails"), PAYS)


def matrix(heads: float, tails: float) -> np.ndarray:
    """What the matcher earns: a row for its own side, a column for the hider's."""
    return np.array([[heads, -1.0], [-1.0, tails]])


def equilibrium(game: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Both mixed strategies and the matcher's value: each makes the other's sides equally good."""
    ends, shift = np.ones(2), 2.0  # which is added to what the matcher earns, so that the value is not 0
    inverse = np.linalg.inv(game + shift)
    scale = ends @ inverse @ ends
    return ends @ inverse / scale, inverse @ ends / scale, float(1.0 / scale) - shift


def earned(matcher: np.ndarray, hider: np.ndarray, heads: float, tails: float) -> np.ndarray:
    """The matcher's rewards (rounds, envs) where both draw from a strategy; asserts that the sum is zero."""
    world, rounds = make(10_000, heads=heads, tails=tails), 4
    generator = torch.Generator().manual_seed(1)
    tails_up = torch.tensor([matcher[1], hider[1]])[None, :, None]
    found = []
    for _ in range(rounds):
        world["actions"] = (torch.rand((10_000, 2, 1), generator=generator) < tails_up).to(torch.int32)
        world.step()
        rewards = world.data.numpy("rewards")
        np.testing.assert_array_equal(rewards.sum(1), 0.0)
        found.append(rewards[:, 0].copy())
    return np.array(found)


def make(num_envs: int, **params: Any) -> World:
    """A world on the cpu, after its first reset."""
    world = packaged("coins", num_envs, device="cpu", seed=0, **params)
    world.reset()
    return world


@each_pays
def test_no_side_is_better_in_equilibrium(heads: float, tails: float) -> None:
    game = matrix(heads, tails)
    matcher, hider, value = equilibrium(game)
    np.testing.assert_allclose(game @ hider, value, atol=1e-15)
    np.testing.assert_allclose(matcher @ game, value, atol=1e-15)
    np.testing.assert_allclose(matcher[0], (1 + tails) / (2 + heads + tails))
    np.testing.assert_allclose(value, (heads * tails - 1) / (2 + heads + tails), atol=1e-15)


@each_pays
def test_players_in_equilibrium_earn_its_value_and_so_does_who_leaves_it(heads: float, tails: float) -> None:
    matcher, hider, value = equilibrium(matrix(heads, tails))
    for played in (matcher, np.array([1.0, 0.0]), np.array([0.0, 1.0])):
        rewards = earned(played, hider, heads, tails)
        assert abs(rewards.mean() - value) <= 4.0 * rewards.std() / np.sqrt(rewards.size)


def test_the_best_response_to_the_script_earns_its_exact_value() -> None:
    game = matrix(1.0, 1.0)
    values = game @ np.array([HABIT, 1.0 - HABIT])
    assert values.max() == values[0] == 0.5
    logits = script_outputs(make(2), "biased", "hider")
    assert logits.shape == (2, 1, 2)
    np.testing.assert_allclose(logits.softmax(-1)[0, 0].tolist(), [HABIT, 1.0 - HABIT], rtol=1e-6)
    rewards = earned(np.array([1.0, 0.0]), np.array([HABIT, 1.0 - HABIT]), 1.0, 1.0)
    assert abs(rewards.mean() - 0.5) <= 4.0 * rewards.std() / np.sqrt(rewards.size)


def test_both_see_their_own_coin_before_the_other_s() -> None:
    world = make(2, episode_length=3, heads=np.array([2.0, 5.0]))
    assert not world.data.numpy("observations").any()
    world["actions"] = torch.tensor([[[0], [1]], [[0], [0]]], dtype=torch.int32)
    world.step()
    assert world.data.numpy("observations").tolist() == [[[1, 0, 0, 1], [0, 1, 1, 0]], [[1, 0, 1, 0], [1, 0, 1, 0]]]
    assert world.data.numpy("rewards").tolist() == [[-1.0, 1.0], [5.0, -5.0]]
    world.step()
    assert not world.data.numpy("truncated").any()
    world.step()
    assert world.data.numpy("truncated").all() and not world.data.numpy("observations").any()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"episode_length": 0}, "episode_length=0: expected 1 to 2^31 - 1"),
        ({"heads": -1.0}, "heads=-1.0: expected a finite number of at least 0"),
        ({"tails": float("inf")}, "tails=inf: expected a finite number of at least 0"),
    ],
)
def test_impossible_parameters_are_refused(params: dict[str, Any], message: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        Coins(**params)
    assert str(caught.value).endswith(message)
