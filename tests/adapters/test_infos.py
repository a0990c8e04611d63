"""Arrays that an environment names as infos, and parameters per env as options of a reset."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.adapters.worlds import PARAMS
from warpworld import World
from warpworld.adapters.single import Env
from warpworld.adapters.vector import VectorEnv
from warpworld.environment import get_environment

pytest.importorskip("pettingzoo")
pytest.importorskip("stable_baselines3")

from warpworld.adapters.parallel import ParallelEnv
from warpworld.adapters.sb3 import Sb3VecEnv


def named(name: str, *infos: str, num_envs: int = 6, **options: Any) -> World:
    """A world whose environment names these arrays."""
    cls = type("Named", (get_environment(name),), {"infos": infos})
    made = {"seed": 3, "num_workers": 1, "check_actions": True, **options}
    return World(cls(**PARAMS[name]), num_envs, "cpu", **made)


@pytest.mark.parametrize("mode", ["same_step", "next_step", "disabled"])
def test_infos_of_a_vector_env(mode: Any) -> None:
    """What a cart's state is, its agent sees; so observations are the oracle."""
    env = VectorEnv(named("cartpole", "state", "timestep", autoreset=mode))
    seen, infos = env.reset(seed=1)
    env.action_space.seed(0)
    ends = 0
    for _ in range(60):
        assert np.array_equal(infos["state"], seen) and infos["_state"].all() and infos["_timestep"].all()
        assert np.array_equal(infos["timestep"], env.world["timestep"].cpu().numpy())
        seen, _, terminated, truncated, infos = env.step(env.action_space.sample())
        ended = terminated | truncated
        ends += int(ended.sum())
        if mode == "same_step" and ended.any():
            last = infos["final_info"]
            assert np.array_equal(last["state"][ended], infos["final_obs"][ended])
            assert (infos["timestep"][ended] == 0).all()
            assert all(np.array_equal(mask, ended) for mask in (infos["_final_info"], last["_state"]))
        else:
            assert "final_info" not in infos
        if mode == "disabled" and ended.any():
            seen, infos = env.reset(options={"reset_mask": ended})
    assert ends > 10


def test_infos_are_kept() -> None:
    env = VectorEnv(named("cartpole", "state"))
    _, infos = env.reset()
    kept = infos["state"].copy()
    env.step(np.ones(6, np.int64))
    assert np.array_equal(infos["state"], kept)


def test_infos_of_rows_are_of_their_env() -> None:
    env = VectorEnv(named("tag_gridworld", "rewards", "timestep"))
    env.reset()
    _, rewards, *_, infos = env.step(np.ones(18, np.int64))
    assert np.array_equal(infos["rewards"], rewards) and infos["timestep"].shape == (18,)


def test_infos_of_one_env_and_of_its_agents() -> None:
    one = Env(named("cartpole", "state", "timestep", num_envs=1, autoreset="disabled"))
    one.reset()
    seen, *_, infos = one.step(1)
    assert infos.keys() == {"state", "timestep"} and np.array_equal(infos["state"], seen) and infos["timestep"] == 1
    many = ParallelEnv(named("tag_gridworld", "rewards", "timestep", num_envs=1, autoreset="disabled"))
    many.reset()
    _, rewards, _, _, of_agents = many.step(dict.fromkeys(many.agents, 1))
    assert {agent: float(infos["rewards"]) for agent, infos in of_agents.items()} == rewards
    assert [int(infos["timestep"]) for infos in of_agents.values()] == [1, 1, 1]


def test_infos_for_stable_baselines() -> None:
    env = Sb3VecEnv(named("cartpole", "state"))
    seen = env.reset()
    assert all(np.array_equal(info["state"], one) for info, one in zip(env.reset_infos, seen, strict=True))
    ends = 0
    for actions in np.random.default_rng(0).integers(0, 2, (60, 6)):
        seen, _, dones, infos = env.step(actions)
        for one, done, info in zip(seen, dones, infos, strict=True):
            ends += int(done)
            assert np.array_equal(info["state"], info["terminal_observation"] if done else one)
    assert ends > 10


def test_parameters_are_options_of_a_reset() -> None:
    env = VectorEnv(named("cartpole", num_envs=4, autoreset="disabled"))
    env.reset(options={"gravity": 5.0})
    assert env.world["gravity"].tolist() == [5, 5, 5, 5]
    mask = np.array([True, False, False, True])
    env.reset(options={"gravity": np.array([1.0, 2.0, 3.0, 4.0]), "reset_mask": mask})
    assert env.world["gravity"].tolist() == [1, 5, 5, 4]
    one = Env(named("cartpole", num_envs=1, autoreset="disabled"))
    one.reset(options={"gravity": 1.5})
    many = ParallelEnv(named("cartpole", num_envs=1, autoreset="disabled"))
    many.reset(options={"gravity": 1.5, "colour": "red"})
    assert one.world["gravity"].tolist() == many.world["gravity"].tolist() == [1.5]
    rows = Sb3VecEnv(named("cartpole", num_envs=3))
    rows.set_options([{"gravity": number} for number in (1.0, 2.0, 3.0)])
    rows.reset()
    rows.reset()  # options hold for one reset, what they set stays
    assert rows.world["gravity"].tolist() == [1, 2, 3]
