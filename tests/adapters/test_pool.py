"""EnvPool's protocol: batches that are sent and received, in the order sent, on the trajectories of one world."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import warpworld
from tests.envs.trajectories import Driver
from warpworld.adapters.pool import Pool
from warpworld.errors import DeclarationError, StoreError


def cartpole(num_envs: int = 16, **options: Any) -> Pool:
    return warpworld.make("cartpole", num_envs, seed=7, api="pool", episode_length=30, **options)


# ---- the same trajectories as one world ------------------------------------------------------------------------------
@pytest.mark.parametrize("batch_size", [16, 8, 4])
@pytest.mark.parametrize("autoreset", ["next_step", "same_step"])
def test_batches_walk_the_trajectories_of_one_world(batch_size: int, autoreset: Any) -> None:
    world = warpworld.make("cartpole", 16, seed=7, autoreset=autoreset, episode_length=30)
    pool = cartpole(batch_size=batch_size, autoreset=autoreset)
    world.reset()
    pool.async_reset()
    generator, ends = np.random.default_rng(0), 0
    for _ in range(60):
        actions = generator.integers(0, 2, 16)
        seen = world["observations"].cpu().numpy()[:, 0]
        for _ in range(16 // batch_size):
            observations, _, terminated, truncated, infos = pool.recv()
            envs = infos["env_id"]
            assert (observations == seen[envs]).all()
            assert (terminated == world["terminated"].cpu().numpy()[envs]).all()
            assert (truncated == world["truncated"].cpu().numpy()[envs]).all()
            assert (infos["elapsed_step"] == world["timestep"].cpu().numpy()[envs]).all()
            order = generator.permutation(batch_size)  # a caller may have its own
            pool.send(actions[envs[order]], envs[order])
        world["actions"] = torch.from_numpy(actions.astype(np.int32))[:, None, None]
        world.step()
        ends += int(world["terminated"].sum())
    assert ends > 10
    pool.close()


def test_several_agents_are_an_axis() -> None:
    world = warpworld.make("tag_gridworld", 4, seed=1, autoreset="next_step", num_taggers=2, grid_length=5)
    pool = warpworld.make("tag_gridworld", 4, seed=1, api="pool", batch_size=2, num_taggers=2, grid_length=5)
    world.reset()
    pool.async_reset()
    driver = Driver(world)
    for _ in range(30):
        driver.act()
        actions = world["actions"].cpu().numpy()[..., 0]
        for _ in range(2):
            observations, *_, infos = pool.recv()
            assert observations.shape[:2] == (2, 3)
            assert (observations == world["observations"].cpu().numpy()[infos["env_id"]]).all()
            pool.send(actions[infos["env_id"]], infos["env_id"])
        world.step()
    pool.close()


# ---- EnvPool's own protocol, on both libraries -----------------------------------------------------------------------
def of_library(library: str, num_envs: int, batch_size: int) -> Any:
    if library != "envpool":
        device, order = ("cpu", "ready") if library == "by readiness" else (None, "sent")
        return warpworld.make("cartpole", num_envs, device, seed=3, api="pool", batch_size=batch_size, order=order)
    envpool = pytest.importorskip("envpool")
    return envpool.make("CartPole-v1", env_type="gymnasium", num_envs=num_envs, batch_size=batch_size, seed=3)


theirs = pytest.param("envpool", marks=pytest.mark.cpu_backend)
both = pytest.mark.parametrize("library", ["warpworld", theirs])
all_three = pytest.mark.parametrize(
    "library", ["warpworld", pytest.param("by readiness", marks=pytest.mark.cpu_backend), theirs]
)


@all_three
def test_send_and_receive(library: str) -> None:
    pool = of_library(library, 6, 2)
    assert len(pool) == 6 and pool.is_async and pool.all_env_ids.tolist() == list(range(6))
    assert pool.observation_space.shape == (4,) and pool.action_space.n == 2
    pool.async_reset()
    steps = np.zeros(6, int)
    for _ in range(30):
        observations, rewards, terminated, truncated, infos = pool.recv()
        envs = infos["env_id"]
        assert envs.dtype == np.int32 and len(set(envs.tolist())) == 2
        assert observations.shape == (2, 4) and observations.dtype == np.float32
        assert rewards.shape == terminated.shape == truncated.shape == (2,)
        assert (infos["elapsed_step"] == steps[envs]).all()
        steps[envs] = np.where(terminated | truncated, 0, steps[envs] + 1)
        pool.send(np.zeros(2, np.int32), envs)


@all_three
def test_all_envs_in_one_call(library: str) -> None:
    pool = of_library(library, 5, 5)
    assert not pool.is_async
    observations, infos = pool.reset()
    assert observations.shape == (5, 4) and infos["env_id"].tolist() == list(range(5))
    ends = 0
    for _ in range(40):
        observations, rewards, terminated, _, infos = pool.step(np.ones(5, np.int32), pool.all_env_ids)
        assert sorted(infos["env_id"].tolist()) == list(range(5))
        ends += int(terminated.sum())
        assert (rewards[infos["elapsed_step"] == 0] == 0).all()  # a step that only resets
    assert ends > 0


@both
def test_some_envs_are_stepped_and_reset(library: str) -> None:
    pool = of_library(library, 5, 5)
    pool.reset()
    for _ in range(3):
        pool.step(np.ones(5, np.int32))
    observations, rewards, *_, infos = pool.step(np.zeros(2, np.int32), np.array([1, 3], np.int32))
    assert infos["env_id"].tolist() == [1, 3] and infos["elapsed_step"].tolist() == [4, 4]
    assert observations.shape == (2, 4) and rewards.shape == (2,)
    observations, infos = pool.reset(np.array([4], np.int32))
    assert infos["env_id"].tolist() == [4] and (abs(observations) <= 0.05).all()
    *_, infos = pool.step(np.ones(5, np.int32))
    assert sorted(zip(infos["env_id"].tolist(), infos["elapsed_step"].tolist(), strict=True)) == [
        (0, 4), (1, 5), (2, 4), (3, 5), (4, 1),
    ]  # fmt: skip


# ---- what is wrong ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("batch_size", [3, 0, -4, 32, 2.0])
def test_batch_sizes(batch_size: Any) -> None:
    with pytest.raises(DeclarationError) as caught:
        cartpole(batch_size=batch_size)
    assert str(caught.value) == f"batch_size={batch_size} does not divide num_envs=16"


def test_order_of_calls() -> None:
    pool = cartpole(batch_size=4)
    with pytest.raises(StoreError) as caught:
        pool.recv()
    assert str(caught.value) == "recv(): nothing was sent; call async_reset() or send() first"
    pool.async_reset()
    with pytest.raises(StoreError) as caught:
        pool.send(np.zeros(4, int), np.arange(4))
    assert str(caught.value) == "send(): envs 0-3 are still stepping; recv() them first"
    for envs in (np.array([0, 1, 2, 4]), np.arange(4, 7), np.arange(16, 20), np.array([-4, -3, -2, -1]), np.array([])):
        with pytest.raises(StoreError) as caught:
            pool.send(np.zeros(len(envs), int), envs)
        assert (
            str(caught.value) == "send(): env_id is not a batch; send together the envs that recv() returned together"
        )
    with pytest.raises(StoreError) as caught:
        pool.send(np.zeros(4, int))
    assert str(caught.value) == "send(): env_id is missing; name the 4 envs that the actions are for"
    with pytest.raises(StoreError) as caught:
        pool.reset(np.array([1]))
    assert str(caught.value) == "reset(): env_id needs batch_size=num_envs; leave env_id out"


def test_resets_at_any_time() -> None:
    pool = cartpole(batch_size=8)
    for _ in range(3):
        pool.async_reset()
    first = pool.recv()
    pool.send(np.zeros(8, int), first[-1]["env_id"])
    pool.async_reset()
    assert [pool.recv()[-1]["elapsed_step"].tolist() for _ in range(2)] == [[0] * 8] * 2
    with pytest.raises(StoreError, match=r"recv\(\): nothing was sent"):
        pool.recv()


def test_a_reset_hides_no_fault() -> None:
    pool = cartpole(batch_size=8)
    pool.async_reset()
    envs = pool.recv()[-1]["env_id"]
    pool.send(np.full(8, 9), envs)
    with pytest.raises(StoreError, match="actions: env 0 has 9, expected 0 to 1"):
        pool.async_reset()
    pool.async_reset()
    assert [pool.recv()[-1]["elapsed_step"].tolist() for _ in range(2)] == [[0] * 8] * 2


def test_a_fault_of_the_thread_is_received() -> None:
    pool = cartpole(batch_size=8)
    pool.async_reset()
    envs = pool.recv()[-1]["env_id"]
    pool.send(np.array([0, 1, 7, 0, 0, 0, 0, 0]), envs)
    pool.recv()
    with pytest.raises(StoreError) as caught:
        pool.recv()
    assert str(caught.value) == "actions: env 2 has 7, expected 0 to 1"
    pool.send(np.zeros(8, int), envs)
    assert pool.recv()[-1]["env_id"].tolist() == envs.tolist()


@pytest.mark.parametrize(
    ("env_id", "message"),
    [
        (np.array([1, 1]), "env_id: [1, 1], expected different whole numbers"),
        (np.array([0.5]), "env_id: [0.5], expected different whole numbers"),
        (np.array([3, 16]), "env_id: [3, 16], expected envs of 0 to 15"),
    ],
)
def test_of_some_envs(env_id: np.ndarray, message: str) -> None:
    pool = cartpole()
    pool.reset()
    for act in (lambda: pool.step(np.zeros(len(env_id), int), env_id), lambda: pool.reset(env_id)):
        with pytest.raises(StoreError) as caught:
            act()
        assert str(caught.value) == message


def test_closed() -> None:
    pool = cartpole(batch_size=8)
    pool.async_reset()
    pool.close()
    pool.close()
    with pytest.raises(StoreError, match=r"recv\(\): nothing was sent"):
        pool.recv()
    with pytest.raises(StoreError, match=r"^the pool is closed$"):
        pool.async_reset()
