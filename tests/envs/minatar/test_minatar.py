"""Games of MinAtar beside the package's own, step by step, with the same random numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.spaces import Discrete, MultiBinary

from tests.envs.minatar.original import Originals
from tests.packaged import packaged
from warpworld import World
from warpworld.environment import get_environment
from warpworld.errors import DeclarationError

Play = Callable[[World, np.random.Generator], np.ndarray]


def under_the_ball(world: World, generator: np.random.Generator) -> np.ndarray:
    """Breakout's actions of a player that mostly has the paddle where the ball will be."""
    ball, paddle = world.data.numpy("ball"), world.data.numpy("paddle")
    x = np.clip(ball[:, 0] + ball[:, 2] * generator.integers(0, 2, len(ball)), 0, 9)
    return _mostly(np.where(x < paddle, 1, np.where(x > paddle, 2, 0)), 0.02, generator)


def upwards(world: World, generator: np.random.Generator) -> np.ndarray:
    """Freeway's actions of a chicken that mostly walks on."""
    return _mostly(np.ones(world.num_envs, int), 0.3, generator)


def _mostly(actions: np.ndarray, share: float, generator: np.random.Generator) -> np.ndarray:
    """Some of the actions are replaced by random ones."""
    return np.where(generator.random(len(actions)) < share, generator.integers(0, 3, len(actions)), actions)


def at_random(world: World, generator: np.random.Generator) -> np.ndarray:
    """Actions of a player who does not look."""
    return generator.integers(0, 3, world.num_envs)


def walk(game: str, play: Play, sticky: float, num_envs: int, steps: int, **params: Any) -> dict[str, int]:
    """Step both side by side; all observations, rewards and ends are equal. Returns what happened how often."""
    params = {"sticky_action_prob": sticky, **params}
    world = packaged(f"minatar_{game}", num_envs, device="cpu", seed=7, final_observations=True, **params)
    world.reset()
    originals, generator = Originals(game, world, sticky, steps), np.random.default_rng(1)
    happened = {"rewards": 0, "ends": 0, "stuck": 0, "longest": 0, "cleared": 0}
    for _ in range(steps):
        np.testing.assert_array_equal(world.data.numpy("observations")[:, 0], originals.states())
        actions, lasted = play(world, generator), world.data.numpy("timestep").copy() + 1
        clock = world.data.numpy("clock") + np.uint64(1)
        world["actions"][:] = torch.from_numpy(actions.astype(np.int32))[:, None, None]
        world.step()
        rewards, ended = originals.step(clock, actions)
        np.testing.assert_array_equal(world.data.numpy("rewards")[:, 0], rewards)
        over = world.data.numpy("terminated") | world.data.numpy("truncated")
        np.testing.assert_array_equal(over, ended)
        np.testing.assert_array_equal(world.data.numpy("terminated"), ended & (game == "breakout"))
        np.testing.assert_array_equal(world.data.numpy("final_observations")[over, 0], originals.states()[over])
        originals.reset(world, over)
        happened["rewards"] += int(rewards.sum())
        happened["ends"] += int(over.sum())
        happened["stuck"] += int((world.data.numpy("last_action")[:, 0] != actions).sum())
        if game == "breakout":
            happened["cleared"] += int((world.data.numpy("bricks") == 0).sum())
        happened["longest"] = max(happened["longest"], int(lasted[over].max(initial=0)))
    return happened


@pytest.mark.parametrize("sticky", [0.0, 0.1])
@pytest.mark.parametrize(("game", "play", "rewards"), [("breakout", under_the_ball, 50), ("freeway", upwards, 0)])
def test_the_package_plays_the_same(game: str, play: Play, rewards: int, sticky: float) -> None:
    pytest.importorskip("minatar", reason="minatar is not installed; make peers")
    happened = walk(game, play, sticky, num_envs=3, steps=250)
    assert happened["rewards"] > rewards
    assert (happened["stuck"] > 0) == (sticky > 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("game", "play", "sticky", "at_least"),
    [
        ("breakout", under_the_ball, 0.0, {"rewards": 2000, "ends": 100, "cleared": 50}),
        ("breakout", under_the_ball, 0.1, {"rewards": 2000, "ends": 400, "cleared": 10}),
        ("breakout", at_random, 0.5, {"rewards": 1000, "ends": 2000}),
        ("freeway", upwards, 0.0, {"rewards": 200, "ends": 16}),
        ("freeway", upwards, 0.1, {"rewards": 200, "ends": 16}),
        ("freeway", at_random, 0.5, {"ends": 16}),
    ],
)
def test_the_package_plays_the_same_for_long(game: str, play: Play, sticky: float, at_least: dict[str, int]) -> None:
    """Breakout's walls are broken to the last brick, and Freeway's episodes reach their end."""
    pytest.importorskip("minatar", reason="minatar is not installed; make peers")
    happened = walk(game, play, sticky, num_envs=8, steps=5100)
    assert {name: happened[name] >= least for name, least in at_least.items()} == dict.fromkeys(at_least, True), (
        happened
    )
    if game == "freeway":
        assert happened["longest"] == 2501


@pytest.mark.parametrize("name", ["minatar_breakout", "minatar_freeway"])
def test_actions_stick_as_often_as_asked(name: str) -> None:
    """One that differs from the last one in every step is replaced by it now and then."""
    world = packaged(name, 2000, device="cpu", seed=3, sticky_action_prob=0.25)
    world.reset()
    assert not world["last_action"].any()
    stuck = 0
    for _ in range(20):
        last = world["last_action"].clone()
        world["actions"][:, :, 0] = (last + 1) % 3
        world.step()
        stuck += int((world["last_action"] == last).sum())
    assert stuck == pytest.approx(10_000, abs=4 * np.sqrt(40_000 * 0.25 * 0.75))


def test_a_last_action_is_kept_from_one_episode_to_the_next() -> None:
    """As in the package, whose reset leaves it alone."""
    world = packaged("minatar_freeway", 3, device="cpu", sticky_action_prob=1.0)
    world.reset()
    world["last_action"] = [[0], [1], [2]]
    world["actions"] = 1
    world.reset()
    world.step()
    assert world["last_action"].tolist() == [[0], [1], [2]]


def test_a_limit_truncates_breakout() -> None:
    world = packaged("minatar_breakout", 1, device="cpu", episode_length=3)
    world.reset()
    ends = []
    for _ in range(3):
        world.step()
        ends.append((bool(world["terminated"][0]), bool(world["truncated"][0])))
    assert ends == [(False, False), (False, False), (False, True)]


def test_a_ball_that_is_lost_at_the_limit_is_lost() -> None:
    world = packaged("minatar_breakout", 1, device="cpu", episode_length=1)
    world.reset()
    world["ball"], world["paddle"] = [[2, 8, 1, 1]], [9]
    world.step()
    assert bool(world["terminated"][0]) and not bool(world["truncated"][0])


@pytest.mark.parametrize(("name", "channels", "limit"), [("breakout", 4, 10_000), ("freeway", 7, 2501)])
def test_spaces_and_defaults(name: str, channels: int, limit: int) -> None:
    environment = get_environment(f"minatar_{name}")()
    (group,) = environment.groups()
    assert (group.observation, group.action) == (MultiBinary((channels, 10, 10)), Discrete(3))
    assert environment.params == type(environment.params)(episode_length=limit, sticky_action_prob=0.1)


@pytest.mark.parametrize("name", ["minatar_breakout", "minatar_freeway"])
@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"episode_length": 0}, "episode_length=0: expected 1 to 2^31 - 1"),
        ({"sticky_action_prob": 1.5}, "sticky_action_prob=1.5: expected 0 to 1"),
        ({"sticky_action_prob": -0.1}, "sticky_action_prob=-0.1: expected 0 to 1"),
    ],
)
def test_impossible_parameters_are_refused(name: str, params: dict[str, Any], message: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        get_environment(name)(**params)
    assert str(caught.value) == message
