"""Classic control beside EnvPool and gymnax, and CartPole beside Gymnasium's NumPy version for many envs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import peers
from .case import Case, Peer
from .stepping import DRAWS, in_turn


def envpool(name: str) -> Peer:
    """EnvPool in synchronous mode, with one thread."""

    def make(num_envs: int) -> tuple[Callable[[], object], int]:
        import envpool as library

        env = library.make(name, env_type="gymnasium", num_envs=num_envs, num_threads=1)
        env.reset()
        space = env.action_space
        space.seed(0)
        sets = [np.stack([np.asarray(space.sample()) for _ in range(num_envs)]) for _ in range(DRAWS)]
        return in_turn(env.step, [s.astype(np.int32) if s.dtype.kind == "i" else s for s in sets]), num_envs

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

        return in_turn(step, sets), num_envs

    return make


def _gymnasium(num_envs: int) -> tuple[Callable[[], object], int]:
    return peers.gymnasium(num_envs)[0], num_envs


# our name -> as EnvPool and gymnax know it
NAMES = {
    "cartpole": "CartPole-v1",
    "pendulum": "Pendulum-v1",
    "acrobot": "Acrobot-v1",
    "mountain_car": "MountainCar-v0",
    "mountain_car_continuous": "MountainCarContinuous-v0",
}
IN_NUMPY: dict[str, dict[str, Peer]] = {"cartpole": {"gymnasium": _gymnasium}}
CASES = tuple(
    Case(name, name, 4096, peers={"envpool": envpool(theirs), "gymnax": gymnax(theirs), **IN_NUMPY.get(name, {})})
    for name, theirs in NAMES.items()
)
