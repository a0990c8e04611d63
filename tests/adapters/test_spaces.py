"""Every kind of space through a VectorEnv: observations lie in theirs, actions reach the store counted from 0."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium.vector.utils import iterate

from tests.trainers.collecting import seen_in_kinds, test_kinds_of_actions
from warpworld import World
from warpworld.adapters.vector import VectorEnv
from warpworld.environment import action_start


@pytest.mark.parametrize("kind", seen_in_kinds.SPACES)
def test_observations_lie_in_their_space(kind: str) -> None:
    env = VectorEnv(World(seen_in_kinds.SeenAs(kind=kind), 5, seed=1))
    seen, _ = env.reset()
    assert env.observation_space.contains(seen)
    env.action_space.seed(0)
    for _ in range(7):
        seen, *_ = env.step(env.action_space.sample())
        assert env.observation_space.contains(seen)


@pytest.mark.parametrize("kind", test_kinds_of_actions.SPACES)
def test_actions_are_those_of_the_space(kind: str) -> None:
    env = VectorEnv(World(test_kinds_of_actions.Guess(kind=kind), 5, seed=1, check_actions=True))
    env.reset()
    env.action_space.seed(0)
    actions = env.action_space.sample()
    env.step(actions)
    stored = env.world["actions"].cpu().numpy()
    for one, expected in zip(stored, iterate(env.action_space, actions), strict=True):
        flat = (expected - action_start(env.world.groups["guesser"].action)).reshape(2, -1)
        assert np.array_equal(one, flat.astype(one.dtype))
