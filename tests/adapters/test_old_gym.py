"""Envs for code that is written for the old gym package."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Text

from tests.adapters.worlds import ends_in_both_ways, world
from warpworld.adapters import old_gym
from warpworld.adapters.single import Env
from warpworld.errors import DeclarationError

needs_gym = pytest.mark.skipif(old_gym.gym is None, reason="gym is not installed")


def one() -> Any:
    return world(num_envs=1, autoreset="disabled")


def test_of_0_26_is_an_env_of_five() -> None:
    old, new = old_gym.Gym26(one(), render_mode="rgb_array"), Env(one())
    got, expected = old.reset(seed=5), new.reset(seed=5)
    assert np.array_equal(got[0], expected[0]) and got[1] == {}
    for action in (1, 0, 0):
        assert all(np.array_equal(a, b) for a, b in zip(old.step(action), new.step(action), strict=True))
    assert old.render().shape == (124, 400, 3)


def test_of_0_21_is_an_env_of_four() -> None:
    old, new = old_gym.Gym21(one()), Env(one())
    limits = set()
    for seed in range(6):
        assert old.seed(seed) == [seed]
        observation, expected = old.reset(), new.reset(seed=seed)[0]
        done = False
        while not done:
            assert np.array_equal(observation, expected)
            # leans against the pole's angle, so that some episodes reach their limit of 25 steps
            action = int(observation[2] > 0) if seed % 2 else 1
            observation, reward, done, infos = old.step(action)
            expected, paid, terminated, truncated, _ = new.step(action)
            assert reward == paid and done == (terminated or truncated)
            assert infos == ({"TimeLimit.truncated": truncated and not terminated} if done else {})
        limits.add(infos["TimeLimit.truncated"])
    assert limits == {False, True}
    assert old.render().shape == (124, 400, 3)
    with pytest.raises(DeclarationError) as caught:
        old.render(mode="human")
    assert str(caught.value) == "render(): mode='human', expected 'rgb_array'"
    old.close()


def test_an_end_at_the_limit_is_no_limit() -> None:
    both, steps = ends_in_both_ways(autoreset="disabled")
    env = old_gym.Gym21(both)
    env.reset()
    for _ in range(steps):
        *_, done, infos = env.step(1)
    assert done and both["truncated"].tolist() == both["terminated"].tolist() == [True]
    assert infos == {"TimeLimit.truncated": False}


@needs_gym
def test_their_checks_of_spaces_and_seeds() -> None:
    from gym.utils.env_checker import check_reset_options, check_reset_return_type, check_reset_seed
    from gym.utils.passive_env_checker import check_action_space, check_observation_space

    env = old_gym.Gym26(one())
    assert isinstance(env, old_gym.gym.Env)
    check_observation_space(env.observation_space)
    check_action_space(env.action_space)
    for check in (check_reset_seed, check_reset_options, check_reset_return_type):
        check(env)
    env.step(env.action_space.sample())


@needs_gym
@pytest.mark.parametrize(
    "space",
    [
        Discrete(3, start=1),
        MultiDiscrete([2, 3]),
        MultiBinary(4),
        Box(-1, 2, (2, 3)),
        Dict(a=Box(0, 255, (4,), np.uint8), b=Discrete(2)),
    ],
)
def test_spaces_are_theirs(space: Any) -> None:
    theirs = old_gym.as_gym(space)
    assert isinstance(theirs, old_gym.gym.spaces.Space)
    for _ in range(5):
        assert space.contains(theirs.sample()) and theirs.contains(space.sample())


@needs_gym
def test_spaces_that_they_have_not() -> None:
    for space in (MultiDiscrete([2, 2], start=[1, 0]), Text(3)):
        with pytest.raises(DeclarationError) as caught:
            old_gym.as_gym(space)
        assert str(caught.value) == f"gym has no space for {space}"


def test_gym_need_not_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "gym" else find(name))
    monkeypatch.delitem(sys.modules, "warpworld.adapters.old_gym")
    without = importlib.import_module("warpworld.adapters.old_gym")
    env = without.Gym26(one())
    assert without.gym is None and env.observation_space == Env(one()).observation_space
    env.reset(seed=1)
    assert len(env.step(1)) == 5
    monkeypatch.undo()
