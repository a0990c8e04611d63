"""Games of MinAtar beside the package's own, step by step, with the same random numbers."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.spaces import Discrete, MultiBinary

from tests.cases import often, seldom
from tests.envs.minatar.original import Originals
from tests.envs.minatar.plays import (
    Play,
    at_random,
    clear_of_enemies,
    mostly,
    out_of_the_fire,
    to_divers,
    under_the_ball,
    up_and_down,
    upwards,
)
from tests.packaged import packaged
from warpworld import World
from warpworld.environment import get_environment
from warpworld.errors import DeclarationError

GAMES = ("asterix", "breakout", "freeway", "seaquest", "space_invaders")
RAMPING = ("asterix", "seaquest", "space_invaders")

# How much harder an episode has become, by the arrays of its world.
LEVELS: dict[str, Callable[[World], np.ndarray]] = {
    "asterix": lambda world: world.data.numpy("ramp")[:, 1],
    "seaquest": lambda world: world.data.numpy("pace")[:, 1],
    "space_invaders": lambda world: 12 - world.data.numpy("march")[:, 2],
}


def walk(game: str, play: Play, num_envs: int, steps: int, aboard: Sequence[int] = (), **params: Any) -> dict[str, int]:
    """Step both side by side; all observations, rewards and ends are equal. Returns what happened how often.

    Args:
        game: without "minatar_".
        play: who acts.
        num_envs: of the world.
        steps: of each.
        aboard: how many of Seaquest's divers are aboard when an episode begins, in each env; left out: none.
        **params: of the environment.
    """
    world = packaged(f"minatar_{game}", num_envs, device="cpu", seed=7, final_observations=True, **params)
    world.reset()
    originals, generator = Originals(game, world, steps), np.random.default_rng(1)
    happened = dict.fromkeys(("rewards", "ends", "stuck", "longest", "cleared", "level"), 0)
    over = np.ones(num_envs, bool)
    for _ in range(steps):
        for env in np.flatnonzero(over).tolist() if aboard else ():
            world["supplies"][env, 1] = aboard[env]
            originals.take_aboard(env, aboard[env])
        np.testing.assert_array_equal(world.data.numpy("observations")[~over, 0], originals.states()[~over])
        actions, lasted = play(world, generator), world.data.numpy("timestep").copy() + 1
        clock = world.data.numpy("clock") + np.uint64(1)
        world["actions"][:] = torch.from_numpy(actions.astype(np.int32))[:, None, None]
        if game in LEVELS:
            happened["level"] = max(happened["level"], int(LEVELS[game](world).max()))
        world.step()
        rewards, ended = originals.step(clock, actions)
        np.testing.assert_array_equal(world.data.numpy("rewards")[:, 0], rewards)
        over = world.data.numpy("terminated") | world.data.numpy("truncated")
        np.testing.assert_array_equal(over, ended)
        np.testing.assert_array_equal(world.data.numpy("terminated"), ended & (game != "freeway"))
        np.testing.assert_array_equal(world.data.numpy("final_observations")[over, 0], originals.states()[over])
        originals.reset(world, over)
        np.testing.assert_array_equal(world.data.numpy("observations")[over, 0], originals.states()[over])
        happened["rewards"] += int(rewards.sum())
        happened["ends"] += int(over.sum())
        happened["stuck"] += int((world.data.numpy("last_action")[:, 0] != actions).sum())
        if game == "breakout":
            happened["cleared"] += int((world.data.numpy("bricks") == 0).sum())
        happened["longest"] = max(happened["longest"], int(lasted[over].max(initial=0)))
    return happened


@pytest.mark.parametrize("sticky", [0.0, 0.1])
@pytest.mark.parametrize(
    ("game", "play", "rewards"),
    [
        ("asterix", mostly(0.1, clear_of_enemies), 5),
        ("breakout", mostly(0.02, under_the_ball), 50),
        ("freeway", mostly(0.3, upwards), 0),
        ("seaquest", mostly(0.1, to_divers), 5),
        ("space_invaders", mostly(0.1, out_of_the_fire), 50),
    ],
)
def test_the_package_plays_the_same(game: str, play: Play, rewards: int, sticky: float) -> None:
    pytest.importorskip("minatar", reason="minatar is not installed; make peers")
    happened = walk(game, play, num_envs=3, steps=250, sticky_action_prob=sticky)
    assert happened["rewards"] > rewards
    assert (happened["stuck"] > 0) == (sticky > 0)


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.parametrize(
    ("game", "play", "sticky", "at_least"),
    [
        ("breakout", mostly(0.02, under_the_ball), 0.1, {"rewards": 2000, "ends": 400, "cleared": 10}),
        ("freeway", mostly(0.3, upwards), 0.1, {"rewards": 200, "ends": 16}),
        pytest.param(
            *("breakout", mostly(0.02, under_the_ball), 0.0, {"rewards": 2000, "ends": 100, "cleared": 50}),
            marks=seldom,
        ),
        pytest.param("breakout", at_random, 0.5, {"rewards": 1000, "ends": 2000}, marks=seldom),
        pytest.param("freeway", mostly(0.3, upwards), 0.0, {"rewards": 200, "ends": 16}, marks=seldom),
        pytest.param("freeway", at_random, 0.5, {"ends": 16}, marks=seldom),
    ],
)
def test_the_package_plays_the_same_for_long(game: str, play: Play, sticky: float, at_least: dict[str, int]) -> None:
    """Breakout's walls are broken to the last brick, and Freeway's episodes reach their end."""
    pytest.importorskip("minatar", reason="minatar is not installed; make peers")
    happened = walk(game, play, num_envs=8, steps=5100, sticky_action_prob=sticky)
    assert {name: happened[name] >= least for name, least in at_least.items()} == dict.fromkeys(at_least, True), (
        happened
    )
    if game == "freeway":
        assert happened["longest"] == 2501


@pytest.mark.slow
@pytest.mark.parametrize("ramping", often([True], [True, False]))
@pytest.mark.parametrize(
    ("game", "play", "sticky", "aboard", "rewards", "hardest"),
    [
        ("asterix", mostly(0.0, clear_of_enemies), 0.0, [], 500, 9),
        pytest.param("asterix", at_random, 0.5, [], 100, 1, marks=seldom),
        pytest.param("space_invaders", mostly(0.0, out_of_the_fire), 0.0, [], 4000, 1, marks=seldom),
        ("space_invaders", mostly(0.1, out_of_the_fire), 0.1, [], 3000, 1),
        ("seaquest", mostly(0.1, to_divers), 0.1, [-1, 0, 1, 2, 3, 4, 5, 6], 500, 2),
        ("seaquest", mostly(0.02, up_and_down), 0.0, [-1] * 8, 0, 19),  # that owes divers may surface at any time
    ],
)
def test_the_package_gets_harder_in_the_same_way(
    game: str, play: Play, sticky: float, aboard: list[int], rewards: int, hardest: int, ramping: bool
) -> None:
    """Until enemies come and move as fast as they can; or never, where that is switched off."""
    pytest.importorskip("minatar", reason="minatar is not installed; make peers")
    params = {"sticky_action_prob": sticky, "difficulty_ramping": ramping}
    happened = walk(game, play, num_envs=8, steps=5100, aboard=aboard, **params)
    assert happened["rewards"] >= rewards and happened["ends"] > 0, happened
    assert happened["level"] >= hardest if ramping else happened["level"] == 0, happened


@pytest.mark.parametrize("game", GAMES)
def test_actions_stick_as_often_as_asked(game: str) -> None:
    """One that differs from the last one in every step is replaced by it now and then."""
    world = packaged(f"minatar_{game}", 2000, device="cpu", seed=3, sticky_action_prob=0.25)
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


@pytest.mark.parametrize("game", ["asterix", "breakout", "seaquest", "space_invaders"])
def test_a_limit_truncates_games_that_have_none(game: str) -> None:
    world = packaged(f"minatar_{game}", 1, device="cpu", episode_length=3)
    world.reset()
    ends = []
    for _ in range(3):
        world.step()
        ends.append((bool(world["terminated"][0]), bool(world["truncated"][0])))
    assert ends == [(False, False), (False, False), (False, True)]


def test_waves_march_no_faster_than_every_sixth_step() -> None:
    """The last alien of a wave is shot; the next wave is as fast as this one, or else faster by a step."""
    world = packaged("minatar_space_invaders", 2, device="cpu", sticky_action_prob=0.0)
    world.reset()
    world["aliens"] = [[0, 0, 1 << 5, *[0] * 7]] * 2
    world["bullets"] = [[0, 0, 0, 1 << 5, *[0] * 6]] * 2
    world["march"] = [[1, 6, 6], [1, 6, 7]]
    world.step()
    assert world["rewards"].tolist() == [[1.0], [1.0]]
    assert world["march"].tolist() == [[1, 5, 6], [1, 5, 6]]
    assert world["aliens"].tolist() == [[0xFC] * 4 + [0] * 6] * 2


def test_a_full_board_of_seaquest_is_paid_by_its_oxygen_and_then_owes_a_diver() -> None:
    world = packaged("minatar_seaquest", 2, device="cpu", sticky_action_prob=0.0)
    world.reset()
    world["submarine"], world["surfaced"] = [[5, 1, -1]] * 2, False
    world["supplies"] = [[100, 6, 0], [100, 3, 0]]
    world["actions"] = 2  # up
    world.step()
    assert world["rewards"].tolist() == [[5.0], [0.0]]
    assert world["supplies"].tolist() == [[200, -1, 0], [200, 2, 0]]


def test_a_ball_that_is_lost_at_the_limit_is_lost() -> None:
    world = packaged("minatar_breakout", 1, device="cpu", episode_length=1)
    world.reset()
    world["ball"], world["paddle"] = [[2, 8, 1, 1]], [9]
    world.step()
    assert bool(world["terminated"][0]) and not bool(world["truncated"][0])


@pytest.mark.parametrize(
    ("game", "channels", "actions", "limit"),
    [
        ("asterix", 4, 5, 10_000),
        ("breakout", 4, 3, 10_000),
        ("freeway", 7, 3, 2501),
        ("seaquest", 10, 6, 10_000),
        ("space_invaders", 6, 4, 10_000),
    ],
)
def test_spaces_and_defaults(game: str, channels: int, actions: int, limit: int) -> None:
    environment = get_environment(f"minatar_{game}")()
    (group,) = environment.groups()
    assert (group.observation, group.action) == (MultiBinary((channels, 10, 10)), Discrete(actions))
    ramping = {"difficulty_ramping": True} if game in RAMPING else {}
    assert dataclasses.asdict(environment.params) == {"episode_length": limit, "sticky_action_prob": 0.1, **ramping}


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"episode_length": 0}, "episode_length=0: expected 1 to 2^31 - 1"),
        ({"sticky_action_prob": 1.5}, "sticky_action_prob=1.5: expected 0 to 1"),
        ({"sticky_action_prob": -0.1}, "sticky_action_prob=-0.1: expected 0 to 1"),
    ],
)
def test_impossible_parameters_are_refused(game: str, params: dict[str, Any], message: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        get_environment(f"minatar_{game}")(**params)
    assert str(caught.value).endswith(message)
