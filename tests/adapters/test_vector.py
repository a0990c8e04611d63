"""VectorEnv beside the World that it stands for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete
from gymnasium.vector import AutoresetMode

from tests.adapters.worlds import world
from tests.toys import environment
from warpworld import Group, World, masked_phase
from warpworld.adapters.vector import VectorEnv

MODES = ["same_step", "next_step", "disabled"]


def numbers(of: World, name: str) -> np.ndarray:
    """An array of single agents, (num_envs, ...)."""
    return of.data.numpy(name).reshape(of.num_envs, *of.data.array(name).shape).copy()


@pytest.mark.parametrize("mode", MODES)
def test_a_step_hands_out_what_the_world_holds(mode: Any) -> None:
    env, plain = VectorEnv(world(autoreset=mode)), world(autoreset=mode)
    if mode == "same_step":
        plain.request("final_observations")
    plain.reset(seed=8)
    observations, infos = env.reset(seed=8)
    assert infos == {} and np.array_equal(observations, numbers(plain, "observations"))
    generator, ends = np.random.default_rng(0), 0
    for _ in range(80):
        actions = generator.integers(0, 2, 6)
        plain["actions"] = actions.astype(np.int32)[:, None, None]
        plain.step()
        observations, rewards, terminated, truncated, infos = env.step(actions)
        for got, name in zip(
            (observations, rewards, terminated, truncated),
            ("observations", "rewards", "terminated", "truncated"),
            strict=True,
        ):
            assert got.dtype == plain.data.array(name).dtype and np.array_equal(got, numbers(plain, name)), name
        ended = terminated | truncated
        ends += int(ended.sum())
        if mode == "same_step" and ended.any():
            assert np.array_equal(infos["_final_obs"], ended)
            assert np.array_equal(infos["final_obs"][ended], numbers(plain, "final_observations")[ended])
        else:
            assert infos == {}
        if mode == "disabled" and ended.any():
            plain.reset(torch.from_numpy(ended))
            observations, _ = env.reset(options={"reset_mask": ended})
            assert np.array_equal(observations, numbers(plain, "observations"))
    assert ends > 10


def test_the_mode_is_named_as_gymnasium_names_it() -> None:
    named = [AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP, AutoresetMode.DISABLED]
    for mode, expected in zip(MODES, named, strict=True):
        env = VectorEnv(world(num_envs=1, autoreset=mode))
        assert env.autoreset_mode is expected and env.metadata["autoreset_mode"] is expected


def test_one_seed_and_a_seed_for_each() -> None:
    env = VectorEnv(world(num_envs=3))
    first, _ = env.reset(seed=5)
    again, _ = env.reset(seed=5)
    assert np.array_equal(first, again)
    alone = [VectorEnv(world(num_envs=1, seed=seed)).reset()[0][0] for seed in (11, 12)]
    kept = env.reset(seed=5)[0][2]
    observations, _ = env.reset(seed=[11, 12, None], options={"reset_mask": np.array([True, True, False])})
    assert np.array_equal(observations, np.stack([*alone, kept]))


def test_a_mask_leaves_the_other_envs_alone() -> None:
    env = VectorEnv(world(autoreset="disabled"))
    env.reset(seed=1)
    for _ in range(5):
        before = env.step(np.zeros(6, np.int64))[0]
    options = {"reset_mask": np.array([True, False, True, False, False, False])}
    after, _ = env.reset(options=options)
    assert "reset_mask" in options  # Gymnasium's wrappers read it afterwards
    assert np.array_equal(after[[1, 3, 4, 5]], before[[1, 3, 4, 5]])
    assert (after[[0, 2]] != before[[0, 2]]).any(1).all()


@pytest.mark.parametrize("copy", [True, False])
def test_copies_are_kept_and_views_move(copy: bool) -> None:
    env = VectorEnv(world(), copy=copy)
    env.reset(seed=1)
    results = [env.step(np.ones(6, np.int64)) for _ in range(2)]
    assert any(first is second for first, second in zip(*results, strict=True)) is not copy
    assert np.shares_memory(results[0][0], results[1][0]) is not copy


@pytest.mark.cpu_backend
def test_views_are_of_the_store_itself() -> None:
    env = VectorEnv(world(), copy=False)
    observations, _ = env.reset()
    assert observations.ctypes.data == env.world["observations"].data_ptr()


@pytest.mark.cpu_backend
def test_other_libraries_see_the_store_through_dlpack() -> None:
    env = VectorEnv(world(num_envs=2))
    env.reset()
    seen = np.from_dlpack(env.world["observations"])
    for _ in range(3):
        observations = env.step(np.ones(2, np.int64))[0]
        assert np.array_equal(seen[:, 0], observations)


def test_several_agents_as_an_axis_and_as_rows() -> None:
    axis = VectorEnv(agents_world(2, Discrete(3)), agents="auto")
    rows = VectorEnv(agents_world(2, Discrete(3)), agents="rows")
    assert axis.single_observation_space.shape == (2, 2) and axis.action_space.shape == (4, 2)
    assert rows.single_observation_space.shape == (2,) and rows.action_space.shape == (8,)
    assert (axis.num_envs, rows.num_envs) == (4, 8)
    seen = [axis.reset(seed=2)[0], rows.reset(seed=2)[0]]
    assert np.array_equal(seen[0].reshape(8, 2), seen[1])
    actions = np.arange(8) % 3
    by_axis, by_rows = axis.step(actions.reshape(4, 2)), rows.step(actions)
    assert np.array_equal(by_axis[0].reshape(8, 2), by_rows[0])
    assert by_axis[1].tolist() == [0.5, 1.0, 1.5, 0.5] and by_rows[1].tolist() == [0, 1, 2, 0, 1, 2, 0, 1]
    assert by_axis[2].tolist() == [False, True, False, False]
    assert np.array_equal(by_rows[2], np.repeat(by_axis[2], 2)) and by_rows[4]["_final_obs"].shape == (8,)


def test_groups_alike_are_rows_of_one_batch() -> None:
    env = VectorEnv(world("tag_gridworld"))
    assert env.num_envs == 6 * 3
    env.reset()
    observations, rewards, *_ = env.step(env.action_space.sample())
    assert np.array_equal(observations.reshape(6, 3, -1), env.world["observations"].cpu().numpy())
    assert np.array_equal(rewards.reshape(6, 3), env.world["rewards"].cpu().numpy())


def test_groups_with_arrays_of_their_own_are_rows_too() -> None:
    @masked_phase
    def act(arrays: Any, active: torch.Tensor) -> None:
        for name in ("wolf", "sheep"):
            arrays[f"observations_{name}"][:] = arrays[f"actions_{name}"].float() + (name == "wolf")

    groups = [
        Group(name, size, Box(-9, 9, (1,)), Discrete(5), own_arrays=True) for name, size in (("wolf", 1), ("sheep", 2))
    ]
    toy = environment(None, groups=groups, phases=[act], resets=[])
    env = VectorEnv(World(toy, 2, "cpu", num_workers=1, check_actions=True))
    env.reset()
    observations = env.step(np.array([0, 1, 2, 3, 4, 0]))[0]
    assert observations[:, 0].tolist() == [1, 1, 2, 4, 4, 0]
    assert env.step(np.zeros(6, np.int64))[4] == {}


def test_rows_of_an_env_are_reset_together() -> None:
    env = VectorEnv(world("tag_gridworld", autoreset="disabled"))
    env.reset()
    mask = np.repeat(np.array([False, True, False, False, False, False]), 3)
    before = env.world["timestep"].clone()
    env.step(env.action_space.sample())
    env.reset(options={"reset_mask": mask})
    assert (env.world["timestep"] - before).tolist() == [1, 0, 1, 1, 1, 1]
    mask[4] = False
    with pytest.raises(ValueError) as caught:
        env.reset(options={"reset_mask": mask})
    assert str(caught.value) == "reset_mask: chooses some agents of env 1; an env is reset as a whole"


def test_spaces_of_several_parts() -> None:
    space = Dict(near=Box(-9, 9, (2,)), far=Box(-9, 9, (2, 3), np.float16))
    env = VectorEnv(agents_world(1, MultiDiscrete([3, 2]), space))
    observations, _ = env.reset()
    assert env.observation_space.contains(observations)
    assert {key: part.shape for key, part in observations.items()} == {"far": (4, 2, 3), "near": (4, 2)}
    actions = np.array([[0, 1], [1, 0], [2, 1], [2, 0]])
    observations, rewards, *_, infos = env.step(actions)
    assert np.array_equal(observations["near"], actions) and rewards.tolist() == [0, 1, 2, 2]
    assert infos["final_obs"]["near"][infos["_final_obs"]].tolist() == [[2, 1], [2, 0]]
    assert np.array_equal(observations["far"], np.broadcast_to(actions[:, :1, None], (4, 2, 3)))


def test_continuous_actions_are_cast_once() -> None:
    env = VectorEnv(agents_world(1, Box(-1, 1, (2,))))
    env.reset()
    actions = np.array([[0.1, -0.2], [0.3, 1.0], [0.5, -1.0], [0.0, 0.25]])
    assert np.array_equal(env.step(actions)[0], actions.astype(np.float32))
    assert np.array_equal(env.step(np.ones((4, 2), np.int8))[0], np.ones((4, 2), np.float32))


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64", "uint64"])
def test_choices_that_count_from_elsewhere(dtype: str) -> None:
    env = VectorEnv(agents_world(1, MultiDiscrete([3, 2], start=[5, 1])))
    env.reset()
    actions = np.array([[5, 1], [6, 2], [7, 1], [5, 2]], dtype)
    assert env.step(actions)[0].tolist() == [[0, 0], [1, 1], [2, 0], [0, 1]]
    assert env.world["actions"][:, 0].tolist() == [[0, 0], [1, 1], [2, 0], [0, 1]]


def agents_world(size: int, action: Any, observation: Any = None, **options: Any) -> World:
    """Agents that see what they did and are paid by its first part; 2 by the first agent ends an env's episode."""

    @masked_phase
    def act(arrays: Any, active: torch.Tensor) -> None:
        did = arrays["actions"].float()
        parts = ["observations"] if observation is None else [f"observations_{key}" for key in observation]
        for name in parts:
            seen = did[..., :1, None] if arrays[name].ndim > 3 else did
            arrays[name][active] = seen.expand_as(arrays[name])[active].to(arrays[name].dtype)
        arrays["rewards"][active] = did[active][..., 0]
        arrays["terminated"][active] = did[active][:, 0, 0] == 2

    space = observation or Box(-9, 9, (2,))
    toy = environment(None, groups=[Group("agent", size, space, action)], phases=[act], resets=[])
    return World(toy, device="cpu", num_workers=1, **{"num_envs": 4, "check_actions": True, **options})
