"""How peers are stepped at random: one env at a time, or many with sets of actions that are drawn before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

DRAWS = 16  # sets of random actions, used in turn


def in_turn(step: Callable[[Any], object], sets: list[Any]) -> Callable[[], object]:
    """A call that steps with the next of the sets."""
    numbers = iter(range(1 << 62))
    return lambda: step(sets[next(numbers) % len(sets)])


def one_env(env: Any) -> tuple[Callable[[], object], int]:
    """A call that steps one env of Gymnasium's API with new random actions, and resets it where it terminates."""
    env.reset(seed=0)
    env.action_space.seed(0)

    def step() -> None:
        if env.step(env.action_space.sample())[2]:
            env.reset()

    return step, 1


def envpool_choices(name: str, num_envs: int, agents: int, choices: int) -> tuple[Callable[[], object], int]:
    """EnvPool's envs of this name, whose agents have so many choices, in synchronous mode with one thread."""
    import envpool as library

    env = library.make(name, env_type="gymnasium", num_envs=num_envs, num_threads=1)
    env.reset()
    generator = np.random.default_rng(0)
    sets = [generator.integers(0, choices, (num_envs, agents)).astype(np.int32) for _ in range(DRAWS)]
    return in_turn(env.step, sets), num_envs


def jaxmarl_envs(env: Any, num_envs: int) -> tuple[Callable[[], object], int]:
    """JaxMARL's env under one jitted, vectorised step, with its automatic reset and without masks."""
    import jax

    keys = jax.random.split(jax.random.PRNGKey(0), num_envs)
    step_all = jax.jit(jax.vmap(env.step))
    generator = np.random.default_rng(0)
    sets = [
        {agent: jax.numpy.asarray(generator.integers(0, env.action_space(agent).n, num_envs)) for agent in env.agents}
        for _ in range(DRAWS)
    ]
    kept: list[Any] = [jax.vmap(env.reset)(keys)[1]]

    def step(actions: Any) -> None:
        result = step_all(keys, kept[0], actions)
        kept[0] = result[1]
        jax.block_until_ready(result)

    return in_turn(step, sets), num_envs
