"""Environments of each kind that come with warpworld, through the adapters that can speak of it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from tests.envs.small_worlds import each_kind
from warpworld import World
from warpworld.adapters.single import Env
from warpworld.adapters.vector import VectorEnv
from warpworld.environment import get_environment, placed_groups
from warpworld.errors import DeclarationError

NUM_ENVS, STEPS = 3, 40


def made(name: str, params: dict[str, Any], num_envs: int, autoreset: Any) -> World:
    return World(
        get_environment(name)(**params), num_envs, "cpu", num_workers=1, autoreset=autoreset, check_actions=True
    )


def leaves(batch: Any) -> list[np.ndarray]:
    """The arrays of an observation."""
    return [batch[key] for key in sorted(batch)] if isinstance(batch, dict) else [batch]


@pytest.mark.heavy
@pytest.mark.long
@each_kind
def test_an_env_of_a_batch_is_the_single_env_of_its_seed(name: str, params: dict[str, Any]) -> None:
    world = made(name, params, NUM_ENVS, "next_step")
    first, *others = world.groups.values()
    if any((group.observation, group.action) != (first.observation, first.action) for group in others):
        with pytest.raises(DeclarationError, match="use api='parallel_vector' or the World itself"):
            VectorEnv(world)
        return
    ours: Any = VectorEnv(world, agents="axis" if world.num_agents > 1 else "auto")
    theirs: Any = SyncVectorEnv(
        [lambda: Env(made(name, params, 1, "disabled"))] * NUM_ENVS, autoreset_mode=AutoresetMode.NEXT_STEP
    )
    seeds = [5, 17, 2]
    batches = [env.reset(seed=list(seeds))[0] for env in (ours, theirs)]
    ours.action_space.seed(0)
    ends = 0
    for _ in range(STEPS):
        for got, expected in zip(*map(leaves, batches), strict=True):
            assert np.array_equal(got, expected)
        actions = ours.action_space.sample()
        (seen, *mine, _), (shown, *others_, _) = ours.step(actions), theirs.step(actions)
        assert all(np.array_equal(got, expected) for got, expected in zip(mine, others_, strict=True))
        batches, ends = [seen, shown], ends + int((mine[1] | mine[2]).sum())
    assert ends > 3


@pytest.mark.long
@each_kind
def test_pettingzoo_takes_it(name: str, params: dict[str, Any]) -> None:
    pytest.importorskip("pettingzoo")
    from pettingzoo.test import parallel_api_test

    from warpworld.adapters.parallel import ParallelEnv

    env = ParallelEnv(made(name, params, 1, "disabled"))
    assert len(env.possible_agents) == sum(
        group.size for group in placed_groups(get_environment(name)(**params)).values()
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parallel_api_test(env, num_cycles=60)
