"""Sb3VecEnv beside the World that it stands for, and what Stable-Baselines3 makes of ours."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from tests.adapters.worlds import absences, ends_in_both_ways, world
from warpworld import make
from warpworld.errors import DeclarationError, StoreError

pytest.importorskip("stable_baselines3")

from stable_baselines3 import PPO
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.vec_env import VecMonitor

from warpworld.adapters.sb3 import Sb3VecEnv
from warpworld.adapters.single import Env


def test_their_check_of_an_env() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(Env(world(num_envs=1, autoreset="disabled")))


def test_a_step_hands_out_what_the_world_holds() -> None:
    env, plain = Sb3VecEnv(world()), world()
    plain.request("final_observations")
    plain.reset()
    assert np.array_equal(env.reset(), plain.data.numpy("observations")[:, 0])
    generator, ends = np.random.default_rng(0), {False: 0, True: 0}
    for _ in range(150):
        actions = generator.integers(0, 2, 6)
        plain["actions"] = actions.astype(np.int32)[:, None, None]
        plain.step()
        observations, rewards, dones, infos = env.step(actions)
        assert np.array_equal(observations, plain.data.numpy("observations")[:, 0])
        assert np.array_equal(rewards, plain.data.numpy("rewards")[:, 0])
        terminated, truncated = (plain.data.numpy(name) for name in ("terminated", "truncated"))
        assert np.array_equal(dones, terminated | truncated)
        for row, info in enumerate(infos):
            if not dones[row]:
                assert info == {}
                continue
            assert np.array_equal(info["terminal_observation"], plain.data.numpy("final_observations")[row, 0])
            assert info["TimeLimit.truncated"] is bool(truncated[row] and not terminated[row])
            ends[info["TimeLimit.truncated"]] += 1
    assert min(ends.values()) > 3


def test_seeds_are_those_of_single_envs() -> None:
    env = Sb3VecEnv(world(num_envs=3))
    assert env.seed(20) == [20, 21, 22]
    alone = [Env(world(num_envs=1, autoreset="disabled")).reset(seed=seed)[0] for seed in (20, 21, 22)]
    assert np.array_equal(env.reset(), alone)
    again = env.reset()  # seeds hold for one reset
    assert not np.array_equal(again, alone)


def test_seeds_of_rows_are_those_of_their_envs() -> None:
    env = Sb3VecEnv(world("tag_gridworld", 2))
    env.seed(20)
    plain = world("tag_gridworld", 2)
    plain.reset(seed=[20, 23])
    assert np.array_equal(env.reset(), plain.data.numpy("observations").reshape(6, -1))


def test_agents_as_rows() -> None:
    env = Sb3VecEnv(world("tag_gridworld"))
    assert env.num_envs == 18 and env.reset().shape == (18, env.observation_space.shape[0])
    ended = False
    while not ended:
        _, rewards, dones, infos = env.step(np.ones(18, np.int64))
        ended = bool(dones.any())
    assert rewards.shape == (18,) and np.array_equal(dones.reshape(6, 3).any(1), dones.reshape(6, 3).all(1))
    last = env.world.data.numpy("final_observations").reshape(18, -1)
    for row in np.flatnonzero(dones):
        assert np.array_equal(infos[row]["terminal_observation"], last[row])
    assert [part.shape for part in env.get_attr("rewards", [0, 5])] == [(), ()]


def test_an_end_at_the_limit_is_no_limit() -> None:
    both, steps = ends_in_both_ways()
    env = Sb3VecEnv(both)
    env.reset()
    for _ in range(steps):
        _, _, dones, infos = env.step(np.ones(1, np.int64))
    assert dones.tolist() == [True] and both["truncated"].tolist() == both["terminated"].tolist() == [True]
    assert infos[0]["TimeLimit.truncated"] is False


def test_parts_of_an_observation() -> None:
    from gymnasium.spaces import Box, Dict, Discrete

    from tests.adapters.test_vector import agents_world

    space = Dict(near=Box(-9, 9, (2,)), far=Box(-9, 9, (2, 3)))
    env = Sb3VecEnv(agents_world(1, Discrete(3), space))
    assert {key: part.shape for key, part in env.reset().items()} == {"near": (4, 2), "far": (4, 2, 3)}
    _, _, dones, infos = env.step(np.array([0, 2, 1, 2]))
    assert dones.tolist() == [False, True, False, True] and infos[0] == {}
    for row in (1, 3):
        last = infos[row]["terminal_observation"]
        assert last["near"].tolist() == [2, 2] and last["far"].tolist() == [[2, 2, 2], [2, 2, 2]]


def test_arrays_and_parameters_by_name() -> None:
    env = Sb3VecEnv(world(num_envs=3), render_mode="rgb_array")
    env.reset()
    env.set_attr("state", [0.5, 0.0, 0.1, 0.0], indices=[1])
    states = env.get_attr("state")
    assert states[1].tolist() == pytest.approx([0.5, 0, 0.1, 0]) and abs(states[0][0]) <= 0.05
    assert env.get_attr("episode_length") == [25, 25, 25] and env.get_attr("render_mode", 0) == ["rgb_array"]
    assert env.env_is_wrapped(VecMonitor) == [False] * 3 and not env.has_attr("action_masks")
    assert [picture.shape for picture in env.get_images()] == [(124, 400, 3)] * 3  # type: ignore[union-attr]
    assert np.array_equal(env.env_method("render", indices=[2])[0], env.get_images()[2])
    picture = env.render()
    assert picture is not None and picture.ndim == 3


def test_masks_by_their_usual_name() -> None:
    from tests.adapters.test_vector import agents_world

    plain = agents_world(1, world().groups["agent"].action)
    plain.request("action_mask")
    env = Sb3VecEnv(plain)
    env.reset()
    plain["action_mask"][2, 0, 1] = False
    env.step(np.zeros(4, np.int64))
    assert np.stack(env.env_method("action_masks")).tolist() == [
        [True, True],
        [True, True],
        [True, False],
        [True, True],
    ]
    assert env.has_attr("action_masks")


def test_refusals() -> None:
    def refusal(error: type[Exception], call: Any) -> str:
        with pytest.raises(error) as caught:
            call()
        return str(caught.value)

    env = Sb3VecEnv(world())
    zeros = np.zeros(6, np.int64)
    assert refusal(StoreError, lambda: env.step(zeros)) == "no episode has begun; call reset() before step()"
    env.set_options({"weather": 2.0})
    assert refusal(DeclarationError, env.reset) == (
        "options: no 'weather'. Known: gravity, cart_mass, pole_mass, pole_length, force"
    )
    env.set_options([{"gravity": 9.0}, *([{}] * 5)])
    assert refusal(DeclarationError, env.reset) == "options: give the same names for every env"
    env.set_options()
    env.reset()
    assert refusal(StoreError, lambda: env.step(zeros + 2)) == "actions: env 0 has 2, expected 0 to 1"
    assert (
        refusal(AttributeError, lambda: env.get_attr("stat")) == "no array or parameter 'stat'. Did you mean 'state'?"
    )
    assert refusal(AttributeError, lambda: env.set_attr("stat", 0)) == "no array 'stat' to set. Did you mean 'state'?"
    assert refusal(AttributeError, lambda: env.env_method("jump")) == (
        "no method 'jump': envs of a World have action_masks and render"
    )
    assert refusal(DeclarationError, lambda: Sb3VecEnv(absences(autoreset="same_step"))) == (
        "Toy: groups 'wolf' and 'sheep' see different things, which a VectorEnv cannot express; use "
        "api='parallel_vector' or the World itself"
    )
    env.close()
    assert refusal(StoreError, lambda: env.step(zeros)) == "the env is closed"


@pytest.mark.slow
@pytest.mark.cpu_backend
def test_their_ppo_learns() -> None:
    env = VecMonitor(make("cartpole", 64, "cpu", api="sb3"))
    model = PPO(
        *("MlpPolicy", env),
        **dict(n_steps=64, batch_size=1024, n_epochs=4, learning_rate=1e-3, seed=1, device="cpu"),
    )
    model.learn(100_000)
    returns = [episode["r"] for episode in model.ep_info_buffer or ()]
    assert len(returns) == 100 and float(np.mean(returns)) > 150
