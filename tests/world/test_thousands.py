"""Envs of more agents than a block has threads: agents take turns, or kernels loop over them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.toys import agents
from tests.world.walks import Toy
from warpworld import World
from warpworld.checking import check
from warpworld.config import load_config
from warpworld.trainers.trainer import Trainer

KERNELS = """
struct Crowd { float* observations; const int* actions; };
extern "C" __global__ void step(Crowd crowd, float* rewards, bool* truncated, const int* timestep) {
  if (!is_active()) return;
  const int i = agent_index();
  crowd.observations[i] += (float)(crowd.actions[i] * agent_id());
  rewards[i] = Random::agent().uniform();
  for (int k = lane(); k < 1; k += num_lanes()) truncated[env_id()] = timestep[env_id()] >= 3;
}
extern "C" __global__ void reset(float* observations) {
  if (!is_active()) return;
  observations[agent_index()] = -1.0f;
}
"""


def crowd(toy: Toy, size: int, num_envs: int = 3) -> World:
    world = toy(KERNELS, groups=[agents(size)], num_envs=num_envs)
    world.reset()
    world["actions"].fill_(2)
    return world


@pytest.mark.parametrize("size", [1024, 1025, 2048, 3001])
def test_every_agent_takes_its_turn_once(toy: Toy, size: int) -> None:
    world = crowd(toy, size)
    for _ in range(2):
        world.step()
    expected = np.broadcast_to(-1.0 + 4.0 * np.arange(size), (3, size))
    assert np.array_equal(world.data.numpy("observations")[..., 0], expected)
    drawn = world.data.numpy("rewards")
    assert len(np.unique(drawn)) > 0.99 * drawn.size and 0.45 < drawn.mean() < 0.55
    world.step()
    assert world.data.numpy("truncated").all() and (world.data.numpy("observations") == -1.0).all()


def test_trajectories_do_not_depend_on_the_number_of_envs(toy: Toy) -> None:
    few, many = crowd(toy, 1500, 1), crowd(toy, 1500, 4)
    for _ in range(5):
        few.step()
        many.step()
        for name in ("observations", "rewards"):
            assert np.array_equal(few.data.numpy(name)[0], many.data.numpy(name)[0])


def test_some_envs_sit_out(toy: Toy) -> None:
    world = crowd(toy, 1100)
    world.step()
    world.reset(torch.tensor([False, True, False], device=world.device))
    seen = world.data.numpy("observations")[:, -1, 0]
    assert seen.tolist() == [2 * 1099 - 1, -1, 2 * 1099 - 1]


@pytest.mark.cpu_backend
def test_a_check_follows_every_turn(toy: Toy) -> None:
    report = check(crowd(toy, 1100), steps=5)
    assert report.findings == () and not report.stopped


@pytest.mark.cpu_backend
def test_a_check_follows_threads_that_share_the_agents() -> None:
    smaller = dict(num_taggers=1500, use_full_observation=False, grid_length=60)
    report = check("tag_gridworld", num_envs=2, steps=3, **smaller)
    assert report.findings == () and not report.stopped


@pytest.mark.cpu_backend  # others train on the stand-in
@pytest.mark.long
def test_two_thousand_taggers_learn() -> None:
    smaller = ["env.num_taggers=2047", "env.use_full_observation=false", "env.grid_length=60", "env.episode_length=6"]
    trained = ["trainer.num_envs=2", "trainer.num_steps=8", "trainer.total_env_steps=32"]
    trained += ["trainer.device=cpu", "policy.tagger.num_minibatches=8", "policy.runner.num_minibatches=2"]
    lines = []
    Trainer(load_config("tag_gridworld", [*smaller, *trained])).train(None, lines.append)
    assert lines[-1]["charts/episodes"] >= 4
    assert all(np.isfinite(value) for name, value in lines[-1].items() if name.startswith("losses/"))
