"""Classic control beside EnvPool, Gymnasium's vectorised NumPy versions and gymnax."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .case import Case, Peer

DRAWS = 16  # sets of random actions, used in turn


def _in_turn(step: Callable[[Any], object], sets: list[Any]) -> Callable[[], object]:
    numbers = iter(range(1 << 62))
    return lambda: step(sets[next(numbers) % DRAWS])


def _random_sets(space: Any) -> list[np.ndarray]:
    space.seed(0)
    return [space.sample() for _ in range(DRAWS)]


def envpool(name: str) -> Peer:
    """EnvPool in synchronous mode, with one thread."""

    def make(num_envs: int) -> tuple[Callable[[], object], int]:
        import envpool as library

        env = library.make(name, env_type="gymnasium", num_envs=num_envs, num_threads=1)
        env.reset()
        space = env.action_space
        space.seed(0)
        sets = [np.stack([np.asarray(space.sample()) for _ in range(num_envs)]) for _ in range(DRAWS)]
        return _in_turn(env.step, [s.astype(np.int32) if s.dtype.kind == "i" else s for s in sets]), num_envs

    return make


def gymnax(name: str) -> Peer:
    """gymnax under one jitted, vectorised step."""

    def make(num_envs: int) -> tuple[Callable[[], object], int]:
        import gymnax as library
        import jax

        env, params = library.make(name)
        step_all = jax.jit(jax.vmap(env.step, in_axes=(0, 0, 0, None)))
        keys = jax.random.split(jax.random.PRNGKey(0), num_envs)
        _, state = jax.vmap(env.reset, in_axes=(0, None))(keys, params)
        draw = jax.vmap(env.action_space(params).sample)
        sets = [draw(jax.random.split(jax.random.PRNGKey(number), num_envs)) for number in range(DRAWS)]
        kept = [state]

        def step(actions: Any) -> None:
            result = step_all(keys, kept[0], actions, params)
            kept[0] = result[1]
            jax.block_until_ready(result)

        return _in_turn(step, sets), num_envs

    return make


# our name -> as EnvPool and gymnax know it
NAMES = {
    "cartpole": "CartPole-v1",
    "pendulum": "Pendulum-v1",
    "acrobot": "Acrobot-v1",
    "mountain_car": "MountainCar-v0",
    "mountain_car_continuous": "MountainCarContinuous-v0",
}
CASES = tuple(
    Case(name, name, 4096, peers={"envpool": envpool(theirs), "gymnax": gymnax(theirs)})
    for name, theirs in NAMES.items()
)
