"""Atari's games beside the Arcade Learning Environment: frames, rewards, ends, states, and the rules around games."""

from __future__ import annotations

import importlib.metadata
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.spaces import Discrete

import warpworld
from tests.resuming import assert_a_cut_changes_nothing
from warpworld import World
from warpworld.config import config_from_dict
from warpworld.envs.atari import installed
from warpworld.envs.atari.atari import Atari
from warpworld.errors import DeclarationError, DeviceError

ale = pytest.importorskip("ale_py", reason="pip install 'ale-py>=0.12,<0.13'")
pytestmark = [pytest.mark.cpu_backend, pytest.mark.long, pytest.mark.heavy, pytest.mark.usefixtures("optimised")]

COUNTERS = 16  # bytes that a saved game begins with, before the library's own state
ARRAYS = ("observations", "rewards", "lives", "terminated", "truncated")


def games(num_envs: int, seed: int = 3, **params: Any) -> World:
    """A world after its first reset."""
    world = warpworld.make("atari", num_envs=num_envs, device="cpu", seed=seed, **params)
    world.reset()
    return world


def played(world: World, actions: np.ndarray) -> dict[str, np.ndarray]:
    """What each step gives, by array: (steps, envs, ...). ``actions`` is (steps, envs)."""
    found: dict[str, list[np.ndarray]] = {name: [] for name in ARRAYS}
    for chosen in actions:
        world["actions"] = torch.from_numpy(chosen.astype(np.int32)).reshape(world["actions"].shape)
        world.step()
        for name, values in found.items():
            values.append(world.data.numpy(name).copy())
    return {name: np.stack(values) for name, values in found.items()}


def some_actions(steps: int, envs: int, choices: int, seed: int = 1) -> np.ndarray:
    """Actions that stay for some steps, as those that reach far do; the same in all envs."""
    generator = np.random.default_rng(seed)
    chosen = np.repeat(generator.integers(0, choices, steps // 4 + 1), 4)[:steps]
    return np.repeat(chosen[:, None], envs, 1)


def area_means(frame: np.ndarray, height: int, width: int) -> np.ndarray:
    """The mean of the area that each pixel covers, in float64."""

    def shares(large: int, small: int) -> np.ndarray:
        edges = np.arange(small + 1) * large / small
        first, last = edges[:-1, None], edges[1:, None]
        at = np.arange(large)
        return np.clip(np.minimum(last, at + 1) - np.maximum(first, at), 0, None) * small / large

    return shares(frame.shape[0], height) @ frame.astype(float) @ shares(frame.shape[1], width).T


def original(world: World, game: str, env: int) -> Any:
    """The library itself, in the state of an env's game."""
    ale.ALEInterface.setLoggerMode(ale.LoggerMode.Error)
    emulator = ale.ALEInterface()
    emulator.setFloat("repeat_action_probability", 0.0)
    emulator.loadROM(installed.rom_of(game).path)
    world.state()
    saved = world.data.numpy("resident_state")[env].tobytes()[COUNTERS : world.data.numpy("resident_size")[env]]
    state = ale.ALEState.__new__(ale.ALEState)
    state.__setstate__(saved)
    emulator.restoreSystemState(state)
    return emulator


@pytest.mark.parametrize("game", ["pong", "breakout"])
def test_frames_rewards_and_ends_are_the_library_s(game: str) -> None:
    world = games(2, game=game, stack_num=1, img_height=70, img_width=61)
    emulator, lives = original(world, game, 1), world.data.numpy("lives")[1]
    numbers = [action.value for action in emulator.getMinimalActionSet()]
    actions = some_actions(600, 2, len(numbers))
    ours = played(world, actions)
    assert lives == emulator.lives()
    for step, action in enumerate(actions[:, 1]):
        reward, screens = 0.0, []
        for _ in range(4):
            reward += emulator.act(numbers[action])
            screens.append(emulator.getScreenGrayscale())
            if emulator.game_over():
                break
        assert ours["rewards"][step, 1] == reward
        assert ours["terminated"][step, 1] == emulator.game_over()
        if emulator.game_over():
            break
        assert ours["lives"][step, 1] == emulator.lives()
        exact = area_means(np.maximum(screens[-2], screens[-1]), 70, 61)
        assert np.abs(ours["observations"][step, 1, 0, 0] - exact).max() <= 0.5 + 1e-9
    assert step > 100
    assert ours["rewards"].any()


def test_a_world_is_the_library_s_own_vector_environment() -> None:
    """The library's first episode is one of those that games begin with, where nothing is drawn."""
    vector = pytest.importorskip("ale_py.vector_env").AtariVectorEnv(
        "breakout", 1, noop_max=0, use_fire_reset=False, reward_clipping=False
    )
    world = games(24, game="breakout", noop_max=0, use_fire_reset=False)
    actions = some_actions(60, 24, 4)
    first, ours = world.data.numpy("observations").copy(), played(world, actions)
    seen, _ = vector.reset(seed=0)
    same = np.abs(first[:, 0].astype(int) - seen).max((1, 2, 3)) <= 1
    for step in range(len(actions)):
        seen, rewards, terminated, _, _ = vector.step(actions[step, :1])
        same &= np.abs(ours["observations"][step, :, 0].astype(int) - seen).max((1, 2, 3)) <= 1
        same &= (ours["rewards"][step, :, 0] == rewards) & (ours["terminated"][step] == terminated)
        if terminated[0]:
            break
    assert same.sum() >= 1


def test_states_hold_the_games() -> None:
    """In the same objects, in those of another world, and in a copy; with actions that stick."""
    world = games(3, game="breakout", repeat_action_probability=0.25)
    actions = some_actions(60, 3, 4, seed=2)
    played(world, actions[:30])
    before = world.state()
    course = played(world, actions)
    other = games(3, seed=3, game="breakout", repeat_action_probability=0.25)
    for again in (world, other):
        again.set_state(range(3), before)
        repeated = played(again, actions)
        for name in ARRAYS:
            np.testing.assert_array_equal(repeated[name], course[name])
    world.fork(0, [1, 2])
    forked = played(world, actions)
    assert forked["lives"][0].tolist() == [course["lives"][-1][0]] * 3


def test_games_do_not_depend_on_how_many_there_are() -> None:
    params: dict[str, Any] = dict(game="pong", repeat_action_probability=0.5)
    few = played(games(2, **params), some_actions(80, 2, 6))
    world = warpworld.make("atari", num_envs=4, device="cpu", seed=3, num_workers=1, **params)
    world.reset()
    many = played(world, some_actions(80, 4, 6))
    for name in ARRAYS:
        np.testing.assert_array_equal(many[name][:, :2], few[name])


def test_a_training_resumes_bit_for_bit(tmp_path: Path) -> None:
    model = {"type": "multi_input", "hidden_sizes": [8], "branch_size": 8}
    config = config_from_dict(
        {
            "name": "atari",
            "env": {"game": "breakout", "img_height": 21, "img_width": 20, "stack_num": 1},
            "trainer": {"num_envs": 3, "num_steps": 16, "total_env_steps": 192, "device": "cpu"},
            "policy": {"agent": {"model": {**model, "channels": [4], "kernel_sizes": [4], "strides": [2]}}},
        }
    )
    assert_a_cut_changes_nothing(config, tmp_path, after=2)


def test_an_episode_may_end_with_a_life() -> None:
    world = games(4, game="breakout", episodic_life=True)
    actions = np.zeros((700, 4), int)
    actions[::6] = 1  # fires
    lives, course = world.data.numpy("lives").copy(), played(world, actions)
    assert set(lives) == {5}
    ends = course["terminated"][:, 0].nonzero()[0]
    assert len(ends) >= 6
    assert course["lives"][ends, 0].tolist()[:6] == [4, 3, 2, 1, 5, 4], "the game continues until no life is left"
    world.reset()
    assert set(world.data.numpy("lives")) == {5}, "a reset that is asked for begins a new game"


def test_actions_that_always_stick_are_none() -> None:
    params: dict[str, Any] = dict(game="space_invaders", noop_max=1, use_fire_reset=False)
    sticking = played(games(2, repeat_action_probability=1.0, **params), some_actions(100, 2, 6))
    waiting = played(games(2, **params), np.zeros((100, 2), int))
    for name in ARRAYS:
        np.testing.assert_array_equal(sticking[name], waiting[name])


def test_a_game_is_cut_after_some_frames() -> None:
    course = played(games(2, game="pong", max_num_frames_per_episode=40), np.zeros((25, 2), int))
    np.testing.assert_array_equal(course["truncated"][:, 0].nonzero()[0], [9, 19])
    assert not course["terminated"].any()


def test_all_actions_can_be_asked_for() -> None:
    (few,), (every,) = Atari(game="pong").groups(), Atari(game="pong", full_action_space=True).groups()
    assert few.action_names == ("noop", "fire", "right", "left", "rightfire", "leftfire")
    assert every.action == Discrete(18)
    frames = [
        played(games(2, game="freeway", full_action_space=whole), np.full((40, 2), up))
        for whole, up in ((False, 1), (True, 2))
    ]
    np.testing.assert_array_equal(frames[0]["observations"], frames[1]["observations"])


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.exhaustive) for part in range(1, 35))])
def test_each_game_runs_and_its_state_fits(part: int) -> None:
    for game in installed.known_games()[part::35]:
        world = games(1, game=game, stack_num=1)
        course = played(world, some_actions(20, 1, 3))
        world.fork(0, [0])
        assert course["observations"].any(), game
        world.close()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (dict(game="pongg"), "atari: game='pongg' is no game of ale-py for one player. Did you mean 'pong'? "),
        (dict(game="combat"), "atari: game='combat' is no game of ale-py for one player."),
        (dict(game="miniature_golf"), "atari: game='miniature_golf': the library does not restore its states exactly."),
        (dict(frameskip=0), "frameskip=0: expected 1 to 1000"),
        (dict(img_width=161), "img_width=161: expected 1 to 160"),
        (dict(repeat_action_probability=2.0), "repeat_action_probability=2.0: expected 0 to 1"),
    ],
)
def test_wrong_parameters(params: dict[str, Any], message: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        Atari(**params)
    assert message in str(caught.value)


def test_a_gpu_is_refused() -> None:
    with pytest.raises(DeviceError, match=r"environment 'atari' is C\+\+ that only a CPU can run"):
        World(Atari(), 2, "cuda")


@pytest.mark.parametrize(
    ("version", "message"),
    [
        (None, r"atari needs ale-py; install it: pip install 'ale-py>=0.12,<0.13'"),
        ("0.11.2", r"atari: ale-py 0.11.2 is installed, expected 0.12; install it: pip install 'ale-py>=0.12,<0.13'"),
    ],
)
def test_the_library_must_be_there(version: str | None, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    installed.rom_of.cache_clear()
    if version is None:
        monkeypatch.setitem(sys.modules, "ale_py", None)
    else:
        monkeypatch.setattr(importlib.metadata, "version", lambda _: version)
    with pytest.raises(DeclarationError, match=message):
        Atari()
    installed.rom_of.cache_clear()
