"""CartPole as other libraries step it, where they are installed: gymnasium, envpool, gymnax and pufferlib."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator

import numpy as np

from .clock import measure
from .rows import Row

SIZES = (8, 64, 1024, 4096)
DRAWS = 16


def _actions(num_envs: int) -> list[np.ndarray]:
    return list(np.random.default_rng(0).integers(0, 2, (DRAWS, num_envs)))


def gymnasium(num_envs: int) -> tuple[Callable[[], object], int]:
    """Gymnasium's CartPole written in NumPy for many envs."""
    from gymnasium.envs.classic_control.cartpole import CartPoleVectorEnv

    env, actions, step = CartPoleVectorEnv(num_envs=num_envs), _actions(num_envs), iter(range(1 << 62))
    env.reset(seed=0)
    return lambda: env.step(actions[next(step) % DRAWS]), 1


def envpool(num_envs: int) -> tuple[Callable[[], object], int]:
    """EnvPool in synchronous mode."""
    import envpool as library

    env = library.make("CartPole-v1", env_type="gymnasium", num_envs=num_envs)
    actions, step = [a.astype(np.int32) for a in _actions(num_envs)], iter(range(1 << 62))
    env.reset()
    return lambda: env.step(actions[next(step) % DRAWS]), 1


def gymnax(num_envs: int) -> tuple[Callable[[], object], int]:
    """gymnax under one jitted, vectorised step."""
    import gymnax as library
    import jax

    env, params = library.make("CartPole-v1")
    step_all = jax.jit(jax.vmap(env.step, in_axes=(0, 0, 0, None)))
    keys = jax.random.split(jax.random.PRNGKey(0), num_envs)
    _, first = jax.vmap(env.reset, in_axes=(0, None))(keys, params)
    state = [first]
    actions, step = [jax.numpy.asarray(a) for a in _actions(num_envs)], iter(range(1 << 62))

    def call() -> None:
        result = step_all(keys, state[0], actions[next(step) % DRAWS], params)
        state[0] = result[1]
        jax.block_until_ready(result)

    return call, 1


def pufferlib(num_envs: int) -> tuple[Callable[[], object], int]:
    """PufferLib's CartPole in C, in this process."""
    from pufferlib.ocean.cartpole.cartpole import Cartpole

    env = Cartpole(num_envs=num_envs)
    env.reset(seed=1)
    actions, step = [a.astype(np.int32) for a in _actions(num_envs)], iter(range(1 << 62))
    return lambda: env.step(actions[next(step) % DRAWS]), 1


PEERS = {"gymnasium": gymnasium, "envpool": envpool, "gymnax": gymnax, "pufferlib": pufferlib}


def installed() -> list[str]:
    """Peers that can be measured here."""
    return [name for name in PEERS if importlib.util.find_spec(name) is not None]


def rows(seconds: float) -> Iterator[Row]:
    """Measure the peers that are installed."""
    for name in installed():
        for num_envs in SIZES:
            call, agents = PEERS[name](num_envs)
            timing = measure(call, None, seconds)
            yield Row("cartpole", name, num_envs, agents, 1, timing.median, timing.spread)
