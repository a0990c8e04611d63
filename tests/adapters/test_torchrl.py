"""What TorchRL's checks say of ours."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from tests.adapters.worlds import world
from warpworld.adapters.single import Env
from warpworld.adapters.vector import VectorEnv

pytestmark = [pytest.mark.long, pytest.mark.cpu_backend]


@pytest.fixture(scope="module")
def torchrl() -> Any:
    """The library's envs, which take seconds to load: not when tests are collected."""
    return pytest.importorskip("torchrl.envs")


@pytest.fixture(autouse=True)
def quiet() -> Any:
    """Without their warnings of what is to come."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def test_of_an_env(torchrl: Any) -> None:
    torchrl.check_env_specs(torchrl.GymWrapper(Env(world(num_envs=1, autoreset="disabled"))), seed=0)


@pytest.mark.parametrize("mode", ["same_step", "disabled"])
def test_of_a_vector_env(mode: Any, torchrl: Any) -> None:
    env = torchrl.GymWrapper(VectorEnv(world(num_envs=4, autoreset=mode)))
    assert env.batch_size == (4,)
    torchrl.check_env_specs(env, seed=0)


def test_a_rollout_goes_on_behind_ends(torchrl: Any) -> None:
    env = torchrl.GymWrapper(VectorEnv(world(num_envs=4)))
    env.set_seed(1)
    data = env.rollout(60, break_when_any_done=False)
    done = data["next", "done"][..., 0]
    assert done.any(0).any() and done.sum() > 4
    ended = data["next", "observation"][:, :-1][done[:, :-1]]
    begun = data["observation"][:, 1:][done[:, :-1]]
    assert (ended != begun).any(1).all() and (begun.abs() <= 0.05).all()  # where cartpole's episodes begin


def test_of_agents(torchrl: Any) -> None:
    pytest.importorskip("pettingzoo")
    from warpworld.adapters.parallel import ParallelEnv

    env = torchrl.PettingZooWrapper(ParallelEnv(world("tag_gridworld", 1, autoreset="disabled")), use_mask=True)
    torchrl.check_env_specs(env, seed=0)
