"""DmEnv by dm_env's own tests, and beside the World that it stands for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Text

from tests.adapters.test_vector import agents_world
from tests.adapters.worlds import world
from warpworld.errors import DeclarationError, StoreError

pytest.importorskip("dm_env")

import dm_env
from absl.testing import absltest
from dm_env import specs, test_utils

from warpworld.adapters.dm import DmEnv, spec_of


def env(name: str = "cartpole", num_envs: int = 1) -> DmEnv:
    return DmEnv(world(name, num_envs, autoreset="next_step"))


class TestTheirTests(test_utils.EnvironmentTestMixin, absltest.TestCase):
    """dm_env's contract, with ends of episodes."""

    def make_object_under_test(self) -> Any:
        return env()

    def make_action_sequence(self) -> Iterator[int]:
        yield from [1] * 60


class TestTheirTestsOfAgents(TestTheirTests):
    """The same of several agents."""

    def make_object_under_test(self) -> Any:
        return env("tag_gridworld")

    def make_action_sequence(self) -> Iterator[np.ndarray]:
        yield from [np.ones(3, np.int64)] * 40


def test_discounts_tell_ends_from_limits() -> None:
    balanced = env()
    kinds = {}
    for reset in range(6):
        step = balanced.reset(seed=reset)
        while not step.last():
            # leans against the pole's angle, so that some episodes reach their limit of 25 steps
            step = balanced.step(int(step.observation[2] > 0) if reset % 2 else 1)
        ended = bool(balanced.world["terminated"][0])
        kinds[ended] = step.discount
        assert isinstance(step.reward, float) and balanced.step(0).first()
    assert kinds == {True: 0.0, False: 1.0}


def test_envs_have_an_axis_of_their_own() -> None:
    many = env(num_envs=5)
    first = many.reset(seed=3)
    assert first.step_type.tolist() == [0] * 5 and first.observation.shape == (5, 4)
    assert first.reward.tolist() == [0] * 5 and first.discount.tolist() == [1] * 5
    alone = [env() for _ in range(5)]
    seeds = [int(number) for number in range(20, 25)]
    steps = [one.reset(seed=seed) for one, seed in zip(alone, seeds, strict=True)]
    batch = many.reset(seed=seeds)
    lasts = 0
    for actions in np.random.default_rng(0).integers(0, 2, (60, 5)):
        batch = many.step(actions)
        steps = [one.step(int(action)) for one, action in zip(alone, actions, strict=True)]
        assert batch.step_type.tolist() == [int(step.step_type) for step in steps]
        assert np.array_equal(batch.observation, np.stack([step.observation for step in steps]))
        assert batch.reward.tolist() == [step.reward or 0.0 for step in steps]
        assert batch.discount.tolist() == [1.0 if step.discount is None else step.discount for step in steps]
        lasts += sum(step.last() for step in steps)
    assert lasts > 5


@pytest.mark.parametrize(
    ("space", "expected"),
    [
        (Discrete(3), specs.DiscreteArray(3, np.int64, "x")),
        (Discrete(3, start=2), specs.BoundedArray((), np.int64, 2, 4, "x")),
        (MultiDiscrete([2, 5]), specs.BoundedArray((2,), np.int64, [0, 0], [1, 4], "x")),
        (MultiBinary(2), specs.BoundedArray((2,), np.int8, [0, 0], [1, 1], "x")),
        (Box(-1, 2, (2,)), specs.BoundedArray((2,), np.float32, [-1, -1], [2, 2], "x")),
        (Box(-np.inf, np.inf, (2, 3)), specs.Array((2, 3), np.float32, "x")),
    ],
)
def test_spaces_are_specs(space: Any, expected: Any) -> None:
    assert spec_of(space, "x") == expected


def test_parts_of_an_observation() -> None:
    space = Dict(near=Box(-9, 9, (2,)), far=Box(-9, 9, (2, 3), np.float16))
    parts = DmEnv(agents_world(1, Discrete(3), space, num_envs=1, autoreset="next_step"))
    spec = parts.observation_spec()
    for key, seen in parts.reset().observation.items():
        spec[key].validate(seen)
    assert isinstance(parts.step(1), dm_env.TimeStep)


def test_refusals() -> None:
    one = env()
    one.reset()
    with pytest.raises(StoreError) as caught:
        one.step(2)
    assert str(caught.value) == "actions: env 0 has 2, expected 0 to 1"
    with pytest.raises(DeclarationError) as unserved:
        spec_of(Dict({"say": Text(3)}), "x")
    assert str(unserved.value) == f"dm_env has no spec for {Text(3)}"
    one.close()
    with pytest.raises(StoreError) as closed:
        one.step(1)
    assert str(closed.value) == "the env is closed"
