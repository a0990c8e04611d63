"""Kernels beside references: equal ones agree, and of others the first difference is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import warpworld
from tests.toys import HEADER, box, environment
from warpworld import Array, Environment
from warpworld.errors import DeclarationError

WALK = """
extern "C" __global__ void step(const int* actions, int* position, float* observations, float* rewards,
                                bool* terminated) {
  if (!is_active()) return;
  const int agent = agent_index();
  position[agent] += actions[agent] - 1;
  observations[agent] = 0.1f * (float)position[agent];
  rewards[agent] = position[agent] > 2 ? 1.0f : 0.0f;
  sync_env();
  if (agent_id() == 0) terminated[env_id()] = position[agent] > 2;
}
extern "C" __global__ void reset(int* position, float* observations) {
  if (!is_active()) return;
  position[agent_index()] = 0;
  observations[agent_index()] = 0.0f;
}
"""


@pytest.fixture
def walk(tmp_path: Path) -> Environment:
    path = tmp_path / "walk.cu"
    path.write_text(HEADER + WALK)
    return environment(path, [Array("position", "int32")])


def right(arrays: Any) -> dict[str, Any]:
    """The walk in NumPy."""
    position = arrays["position"] + arrays["actions"][:, 0] - 1
    return {
        "position": position,
        "observations": (0.1 * position)[:, None],
        "rewards": (position > 2).astype(float),
        "terminated": position[0] > 2,
    }


@pytest.mark.long
def test_an_equal_reference_agrees(walk: Environment) -> None:
    found = warpworld.compare(walk, right, num_envs=8, steps=200)
    assert found.agrees and found.difference is None and found.ends > 3
    assert found.worst["position"] == found.worst["terminated"] == 0.0 < found.worst["observations"] < 1e-6
    assert str(found).startswith("Toy: kernel and reference agree (200 steps of 8 envs, ")


def test_the_first_difference_is_named(walk: Environment) -> None:
    def wrong(arrays: Any) -> dict[str, Any]:
        """Positions of 2 are paid, too."""
        found = right(arrays)
        return {**found, "rewards": (found["position"] > 1).astype(float)}

    found = warpworld.compare(walk, wrong, num_envs=4, steps=100)
    assert found.difference is not None and not found.agrees
    env, agent = found.difference.index
    before = found.difference.before
    assert before["position"][agent] + before["actions"][agent, 0] - 1 == 2
    assert (found.difference.array, found.difference.kernel, found.difference.reference) == ("rewards", 0.0, 1.0)
    assert str(found) == (
        f"Toy: step {found.steps}: rewards[env {env}, agent {agent}] is 0 after the kernel, 1 after the reference"
    )


def test_whole_numbers_are_never_rounded(walk: Environment) -> None:
    assert not warpworld.compare(walk, lambda arrays: {"position": right(arrays)["position"] + 1}, atol=5.0).agrees
    floats = {"observations": lambda arrays: right(arrays)["observations"] + 1e-3}
    assert not warpworld.compare(walk, lambda arrays: {k: f(arrays) for k, f in floats.items()}).agrees
    assert warpworld.compare(walk, lambda arrays: {k: f(arrays) for k, f in floats.items()}, atol=2e-3).agrees


def at_state(env: Any, arrays: Any) -> None:
    env.state = arrays["state"][0]
    env.steps_beyond_terminated = None


@pytest.mark.long
def test_cartpole_is_gymnasiums() -> None:
    found = warpworld.compare("cartpole", gymnasium.make("CartPole-v1"), at_state, num_envs=20, steps=150)
    assert found.agrees and found.ends > 50
    assert found.worst["rewards"] == found.worst["terminated"] == 0.0 < found.worst["observations"] < 1e-5


def test_another_gravity_is_found() -> None:
    env = gymnasium.make("CartPole-v1")
    env.unwrapped.gravity = 9.9  # type: ignore[attr-defined]
    found = warpworld.compare("cartpole", env, at_state, num_envs=20, steps=150)
    assert found.difference is not None and found.difference.array == "observations"


def test_what_is_not_a_number_is_different(walk: Environment) -> None:
    found = warpworld.compare(walk, lambda arrays: {"observations": np.full((2, 1), np.nan)})
    assert found.difference is not None and found.worst == {"observations": np.inf}


class Other(gymnasium.Env):
    """Spaces that are not cartpole's."""

    observation_space, action_space = box(3), gymnasium.spaces.Discrete(2)


class OtherActions(gymnasium.Env):
    """As many numbers to see, more to do."""

    observation_space, action_space = box(4), gymnasium.spaces.Discrete(3)


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("cartpole", (Other(), at_state), "compare: the reference's observation space is {seen}, expected {own}"),
        (
            "cartpole",
            (OtherActions(), at_state),
            "compare: the reference's action space is Discrete(3), expected Discrete(2)",
        ),
        (
            "cartpole",
            (gymnasium.make("CartPole-v1"),),
            "compare: load= is missing; it puts the env of Gymnasium into the state of the arrays",
        ),
        (
            "cartpole",
            (right, at_state),
            "compare: load= is for an env of Gymnasium; a function gets the arrays itself",
        ),
        (
            "cartpole",
            ("CartPole-v1",),
            "compare: the reference is 'CartPole-v1', expected a function of arrays or an env of Gymnasium",
        ),
        (
            "tag_gridworld",
            (gymnasium.make("CartPole-v1"), at_state),
            "compare: an env of Gymnasium has one agent, tag_gridworld has {agents}; give a function of arrays",
        ),
        ("cartpole", (lambda arrays: [1.0],), "compare: the reference returned list, expected arrays by name"),
        (
            "cartpole",
            (lambda arrays: {"reward": 1.0},),
            "compare: the reference returned 'reward', which is not an array. Did you mean 'rewards'?",
        ),
        (
            "cartpole",
            (lambda arrays: {"state": np.zeros(4)},),
            "compare: the reference returned 'state' of shape (4,), expected (1, 4)",
        ),
    ],
)
def test_what_is_refused(name: str, arguments: Any, message: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        warpworld.compare(name, *arguments)
    world = warpworld.World(warpworld.environment.get_environment(name)(), 1, "cpu")
    own = next(iter(world.groups.values())).observation
    assert str(caught.value) == message.format(seen=box(3), own=own, agents=world.num_agents)


def test_steps_and_parameters(walk: Environment) -> None:
    with pytest.raises(DeclarationError, match=r"^steps=0: expected a whole number of at least 1$"):
        warpworld.compare(walk, right, steps=0)
    with pytest.raises(DeclarationError, match=r"^Toy has its parameters already; gravity cannot be given$"):
        warpworld.compare(walk, right, gravity=3.0)
